// Hands notifications to those who listen.

import type { Notification } from "./methods.js";

/** Notifications kept for an iterator that does not keep up; then the oldest are dropped. */
const KEPT = 1000;

/** What the sidecar tells, from the moment this was made; ends with the client. */
export class NotificationIterator implements AsyncIterableIterator<Notification> {
  /** How many were dropped because nobody took them. */
  dropped = 0;

  readonly #kept: Notification[] = [];
  readonly #waiting: ((result: IteratorResult<Notification>) => void)[] = [];
  readonly #leave: (iterator: NotificationIterator) => void;
  #ended = false;

  /** @internal */
  constructor(leave: (iterator: NotificationIterator) => void) {
    this.#leave = leave;
  }

  next(): Promise<IteratorResult<Notification>> {
    const notification = this.#kept.shift();
    if (notification !== undefined) return Promise.resolve({ done: false, value: notification });
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Stops listening; leaving a `for await` does it too. */
  return(): Promise<IteratorResult<Notification>> {
    this.end();
    this.#kept.length = 0;
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** @internal */
  offer(notification: Notification): void {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting({ done: false, value: notification });
      return;
    }
    if (this.#kept.push(notification) > KEPT) {
      this.#kept.shift();
      this.dropped += 1;
    }
  }

  /** @internal */
  end(): void {
    this.#ended = true;
    this.#leave(this);
    for (const waiting of this.#waiting.splice(0)) waiting({ done: true, value: undefined });
  }
}

// The client: starts a sidecar and speaks with it over its stdin and stdout.

import { spawn, type ChildProcess } from "node:child_process";
import { resolve as absolute } from "node:path";
import type { Readable, Writable } from "node:stream";

import { findBinary } from "./binary.js";
import {
  CallTimeoutError,
  ErrorCode,
  ProtocolError,
  RpcError,
  SidecarClosedError,
  ToolcribError,
  VersionMismatchError,
} from "./errors.js";
import { parse, stringify } from "./json.js";
import { HANDLERS, Requests, type CallOptions, type Handlers, type Notification } from "./methods.js";
import { NotificationIterator } from "./notifications.js";
import { PROTOCOL_VERSION } from "./types.js";
import type { ConfigSource, HostCapabilities, Implementation, InitializeResult, Root } from "./types.js";

/** The sidecar skips longer messages unread. */
const MAX_MESSAGE = 64 * 1024 * 1024;

export interface SpawnOptions {
  /** Path of the configuration, or the configuration itself; the sidecar looks for one where it is left out. */
  config?: string | object | undefined;
  /** The program; else `TOOLCRIB_BINARY`, the packaged one, the `PATH`. */
  binary?: string | undefined;
  /** More arguments for the program. */
  args?: readonly string[] | undefined;
  /** Environment of the program; that of this process where it is left out. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Folder that the program works in. */
  cwd?: string | undefined;
  /** What becomes of the program's warnings; "inherit" is the default. */
  stderr?: "inherit" | "ignore" | undefined;
  /** Name and version of the host, for logs. */
  clientInfo?: Implementation | undefined;
  /** Folders that servers may ask for. */
  roots?: Root[] | undefined;
  /** Methods of notifications that are not wanted. */
  optOutNotifications?: string[] | undefined;
  /** Instead of what the handlers say. */
  capabilities?: HostCapabilities | undefined;
  /** Called with each notification, before the answers that were sent after it. */
  onNotification?: ((notification: Notification) => void) | undefined;
  /** Milliseconds to wait for the introduction; 30,000 is the default. */
  startTimeout?: number | undefined;
}

type Message = { [member: string]: unknown };

interface Call {
  method: string;
  finish(result: unknown): void;
  fail(error: unknown): void;
}

/**
 * A sidecar of your own. It ends with `close()`, at the end of an `await using` block, and
 * when this process ends, with all that it started.
 */
export class Toolcrib extends Requests implements AsyncDisposable {
  /** What the sidecar said of itself. */
  get info(): InitializeResult {
    return this.#info;
  }

  /** Process id of the sidecar. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  readonly #child: ChildProcess;
  readonly #stdin: Writable;
  readonly #handlers: Handlers;
  readonly #onNotification: ((notification: Notification) => void) | undefined;
  readonly #iterators = new Set<NotificationIterator>();
  readonly #calls = new Map<number, Call>();
  readonly #questions = new Map<string | number, AbortController>();
  readonly #exited: Promise<void>;
  #info!: InitializeResult;
  #nextId = 1;
  #pieces: Buffer[] = [];
  #lost: ToolcribError | undefined;
  #closing: Promise<void> | undefined;

  /**
   * Starts a sidecar and introduces this host to it.
   *
   * `handlers` are what it may ask: only what is there is offered.
   *
   * Throws `BinaryNotFoundError`, `VersionMismatchError`, or an `RpcError` whose `kind` is
   * `configNotFound`. What is wrong in a configuration is in `info.problems`.
   */
  static async spawn(options: SpawnOptions = {}, handlers: Handlers = {}): Promise<Toolcrib> {
    const binary = findBinary(options.binary);
    const client = new Toolcrib(binary, options, handlers);
    try {
      await client.#introduce(binary, options);
    } catch (error) {
      await client.#end(1000);
      throw error;
    }
    return client;
  }

  private constructor(binary: string, options: SpawnOptions, handlers: Handlers) {
    super();
    this.#handlers = handlers;
    this.#onNotification = options.onNotification;
    const child = spawn(binary, ["serve", ...(options.args ?? [])], {
      stdio: ["pipe", "pipe", options.stderr ?? "inherit"],
      // A session of its own: an interrupt at the terminal is for the host.
      detached: process.platform !== "win32",
      windowsHide: true,
      ...(options.env === undefined ? {} : { env: { ...options.env } }),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    this.#child = child;
    this.#stdin = child.stdin as Writable;
    const stdout = child.stdout as Readable;
    stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    // A broken pipe shows in the exit as well, which tells more.
    this.#stdin.on("error", () => {});
    this.#exited = new Promise((exited) => {
      child.on("error", (error) => {
        this.#lose(new SidecarClosedError(`the sidecar could not be started: ${error.message}`));
        exited();
      });
      child.on("exit", (code, signal) => {
        exited();
        // What it said last may still be on its way, but somebody else may hold the pipe open.
        setTimeout(() => this.#gone(code, signal), 200).unref();
      });
      child.on("close", (code, signal) => this.#gone(code, signal));
    });
  }

  async #introduce(binary: string, options: SpawnOptions): Promise<void> {
    const { config, clientInfo, roots, optOutNotifications } = options;
    let source: ConfigSource | undefined;
    if (config !== undefined) source = typeof config === "string" ? { path: absolute(config) } : { inline: config };
    const params = {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo,
      capabilities: options.capabilities ?? this.#capabilities(),
      roots,
      optOutNotifications,
      config: source,
    };
    const timeout = options.startTimeout ?? 30_000;
    // Another revision may look different, so its number is read before all else.
    const info = (await this.request("initialize", params, { timeout })) as InitializeResult;
    if (info.protocolVersion !== PROTOCOL_VERSION) {
      throw new VersionMismatchError(PROTOCOL_VERSION, info.protocolVersion, binary, info.serverInfo?.version);
    }
    this.#info = info;
  }

  /** Only what there is a handler for. */
  #capabilities(): HostCapabilities {
    const can = (name: keyof Handlers): true | undefined => (this.#handlers[name] === undefined ? undefined : true);
    return {
      approval: can("approve"),
      elicitation: can("elicit") && { form: true, url: true },
      sampling: can("sample"),
      openUrl: can("openUrl"),
      progress: true,
    };
  }

  /** What the sidecar tells from now on, to iterate over. */
  notifications(): NotificationIterator {
    const iterator = new NotificationIterator((it) => this.#iterators.delete(it));
    if (this.#lost === undefined) this.#iterators.add(iterator);
    else iterator.end();
    return iterator;
  }

  /** Ends the sidecar and waits for it; open calls fail with `SidecarClosedError`. */
  close(timeout = 5000): Promise<void> {
    this.#closing ??= this.#close(timeout);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(timeout: number): Promise<void> {
    try {
      if (this.#lost === undefined) {
        await this.request("shutdown", {}, { timeout });
        this.#send({ method: "exit" });
      }
    } catch (error) {
      if (!(error instanceof ToolcribError)) throw error;
    } finally {
      await this.#end(timeout);
    }
  }

  /** Closes the sidecar's stdin, which ends it, and kills it if it does not end. */
  async #end(timeout: number): Promise<void> {
    this.#lose(new SidecarClosedError("the client is closed", this.#child.exitCode, this.#child.signalCode));
    this.#stdin.end();
    const steps = [() => {}, () => this.#child.kill("SIGTERM"), () => this.#child.kill("SIGKILL")];
    for (const step of steps) {
      step();
      if (await settled(this.#exited, timeout)) break;
    }
    this.#child.stdout?.destroy();
  }

  protected override request(method: string, params: object, options: CallOptions = {}): Promise<unknown> {
    const { signal, timeout } = options;
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) throw this.#lost;
      if (signal?.aborted) throw signal.reason;
      const id = this.#nextId++;
      const message = line({ id, method, params });

      let timer: NodeJS.Timeout | undefined;
      const settle = (): void => {
        this.#calls.delete(id);
        if (timer !== undefined) clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
      };
      const giveUp = (error: unknown): void => {
        settle();
        this.#send({ method: "$/cancelRequest", params: { id } });
        reject(error);
      };
      const abort = (): void => giveUp(signal?.reason);
      signal?.addEventListener("abort", abort);
      if (timeout !== undefined) {
        const late = (): void => giveUp(new CallTimeoutError(`no answer to \`${method}\` within ${timeout} ms`));
        timer = setTimeout(late, timeout);
      }
      this.#calls.set(id, {
        method,
        finish(result) {
          settle();
          resolve(result);
        },
        fail(error) {
          settle();
          reject(error);
        },
      });
      this.#stdin.write(message);
    });
  }

  #send(message: Message): void {
    if (this.#stdin.writable) this.#stdin.write(line(message));
  }

  /** Cuts what comes from the sidecar into lines. */
  #read(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const rest = chunk.subarray(start, end);
      const whole = this.#pieces.length === 0 ? rest : Buffer.concat([...this.#pieces, rest]);
      this.#pieces = [];
      start = end + 1;
      if (whole.length > 0) this.#received(whole.toString("utf8"));
    }
    if (start < chunk.length) this.#pieces.push(chunk.subarray(start));
  }

  #received(text: string): void {
    let message: Message;
    try {
      const value = parse(text);
      if (typeof value !== "object" || value === null || Array.isArray(value)) throw new SyntaxError("not an object");
      message = value;
    } catch (error) {
      process.emitWarning(`a line of the sidecar is not a message: ${String(error)}`, "ToolcribWarning");
      return;
    }
    const { method, id } = message;
    if (typeof method !== "string") {
      this.#answered(message);
      return;
    }
    const params = (message["params"] ?? {}) as Message;
    if (typeof id === "string" || typeof id === "number") void this.#asked(id, method, params);
    else if (method === "$/cancelRequest") this.#noLongerAsked(params["id"]);
    else this.#told({ method, params } as unknown as Notification);
  }

  #answered(message: Message): void {
    const { id, error } = message;
    if (id === null) {
      // It could not read what we sent, and cannot say which call that was.
      this.#failCalls(new ProtocolError(`the sidecar answered nobody: ${readError(error).message}`));
      return;
    }
    const call = typeof id === "number" ? this.#calls.get(id) : undefined;
    if (call === undefined) return;
    if (error != null) call.fail(readError(error));
    else if (!("result" in message)) call.fail(new ProtocolError(`the answer to \`${call.method}\` has no result`));
    else call.finish(message["result"]);
  }

  async #asked(id: string | number, method: string, params: Message): Promise<void> {
    const name = HANDLERS.find((it) => it === method);
    const handler = name && (this.#handlers[name] as ((params: Message, signal: AbortSignal) => unknown) | undefined);
    if (handler === undefined) {
      this.#refuse(id, ErrorCode.MethodNotFound, `no handler for \`${method}\``);
      return;
    }
    const controller = new AbortController();
    this.#questions.set(id, controller);
    let reply: Message;
    try {
      const result = await handler.call(this.#handlers, params, controller.signal);
      reply = { id, result: result ?? null };
    } catch (error) {
      const code = error instanceof RpcError ? error.code : ErrorCode.InternalError;
      reply = { id, error: { code, message: error instanceof Error ? error.message : String(error) } };
    }
    if (this.#questions.delete(id)) this.#send(reply);
  }

  #noLongerAsked(id: unknown): void {
    if (typeof id !== "string" && typeof id !== "number") return;
    const controller = this.#questions.get(id);
    if (controller === undefined) return;
    this.#questions.delete(id);
    this.#refuse(id, ErrorCode.Cancelled, "cancelled");
    controller.abort();
  }

  #refuse(id: string | number, code: number, message: string): void {
    this.#send({ id, error: { code, message } });
  }

  #told(notification: Notification): void {
    for (const iterator of [...this.#iterators]) iterator.offer(notification);
    try {
      this.#onNotification?.(notification);
    } catch (error) {
      process.emitWarning(`the listener to \`${notification.method}\` failed: ${String(error)}`, "ToolcribWarning");
    }
  }

  #gone(code: number | null, signal: NodeJS.Signals | null): void {
    const how = signal === null ? `with status ${code}` : `by signal ${signal}`;
    this.#lose(new SidecarClosedError(`the sidecar has ended ${how}`, code, signal));
  }

  /** Every open call fails, and every later one. */
  #lose(error: ToolcribError): void {
    if (this.#lost !== undefined) return;
    this.#lost = error;
    this.#failCalls(error);
    for (const controller of this.#questions.values()) controller.abort();
    this.#questions.clear();
    for (const iterator of [...this.#iterators]) iterator.end();
  }

  #failCalls(error: ToolcribError): void {
    for (const call of [...this.#calls.values()]) call.fail(error);
  }
}

function line(message: Message): string {
  const text = stringify({ jsonrpc: "2.0", ...message });
  // A character takes three bytes at most, so most messages need not be measured.
  if (text.length > MAX_MESSAGE / 3 && Buffer.byteLength(text) > MAX_MESSAGE) {
    throw new RangeError(`a message of ${Buffer.byteLength(text)} bytes: the sidecar takes up to ${MAX_MESSAGE}`);
  }
  return text + "\n";
}

/** @internal */
export function readError(error: unknown): ToolcribError {
  const { code, message, data } = (error ?? {}) as Message;
  if (typeof code !== "number" || typeof message !== "string") {
    return new ProtocolError(`an error that is not of the contract: ${String(error)}`);
  }
  return new RpcError(code, message, data);
}

async function settled(promise: Promise<void>, timeout: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeout);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

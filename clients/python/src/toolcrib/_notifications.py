"""Hands notifications to those who listen."""

from __future__ import annotations

import asyncio
import queue
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Optional

from .types import Notification

KEPT = 1000
"""Notifications kept for an iterator that does not keep up; then the oldest are dropped."""

Listener = Optional[Callable[[Notification], None]]


class Notifications(Iterator[Notification]):
    """What the sidecar tells, from the moment this was made; ends with the client.

    `next` waits; `get` waits with an end to it.
    """

    def __init__(self, audience: Audience) -> None:
        self._audience = audience
        self._queue: queue.SimpleQueue[Notification | None] = queue.SimpleQueue()
        self.dropped = 0
        """How many were dropped because nobody took them."""

    def get(self, timeout: float | None = None) -> Notification | None:
        """The next one; `None` if there is none in time, or none any more."""
        try:
            notification = self._queue.get(timeout=timeout)
        except queue.Empty:
            return None
        if notification is None:
            self._queue.put(None)
        return notification

    def __next__(self) -> Notification:
        notification = self.get()
        if notification is None:
            raise StopIteration
        return notification

    def close(self) -> None:
        """Stops listening."""
        self._audience.leave(self)
        self._queue.put(None)

    def __enter__(self) -> Notifications:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def offer(self, notification: Notification) -> None:
        if self._queue.qsize() >= KEPT:
            self.dropped += 1
            try:
                self._queue.get_nowait()
            except queue.Empty:
                pass
        self._queue.put(notification)


class AsyncNotifications(AsyncIterator[Notification]):
    """What the sidecar tells, from the moment this was made; ends with the client."""

    def __init__(self, audience: Audience) -> None:
        self._audience = audience
        self._kept: deque[Notification] = deque()
        self._more = asyncio.Event()
        self._ended = False
        self.dropped = 0
        """How many were dropped because nobody took them."""

    async def __anext__(self) -> Notification:
        while not self._kept:
            if self._ended:
                raise StopAsyncIteration
            self._more.clear()
            await self._more.wait()
        return self._kept.popleft()

    def close(self) -> None:
        """Stops listening."""
        self._audience.leave(self)
        self._ended = True
        self._more.set()

    def __enter__(self) -> AsyncNotifications:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def offer(self, notification: Notification) -> None:
        if len(self._kept) >= KEPT:
            self.dropped += 1
            self._kept.popleft()
        self._kept.append(notification)
        self._more.set()


class Audience:
    """The callback and the iterators of one client."""

    def __init__(self, callback: Listener) -> None:
        self._callback = callback
        self._iterators: list[Notifications | AsyncNotifications] = []
        self._over = False

    def join(self, iterator: Notifications | AsyncNotifications) -> None:
        self._iterators.append(iterator)
        if self._over:
            iterator.close()

    def leave(self, iterator: Notifications | AsyncNotifications) -> None:
        if iterator in self._iterators:
            self._iterators.remove(iterator)

    def tell(self, notification: Notification) -> None:
        for iterator in tuple(self._iterators):
            iterator.offer(notification)
        if self._callback is not None:
            self._callback(notification)

    def end(self) -> None:
        self._over = True
        for iterator in tuple(self._iterators):
            iterator.close()

"""The client for hosts that run on asyncio: `AsyncToolcrib`."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _wire, types
from ._binary import find_binary
from ._connection import Stderr
from ._methods import BINDINGS, AsyncHandlers, AsyncRequests
from ._notifications import AsyncNotifications, Audience, Listener
from .errors import CANCELLED, INTERNAL_ERROR, METHOD_NOT_FOUND
from .errors import CallTimeout, ProtocolError, RpcError, SidecarClosed, ToolcribError

logger = logging.getLogger("toolcrib")


class AsyncToolcrib(AsyncRequests):
    """A sidecar of your own; every method is awaited, and cancelling the task cancels the call.

    Use it as a context manager: however the block is left, the sidecar is ended with all
    that it started.

        async with AsyncToolcrib(config="toolcrib.yaml") as toolcrib:
            assembly = await toolcrib.assemble_tools(context_length=200_000)

    The arguments are those of `Toolcrib`; handlers are coroutines, and `on_notification` is
    called on the event loop.
    """

    info: types.InitializeResult
    """What the sidecar said of itself; from the start on."""

    def __init__(
        self,
        *,
        config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        handlers: AsyncHandlers | None = None,
        on_notification: Listener = None,
        binary: str | os.PathLike[str] | None = None,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stderr: Stderr = None,
        client_info: types.Implementation | None = None,
        roots: Sequence[types.Root] | None = None,
        opt_out_notifications: Sequence[str] | None = None,
        capabilities: types.HostCapabilities | None = None,
        start_timeout: float | None = 30,
    ) -> None:
        self._handlers = handlers or AsyncHandlers()
        self._introduction = _wire.Introduction(
            config=config,
            client_info=client_info,
            roots=roots,
            opt_out_notifications=opt_out_notifications,
            capabilities=capabilities,
            handlers=self._handlers,
        ).params()
        self._binary = binary
        self._args = args
        self._env = env
        self._cwd = cwd
        self._stderr = stderr
        self._start_timeout = start_timeout
        self._audience = Audience(on_notification)
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._exited: asyncio.Future[None] | None = None
        self._calls: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._ids = itertools.count(1)
        self._questions: dict[int | str, asyncio.Task[None]] = {}
        self._lost: ToolcribError | None = None

    async def start(self) -> AsyncToolcrib:
        """Starts the sidecar; `async with` does it too."""
        if self._transport is not None:
            raise RuntimeError("the client was started before")
        path = find_binary(self._binary)
        loop = asyncio.get_running_loop()
        self._exited = loop.create_future()
        # A session of its own: an interrupt at the terminal is for the host.
        transport, _ = await loop.subprocess_exec(
            lambda: _Pipes(self),
            path,
            "serve",
            *self._args,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=None if self._env is None else dict(self._env),
            cwd=self._cwd,
            start_new_session=os.name == "posix",
        )
        self._transport = transport
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        self._stdin = stdin
        try:
            self.info = await self._request(
                "initialize",
                self._introduction,
                lambda data: _wire.read_introduction(data, path),
                self._start_timeout,
            )
        except BaseException:
            await self._end(1)
            raise
        return self

    @property
    def pid(self) -> int:
        """Of the sidecar."""
        if self._transport is None:
            raise RuntimeError("the client is not started")
        return self._transport.get_pid()

    def notifications(self) -> AsyncNotifications:
        """What the sidecar tells from now on, to iterate over."""
        iterator = AsyncNotifications(self._audience)
        self._audience.join(iterator)
        return iterator

    async def close(self, timeout: float = 5) -> None:
        """Ends the sidecar and waits for it; open calls fail with `SidecarClosed`."""
        if self._transport is None:
            return
        try:
            if self._lost is None:
                await self._request("shutdown", {}, lambda _: None, timeout)
                self._tell(_wire.notification("exit"))
        except ToolcribError:
            pass
        finally:
            await self._end(timeout)

    async def __aenter__(self) -> AsyncToolcrib:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _request(
        self,
        method: str,
        params: dict[str, Any],
        decode: Callable[[Any], _wire.Result],
        timeout: float | None,
    ) -> _wire.Result:
        if self._lost is not None:
            raise _wire.again(self._lost)
        if self._stdin is None:
            raise RuntimeError("the client is not started: use `async with`, or await `start()`")
        loop = asyncio.get_running_loop()
        request_id = next(self._ids)
        message = _wire.request(request_id, method, params)
        future: asyncio.Future[Mapping[str, Any]] = loop.create_future()
        self._calls[request_id] = future
        timer = None
        if timeout is not None:
            timer = loop.call_later(timeout, self._too_late, future, f"no answer to `{method}` within {timeout} s")
        try:
            self._stdin.write(message)
            answer = await future
        except BaseException:
            if self._calls.pop(request_id, None) is not None:
                self._tell(_wire.cancel(request_id))
            raise
        finally:
            if timer is not None:
                timer.cancel()
        return _wire.read_answer(answer, decode, method)

    @staticmethod
    def _too_late(future: asyncio.Future[Mapping[str, Any]], message: str) -> None:
        if not future.done():
            future.set_exception(CallTimeout(message))

    def _tell(self, message: bytes) -> None:
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(message)

    def _received(self, line: bytes) -> None:
        message = _wire.understand(line)
        if message is None:
            return
        method = message.get("method")
        if method is None:
            self._answered(message)
            return
        params = message.get("params")
        if not isinstance(params, dict):
            params = {}
        if "id" in message:
            self._asked(message["id"], method, params)
        elif method == "$/cancelRequest":
            self._no_longer_asked(params.get("id"))
        else:
            try:
                self._audience.tell(types.notification_from_json(method, params))
            except Exception:
                logger.exception("the listener to `%s` failed", method)

    def _answered(self, message: Mapping[str, Any]) -> None:
        request_id = message.get("id")
        if request_id is None:
            # It could not read what we sent, and cannot say which call that was.
            error = _wire.read_error(message.get("error"))
            self._fail_calls(ProtocolError(f"the sidecar answered nobody: {error}"))
            return
        future = self._calls.pop(request_id, None) if isinstance(request_id, int) else None
        if future is not None and not future.done():
            future.set_result(message)

    def _asked(self, request_id: int | str, method: str, params: Mapping[str, Any]) -> None:
        binding = BINDINGS.get(method)
        handler = None if binding is None else getattr(self._handlers, binding.attribute)
        if binding is None or handler is None:
            self._tell(_wire.refusal(request_id, METHOD_NOT_FOUND, f"no handler for `{method}`"))
            return
        known = binding

        async def answer() -> None:
            try:
                reply = _wire.answer(request_id, known.encode(await handler(known.decode(params))))
            except RpcError as error:
                reply = _wire.refusal(request_id, error.code, error.message)
            except Exception as error:
                logger.exception("the handler of `%s` failed", method)
                reply = _wire.refusal(request_id, INTERNAL_ERROR, f"the handler failed: {error!r}")
            if self._questions.pop(request_id, None) is not None:
                self._tell(reply)

        self._questions[request_id] = asyncio.get_running_loop().create_task(answer())

    def _no_longer_asked(self, request_id: Any) -> None:
        task = self._questions.pop(request_id, None) if isinstance(request_id, (int, str)) else None
        if task is not None:
            task.cancel()
            self._tell(_wire.refusal(request_id, CANCELLED, "cancelled"))

    def _gone(self) -> None:
        """The sidecar has closed its end: every open call fails, and every later one."""
        if self._lost is not None:
            return
        assert self._transport is not None
        status = self._transport.get_returncode()
        if status is None:
            self._lose(SidecarClosed("the sidecar has closed its end"))
        else:
            how = f"with status {status}" if status >= 0 else f"by signal {-status}"
            self._lose(SidecarClosed(f"the sidecar has ended {how}", status))

    def _lose(self, error: ToolcribError) -> None:
        if self._lost is not None:
            return
        self._lost = error
        self._fail_calls(error)
        for task in list(self._questions.values()):
            task.cancel()
        self._audience.end()

    def _fail_calls(self, error: ToolcribError) -> None:
        calls, self._calls = self._calls, {}
        for future in calls.values():
            if not future.done():
                future.set_exception(_wire.again(error))

    async def _end(self, timeout: float) -> None:
        """Closes the sidecar's stdin, which ends it, and kills it if it does not end."""
        self._lose(SidecarClosed("the client is closed"))
        transport, exited = self._transport, self._exited
        if transport is None or exited is None:
            return
        if self._stdin is not None:
            self._stdin.close()
        steps: list[Callable[[], None]] = [lambda: None, transport.terminate, transport.kill]
        try:
            for step in steps:
                try:
                    step()
                except ProcessLookupError:
                    pass
                await asyncio.wait([exited], timeout=timeout)
                if exited.done():
                    return
        finally:
            # Also when the wait is cancelled: closing kills what still runs.
            transport.close()


class _Pipes(asyncio.SubprocessProtocol):
    """Cuts what comes from the sidecar into lines."""

    def __init__(self, client: AsyncToolcrib) -> None:
        self._client = client
        self._pieces: list[bytes] = []
        self._stdout_ended = False
        self._exited = False

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            return
        head, newline, rest = data.rpartition(b"\n")
        if newline:
            self._pieces.append(head)
            lines = b"".join(self._pieces).split(b"\n")
            self._pieces.clear()
            for line in lines:
                self._client._received(line)
        if rest:
            self._pieces.append(rest)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._stdout_ended = True
            self._end_comes()

    def process_exited(self) -> None:
        exited = self._client._exited
        if exited is not None and not exited.done():
            exited.set_result(None)
        self._exited = True
        self._end_comes()

    def _end_comes(self) -> None:
        """Both ends are awaited, but not for long: the one has the last words, the other the status."""
        if self._stdout_ended and self._exited:
            self._client._gone()
        else:
            asyncio.get_running_loop().call_later(0.2, self._client._gone)

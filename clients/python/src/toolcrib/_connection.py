"""A sidecar's process and the pipes to it, for callers that wait.

Whoever waits for an answer reads the pipe by itself: handing every message from a reading
thread to the waiting one would cost more than the call. One thread reads at a time; it hands
each answer to the thread that waits for it, and the reading to another when it has its own.
A background thread reads while nobody waits, so that notifications arrive in time.
"""

from __future__ import annotations

import itertools
import logging
import os
import select
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Union

from . import _wire, types
from ._methods import BINDINGS, Handlers
from .errors import CANCELLED, INTERNAL_ERROR, METHOD_NOT_FOUND
from .errors import CallTimeout, ProtocolError, RpcError, SidecarClosed, ToolcribError

logger = logging.getLogger("toolcrib")

CALLERS_READ = os.name == "posix"
"""Elsewhere a pipe cannot be waited for with an end to it; the background thread reads alone."""

LINGER = 0.01
"""Seconds without a call after which the background thread reads."""

CHUNK = 1 << 16

Stderr = Union[int, IO[Any], None]


class Signal:
    """Wakes one waiting thread; a signal that nobody waits for yet is kept."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def send(self) -> None:
        try:
            self._lock.release()
        except RuntimeError:
            pass  # It is already on its way.

    def wait(self, timeout: float | None = None) -> bool:
        return self._lock.acquire(timeout=-1 if timeout is None else timeout)


class Call:
    """A request that waits for its answer."""

    __slots__ = ("answer", "signal")

    def __init__(self) -> None:
        self.answer: Mapping[str, Any] | ToolcribError | None = None
        self.signal = Signal()

    def finish(self, answer: Mapping[str, Any] | ToolcribError) -> None:
        self.answer = answer
        self.signal.send()


class Connection:
    """Owns the process; every thread may call."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None,
        cwd: str | os.PathLike[str] | None,
        stderr: Stderr,
        handlers: Handlers,
        listen: Callable[[types.Notification], None],
        ended: Callable[[], None],
    ) -> None:
        self._handlers = handlers
        self._listen = listen
        self._ended = ended
        self._calls: dict[int, Call] = {}
        self._ids = itertools.count(1)
        self._open_questions: set[int | str] = set()
        self._lines: deque[bytes] = deque()
        self._pieces: list[bytes] = []
        self._lost: ToolcribError | None = None
        self._closing = False

        self._writer = threading.Lock()
        self._cut_off = False
        self._reader = threading.Lock()
        self._reading_thread = 0
        self._reads_by_callers = 0
        self._torn = False
        self._background_signal = Signal()
        self._background_waits = False

        # A session of its own: an interrupt at the terminal is for the host, which then
        # cancels what it waits for.
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=None if env is None else dict(env),
            cwd=cwd,
            bufsize=0,
            start_new_session=os.name == "posix",
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._stdin = self.process.stdin.fileno()
        self._stdout = self.process.stdout.fileno()
        if CALLERS_READ:
            os.set_blocking(self._stdin, False)
            self._poll = select.poll()
            self._poll.register(self._stdout, select.POLLIN)
        self._background = threading.Thread(
            target=self._read_in_background, name="toolcrib-reader", daemon=True
        )
        self._background.start()

    # -- calls

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        decode: Callable[[Any], _wire.Result],
        timeout: float | None,
    ) -> _wire.Result:
        deadline = None if timeout is None else time.monotonic() + timeout
        request_id = next(self._ids)
        message = _wire.request(request_id, method, params)
        call = Call()
        self._calls[request_id] = call
        try:
            if self._send(message, deadline):
                self._wait(call, deadline)
            else:
                self._wait_for_the_end(call)
        except BaseException as error:
            if self._calls.pop(request_id, None) is not None and self._lost is None:
                self._tell(_wire.cancel(request_id))
            if isinstance(error, CallTimeout):
                raise CallTimeout(f"no answer to `{method}` within {timeout} s") from None
            raise
        finally:
            if self._calls:
                self._hand_over()
        answer = call.answer
        assert answer is not None
        if isinstance(answer, ToolcribError):
            raise _wire.again(answer)
        return _wire.read_answer(answer, decode, method)

    def _wait(self, call: Call, deadline: float | None) -> None:
        me = threading.get_ident()
        while call.answer is None:
            if self._reading_thread == me:
                # A callback of this thread calls: the reading goes on below it.
                self._read(call, deadline)
            elif CALLERS_READ and self._reader.acquire(blocking=False):
                try:
                    self._reading_thread = me
                    self._reads_by_callers += 1
                    self._read(call, deadline)
                finally:
                    self._reading_thread = 0
                    self._reader.release()
                    if self._background_waits:
                        self._background_signal.send()
            else:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise CallTimeout
                call.signal.wait(left)

    def _wait_for_the_end(self, call: Call) -> None:
        """The pipe is broken; the reader learns why."""
        try:
            self._wait(call, time.monotonic() + 2)
        except CallTimeout:
            raise SidecarClosed("the sidecar no longer reads") from None

    def _hand_over(self) -> None:
        """Wakes a thread that can read on, if nobody reads."""
        if not self._reader.locked():
            for call in list(self._calls.values()):
                call.signal.send()
                return

    # -- reading; only for the thread that holds `_reader`

    def _read(self, call: Call | None, deadline: float | None) -> bool:
        """Reads until `call` is answered, or without one until any call is."""
        answered = False
        while not answered and (call is None or call.answer is None):
            if self._torn and self._lost is None:
                # A signal handler raised while a message was being handed on.
                self._lose(SidecarClosed("an interrupt tore a message of the sidecar apart"))
            if self._lost is not None:
                self._fail_calls()
                return True
            if not self._lines:
                self._fill(deadline)
            self._torn = True
            line = self._lines.popleft() if self._lines else None
            message = None if line is None else _wire.understand(line)
            action = None if message is None else self._sort(message)
            self._torn = False
            if action is not None:
                action()
            elif message is not None and call is None:
                answered = True
        return answered

    def _fill(self, deadline: float | None) -> None:
        """Waits for bytes and takes the whole lines out of them."""
        if CALLERS_READ:
            while True:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise CallTimeout
                # Rounded up, so that the last millisecond is not spent spinning.
                if self._poll.poll(None if left is None else int(left * 1000) + 1):
                    break
        self._torn = True
        try:
            chunk = os.read(self._stdout, CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            self._lose(None)
        else:
            head, newline, rest = chunk.rpartition(b"\n")
            if newline:
                self._pieces.append(head)
                self._lines.extend(b"".join(self._pieces).split(b"\n"))
                self._pieces.clear()
            if rest:
                self._pieces.append(rest)
        self._torn = False

    def _sort(self, message: dict[str, Any]) -> Callable[[], None] | None:
        """Hands on an answer; what is more work is returned."""
        method = message.get("method")
        if method is None:
            request_id = message.get("id")
            if request_id is None:
                # It could not read what we sent, and cannot say which call that was.
                error = _wire.read_error(message.get("error"))
                return lambda: self._fail_calls(ProtocolError(f"the sidecar answered nobody: {error}"))
            call = self._calls.pop(request_id, None) if isinstance(request_id, int) else None
            if call is not None:
                call.finish(message)
            return None
        params = message.get("params")
        if not isinstance(params, dict):
            params = {}
        if "id" in message:
            return lambda: self._asked(message["id"], method, params)
        if method == "$/cancelRequest":
            return lambda: self._no_longer_asked(params.get("id"))
        return lambda: self._told(method, params)

    def _read_in_background(self) -> None:
        if not CALLERS_READ:
            with self._reader:
                self._reading_thread = threading.get_ident()
                while self._lost is None:
                    self._read(None, None)
                self._fail_calls()
            return
        while self._lost is None and not self._closing:
            seen = self._reads_by_callers
            self._background_signal.wait(LINGER)
            if self._reads_by_callers != seen:
                continue
            if self._reader.acquire(blocking=False):
                try:
                    self._reading_thread = threading.get_ident()
                    self._read(None, None)
                finally:
                    self._reading_thread = 0
                    self._reader.release()
                self._hand_over()
                continue
            # A caller waits for something slow. It sends the signal when it has its answer.
            self._background_waits = True
            if self._reader.locked():
                self._background_signal.wait()
            self._background_waits = False

    # -- the end

    def _lose(self, error: ToolcribError | None) -> None:
        """The sidecar is gone, or of no use any more: every open call fails, and every later one."""
        if error is None:
            try:
                status = self.process.wait(1)
                how = f"with status {status}" if status >= 0 else f"by signal {-status}"
                error = SidecarClosed(f"the sidecar has ended {how}", status)
            except subprocess.TimeoutExpired:
                error = SidecarClosed("the sidecar has closed its end")
        if self._closing:
            error = SidecarClosed("the client is closed", self.process.returncode)
        self._lost = error
        self._fail_calls()
        self._ended()

    def _fail_calls(self, error: ToolcribError | None = None) -> None:
        error = error or self._lost
        assert error is not None
        while self._calls:
            try:
                _, call = self._calls.popitem()
            except KeyError:
                return
            call.finish(error)

    def close(self, timeout: float) -> None:
        """Ends the sidecar: asks it to, and makes it."""
        if self._closing:
            self.process.wait()
            return
        try:
            if self._lost is None:
                self.request("shutdown", {}, lambda _: None, timeout)
                self._tell(_wire.notification("exit"))
        except ToolcribError:
            pass
        finally:
            self._closing = True
            self.kill(timeout)
        self._background_signal.send()
        if threading.current_thread() is not self._background:
            self._background.join(timeout)
        if self._lost is None:
            self._lose(SidecarClosed("the client is closed", self.process.returncode))
        assert self.process.stdout is not None
        if not self._background.is_alive() and self._reader.acquire(timeout=timeout):
            self.process.stdout.close()
            self._reader.release()

    def kill(self, timeout: float) -> None:
        """Closes the sidecar's stdin, which ends it, and kills it if it does not end."""
        self._closing = True
        assert self.process.stdin is not None
        with self._writer:
            try:
                self.process.stdin.close()
            except OSError:
                pass
        steps: list[Callable[[], None]] = [lambda: None, self.process.terminate, self.process.kill]
        for step in steps:
            step()
            try:
                self.process.wait(timeout)
                return
            except subprocess.TimeoutExpired:
                continue

    # -- writing

    def _send(self, message: bytes, deadline: float | None) -> bool:
        """Whether the sidecar still takes messages."""
        with self._writer:
            if self._lost is not None:
                raise _wire.again(self._lost)
            if self._closing:
                raise SidecarClosed("the client is closed")
            if self._cut_off:
                raise SidecarClosed("an earlier message to the sidecar was cut off")
            self._cut_off = True
            try:
                written = self._write_all(message, deadline)
            except OSError:
                return False
            self._cut_off = 0 < written < len(message)
            if written < len(message):
                raise CallTimeout
            return True

    def _write_all(self, message: bytes, deadline: float | None) -> int:
        """How much could be written before the deadline."""
        written = 0
        rest: bytes | memoryview = message
        while written < len(message):
            try:
                written += os.write(self._stdin, rest)
            except BlockingIOError:
                writable = select.poll()
                writable.register(self._stdin, select.POLLOUT)
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    break
                writable.poll(None if left is None else int(left * 1000) + 1)
            rest = memoryview(message)[written:]
        return written

    def _tell(self, message: bytes) -> None:
        """Sends what nobody waits for."""
        try:
            self._send(message, time.monotonic() + 5)
        except ToolcribError:
            pass  # Whoever reads learns that the sidecar is gone.

    # -- what the sidecar asks and tells

    def _told(self, method: str, params: Mapping[str, Any]) -> None:
        try:
            self._listen(types.notification_from_json(method, params))
        except Exception:
            logger.exception("the listener to `%s` failed", method)

    def _asked(self, request_id: int | str, method: str, params: Mapping[str, Any]) -> None:
        binding = BINDINGS.get(method)
        handler = None if binding is None else getattr(self._handlers, binding.attribute)
        if binding is None or handler is None:
            self._tell(_wire.refusal(request_id, METHOD_NOT_FOUND, f"no handler for `{method}`"))
            return
        known = binding

        def answer() -> None:
            try:
                reply = _wire.answer(request_id, known.encode(handler(known.decode(params))))
            except RpcError as error:
                reply = _wire.refusal(request_id, error.code, error.message)
            except Exception as error:
                logger.exception("the handler of `%s` failed", method)
                reply = _wire.refusal(request_id, INTERNAL_ERROR, f"the handler failed: {error!r}")
            if request_id in self._open_questions:
                self._open_questions.discard(request_id)
                self._tell(reply)

        self._open_questions.add(request_id)
        # A handler may ask a person; reading goes on meanwhile.
        threading.Thread(target=answer, name=f"toolcrib-{method}", daemon=True).start()

    def _no_longer_asked(self, request_id: Any) -> None:
        if request_id in self._open_questions:
            self._open_questions.discard(request_id)
            self._tell(_wire.refusal(request_id, CANCELLED, "cancelled"))

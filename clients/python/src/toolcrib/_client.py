"""The client for hosts that wait: `Toolcrib`."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _wire, types
from ._binary import find_binary
from ._connection import Connection, Stderr
from ._methods import Handlers, Requests
from ._notifications import Audience, Listener, Notifications


class Toolcrib(Requests):
    """A sidecar of your own; every method waits for the answer, every thread may call.

    Use it as a context manager: however the block is left, the sidecar is ended with all
    that it started. So it is when the object is forgotten, and when this process dies.

        with Toolcrib(config="toolcrib.yaml") as toolcrib:
            assembly = toolcrib.assemble_tools(context_length=200_000)

    Args:
        config: Path of the configuration, or the configuration itself; the sidecar looks for
            one where it is left out.
        handlers: What the sidecar may ask you. They run on threads of their own.
        on_notification: Called with each notification, before the answers that were sent
            after it. It runs on the thread that happens to read, so it should be quick; it
            may call the client.
        binary: The program; else `TOOLCRIB_BINARY`, the packaged one, the `PATH`.
        args: More arguments for the program.
        env: Environment of the program; that of this process where it is left out.
        cwd: Folder that the program works in.
        stderr: Where the program's warnings go, as for `subprocess.Popen`.
        client_info: Name and version of the host, for logs.
        roots: Folders that servers may ask for.
        opt_out_notifications: Methods of notifications that are not wanted.
        capabilities: Instead of what `handlers` says.
        start_timeout: Seconds to wait for the introduction.

    Raises:
        BinaryNotFound: There is nothing to start.
        VersionMismatch: The sidecar speaks another revision of the contract.
        RpcError: There is no such configuration (`kind` is `configNotFound`). What is wrong
            in one is in `info.problems`.
    """

    __slots__ = ("__weakref__", "_audience", "_connection", "_finalizer", "info")

    info: types.InitializeResult
    """What the sidecar said of itself."""

    def __init__(
        self,
        *,
        config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        handlers: Handlers | None = None,
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
        handlers = handlers or Handlers()
        introduction = _wire.Introduction(
            config=config,
            client_info=client_info,
            roots=roots,
            opt_out_notifications=opt_out_notifications,
            capabilities=capabilities,
            handlers=handlers,
        ).params()
        path = find_binary(binary)
        self._audience = Audience(on_notification)
        self._connection = Connection(
            [path, "serve", *args],
            env=env,
            cwd=cwd,
            stderr=stderr,
            handlers=handlers,
            listen=self._audience.tell,
            ended=self._audience.end,
        )
        self._finalizer = weakref.finalize(self, self._connection.kill, 2)
        try:
            self.info = self._connection.request(
                "initialize",
                introduction,
                lambda data: _wire.read_introduction(data, path),
                start_timeout,
            )
        except BaseException:
            self._finalizer()
            raise

    @property
    def pid(self) -> int:
        """Of the sidecar."""
        return self._connection.process.pid

    def notifications(self) -> Notifications:
        """What the sidecar tells from now on, to iterate over."""
        iterator = Notifications(self._audience)
        self._audience.join(iterator)
        return iterator

    def close(self, timeout: float = 5) -> None:
        """Ends the sidecar and waits for it; open calls fail with `SidecarClosed`."""
        try:
            self._connection.close(timeout)
        finally:
            self._finalizer.detach()

    def __enter__(self) -> Toolcrib:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _request(
        self,
        method: str,
        params: dict[str, Any],
        decode: Callable[[Any], _wire.Result],
        timeout: float | None,
    ) -> _wire.Result:
        return self._connection.request(method, params, decode, timeout)

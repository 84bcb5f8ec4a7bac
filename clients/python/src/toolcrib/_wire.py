"""The messages: how they are written, read and understood, whoever waits for them."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from . import types
from ._methods import BINDINGS
from .errors import ProtocolError, RpcError, SidecarClosed, ToolcribError, VersionMismatch

logger = logging.getLogger("toolcrib")

Result = TypeVar("Result")

MAX_MESSAGE = 64 << 20
"""The sidecar skips longer messages unread."""

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
decode = json.JSONDecoder().decode


def encode(message: Mapping[str, Any]) -> bytes:
    """One message as one line."""
    text = _encode(message)
    try:
        line = text.encode()
    except UnicodeEncodeError:
        # Halves of surrogate pairs: put together what belongs together, replace the others.
        line = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    if len(line) > MAX_MESSAGE:
        raise ValueError(f"a message of {len(line)} bytes: the sidecar takes up to {MAX_MESSAGE}")
    return line + b"\n"


def request(request_id: int, method: str, params: Mapping[str, Any]) -> bytes:
    return encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return encode(message)


def cancel(request_id: int | str) -> bytes:
    return notification("$/cancelRequest", {"id": request_id})


def answer(request_id: int | str, result: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "id": request_id, "result": result})


def refusal(request_id: int | str, code: int, message: str) -> bytes:
    error = {"code": code, "message": message}
    return encode({"jsonrpc": "2.0", "id": request_id, "error": error})


def read_answer(message: Mapping[str, Any], decode: Callable[[Any], Result], method: str) -> Result:
    """The result of an answer; an error is raised."""
    error = message.get("error")
    if error is not None:
        raise read_error(error)
    try:
        return decode(message["result"])
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise ProtocolError(f"the answer to `{method}` is not of the contract: {problem!r}") from problem


def understand(line: bytes) -> dict[str, Any] | None:
    """The message in a line; what is none is logged and skipped."""
    if not line.strip():
        return None
    try:
        message = decode(line.decode())
        if not isinstance(message, dict):
            raise ValueError("not an object")
    except ValueError as error:
        logger.warning("a line of the sidecar is not a message: %s", error)
        return None
    return message


def read_error(error: Any) -> ToolcribError:
    try:
        return RpcError(error["code"], error["message"], error.get("data"))
    except (KeyError, TypeError, AttributeError):
        return ProtocolError(f"an error that is not of the contract: {error!r}")


def again(error: ToolcribError) -> ToolcribError:
    """An error of its own for each caller that it is raised to."""
    if isinstance(error, SidecarClosed):
        return SidecarClosed(str(error), error.exit_status)
    return type(error)(*error.args)


@dataclass(frozen=True, kw_only=True)
class Introduction:
    """What a host says of itself."""

    config: str | os.PathLike[str] | Mapping[str, Any] | None
    client_info: types.Implementation | None
    roots: Sequence[types.Root] | None
    opt_out_notifications: Sequence[str] | None
    capabilities: types.HostCapabilities | None
    handlers: Any

    def params(self) -> dict[str, Any]:
        if self.config is None:
            config = None
        elif isinstance(self.config, Mapping):
            config = types.ConfigSource(inline=dict(self.config))
        else:
            config = types.ConfigSource(path=os.path.abspath(os.fspath(self.config)))
        return types.InitializeParams(
            protocol_version=types.PROTOCOL_VERSION,
            client_info=self.client_info,
            capabilities=self.capabilities or self._capabilities(),
            roots=None if self.roots is None else list(self.roots),
            opt_out_notifications=(
                None if self.opt_out_notifications is None else list(self.opt_out_notifications)
            ),
            config=config,
        ).to_json()

    def _capabilities(self) -> types.HostCapabilities:
        """Only what there is a handler for."""
        can = {
            method: getattr(self.handlers, binding.attribute, None) is not None or None
            for method, binding in BINDINGS.items()
        }
        elicitation = types.ElicitationCapability(form=True, url=True) if can["elicit"] else None
        return types.HostCapabilities(
            approval=can["approve"],
            elicitation=elicitation,
            sampling=can["sample"],
            open_url=can["openUrl"],
            progress=True,
        )


def read_introduction(data: Any, binary: str) -> types.InitializeResult:
    """What the sidecar says of itself; another revision of the contract is refused."""
    # Another revision may look different, so its number is read before all else.
    version = data["protocolVersion"]
    if version != types.PROTOCOL_VERSION:
        server = data.get("serverInfo") or {}
        raise VersionMismatch(types.PROTOCOL_VERSION, version, binary, server.get("version"))
    return types.InitializeResult.from_json(data)

"""What can go wrong between a host and the sidecar."""

from __future__ import annotations

from typing import Any

from .types import ErrorData

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
OVERLOADED = -32001
CANCELLED = -32800
REQUEST_FAILED = -32803


class ToolcribError(Exception):
    """Any trouble with the sidecar."""


class RpcError(ToolcribError):
    """The sidecar answered with an error."""

    def __init__(self, code: int, message: str, raw_data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.raw_data = raw_data
        """`data` as it was sent."""
        self.data: ErrorData | None = None
        """What is known of a request that could not be served."""
        if code == REQUEST_FAILED and isinstance(raw_data, dict):
            try:
                self.data = ErrorData.from_json(raw_data)
            except (KeyError, TypeError, AttributeError):
                pass

    def __reduce__(self) -> tuple[Any, ...]:
        return (RpcError, (self.code, self.message, self.raw_data))

    @property
    def kind(self) -> str | None:
        """A word to branch on, such as `configInvalid`."""
        return None if self.data is None else self.data.kind

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.code == OVERLOADED or (self.data is not None and self.data.retryable)


class CallTimeout(ToolcribError, TimeoutError):
    """The answer did not come within `timeout=`; the call was cancelled."""


class SidecarClosed(ToolcribError, ConnectionError):
    """The sidecar has ended, or was closed; every open call fails with this."""

    def __init__(self, message: str, exit_status: int | None = None) -> None:
        super().__init__(message)
        self.exit_status = exit_status


class ProtocolError(ToolcribError):
    """The sidecar sent something that is not of the contract."""


class VersionMismatch(ToolcribError):
    """The sidecar speaks another revision of the contract."""

    def __init__(self, client: int, sidecar: int, binary: str, version: str | None) -> None:
        super().__init__(
            f"this client speaks protocol version {client}, but `{binary}`"
            f" (version {version or 'unknown'}) speaks {sidecar}:"
            " install versions of the two that belong together"
        )
        self.client = client
        self.sidecar = sidecar


class BinaryNotFound(ToolcribError, FileNotFoundError):
    """There is no `toolcrib` to start."""

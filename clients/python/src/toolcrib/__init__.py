"""Host side of toolcrib: more MCP tools than a model can bear, behind three.

    from toolcrib import Toolcrib

    with Toolcrib(config="toolcrib.yaml") as toolcrib:
        assembly = toolcrib.assemble_tools(context_length=200_000)
        answer = toolcrib.dispatch("tool_search", arguments={"query": "create an issue"})

`AsyncToolcrib` is the same on asyncio. What goes over the wire is in `toolcrib.types`, what
can go wrong in `toolcrib.errors`.
"""

from . import errors, types
from ._async_client import AsyncToolcrib
from ._binary import find_binary
from ._client import Toolcrib
from ._methods import AsyncHandlers, Handlers
from ._notifications import AsyncNotifications, Notifications
from .errors import (
    BinaryNotFound,
    CallTimeout,
    ProtocolError,
    RpcError,
    SidecarClosed,
    ToolcribError,
    VersionMismatch,
)
from .types import *  # noqa: F403  everything that goes over the wire, by its own name

__all__ = [
    "AsyncHandlers",
    "AsyncNotifications",
    "AsyncToolcrib",
    "BinaryNotFound",
    "CallTimeout",
    "Handlers",
    "Notifications",
    "ProtocolError",
    "RpcError",
    "SidecarClosed",
    "Toolcrib",
    "ToolcribError",
    "VersionMismatch",
    "errors",
    "find_binary",
    "types",
]
__all__ += types.__all__

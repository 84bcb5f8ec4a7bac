"""Plays the scripted conversation with the client on asyncio."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time

from toolcrib import (
    ApproveParams,
    ApproveResult,
    AsyncHandlers,
    AsyncToolcrib,
    CallResult,
    ConfigSource,
    HostCall,
    Notification,
    ProgressNotification,
    RpcError,
    SidecarClosed,
)

from .conversation import CLOCK, LIMIT, say


class Player:
    def __init__(self, binary: str, before: str, after: str) -> None:
        self.binary = binary
        self.before = before
        self.after = after
        self.asked: list[ApproveParams] = []
        self.progress: dict[str, list[float]] = {}

    async def approve(self, params: ApproveParams) -> ApproveResult:
        self.asked.append(params)
        return ApproveResult(decision="allow" if params.arguments.get("title") == "yes" else "deny")

    def listen(self, notification: Notification) -> None:
        if isinstance(notification, ProgressNotification):
            self.progress.setdefault(notification.call_id, []).append(notification.progress)

    async def wait_for_progress(self, client: AsyncToolcrib, *call_ids: str) -> None:
        notifications = client.notifications()
        while not all(it in self.progress for it in call_ids):
            await asyncio.wait_for(notifications.__anext__(), LIMIT)
        notifications.close()

    async def play(self) -> None:
        client = AsyncToolcrib(
            binary=self.binary,
            config=self.before,
            handlers=AsyncHandlers(approve=self.approve),
            on_notification=self.listen,
        )
        async with client:
            info = client.info
            say("initialize", protocolVersion=info.protocol_version, server=info.server_info.name)
            digest = await self.turns(client)
            await self.calls(client)
            await self.trouble(client)
            await self.reload(client, digest)
            await self.kill(client)
        async with AsyncToolcrib(binary=self.binary, config=self.after) as client:
            await client.assemble_tools(wait_ms=20_000)
            servers = (await client.status()).servers
            say("restart", servers=[server.name for server in servers], ready=all(s.state == "ready" for s in servers))
            pid = client.pid
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            say("closed")

    async def turns(self, client: AsyncToolcrib) -> str:
        first = await client.assemble_tools(context_length=200_000, host_tools=[CLOCK], wait_ms=20_000)
        names = [tool["function"]["name"] for tool in first.tools or []]
        say("assemble", mode=first.decision.mode, reason=first.decision.reason, tools=names)
        second = await client.assemble_tools(context_length=200_000, host_tools=[CLOCK], known_digest=first.digest)
        say("again", unchanged=second.unchanged, tools=second.tools)

        found = await client.dispatch("tool_search", arguments={"query": "give back arguments"})
        assert isinstance(found, CallResult)
        match = json.loads(found.content)["matches"][0]
        say("search", bridge=found.bridge, first=match["name"], server=match["server"])

        left = await client.dispatch("tool_call", arguments={"name": "clock", "arguments": {"zone": "UTC"}})
        assert isinstance(left, HostCall)
        say("host", tool=left.tool.name, source=left.tool.source, arguments=left.arguments, bridge=left.bridge)
        return first.digest

    async def calls(self, client: AsyncToolcrib) -> None:
        arguments = {"name": "mcp_safe_write", "arguments": {"title": "yes"}}
        resolved = await client.resolve("tool_call", arguments=arguments)
        assert resolved.tool is not None
        tool = resolved.tool
        say("resolve", tool=tool.name, server=tool.server, originalName=tool.original_name, arguments=resolved.arguments)

        for step, title in (("approved", "yes"), ("denied", "no")):
            result = await client.dispatch("mcp_safe_write", arguments={"title": title}, call_id=step)
            assert isinstance(result, CallResult)
            question = self.asked[-1]
            asked = {"callId": question.call_id, "tool": question.tool.name, "arguments": question.arguments}
            say(step, outcome=result.outcome, isError=result.is_error, asked=asked)

        result = await client.dispatch("mcp_desk_slow", arguments={"steps": 3}, call_id="p")
        assert isinstance(result, CallResult)
        say("progress", seen=[int(it) for it in self.progress["p"]], content=json.loads(result.content)["result"])

    async def trouble(self, client: AsyncToolcrib) -> None:
        slow = asyncio.create_task(client.dispatch("mcp_desk_slow", arguments={"steps": 1000}, call_id="c"))
        await self.wait_for_progress(client, "c")
        slow.cancel()
        try:
            await slow
        except asyncio.CancelledError:
            say("cancel", error="cancelled")
        count = 0
        for _ in range(1000):
            result = await client.dispatch("mcp_desk_cancelled")
            assert isinstance(result, CallResult)
            count = int(json.loads(result.content)["result"])
            if count > 0:
                break
        say("reached", count=count)

        result = await client.dispatch("mcp_desk_nothing")
        assert isinstance(result, CallResult)
        say("unknown", outcome=result.outcome, isError=result.is_error)
        try:
            await client.reload(servers=["nowhere"])
        except RpcError as error:
            say("error", code=error.code, kind=error.kind, retryable=error.retryable)

    async def reload(self, client: AsyncToolcrib, digest: str) -> None:
        done = await client.reload(config=ConfigSource(path=self.after))
        say("reload", added=done.added, removed=done.removed, changed=done.changed, unchanged=done.unchanged)
        changed = await client.assemble_tools(
            context_length=200_000, host_tools=[CLOCK], known_digest=digest, wait_ms=20_000
        )
        names = [tool["function"]["name"] for tool in changed.tools or []]
        say("changed", unchanged=changed.unchanged, mode=changed.decision.mode, tools=names)

    async def kill(self, client: AsyncToolcrib) -> None:
        slow = [
            asyncio.create_task(client.dispatch("mcp_desk_slow", arguments={"steps": 1000}, call_id=call_id))
            for call_id in ("k1", "k2")
        ]
        await self.wait_for_progress(client, "k1", "k2")
        started = time.monotonic()
        os.kill(client.pid, signal.SIGKILL)
        ends = await asyncio.wait_for(asyncio.gather(*slow, return_exceptions=True), LIMIT)
        errors = ["closed" if isinstance(end, SidecarClosed) else repr(end) for end in ends]
        say("killed", errors=errors, promptly=time.monotonic() - started < 1)
        try:
            await client.status()
        except SidecarClosed:
            say("dead", error="closed")


if __name__ == "__main__":
    asyncio.run(Player(*sys.argv[1:4]).play())

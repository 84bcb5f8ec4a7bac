"""Plays the scripted conversation with the client that waits."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import Any

from toolcrib import (
    ApproveParams,
    ApproveResult,
    CallResult,
    ConfigSource,
    Handlers,
    HostCall,
    HostTool,
    Notification,
    ProgressNotification,
    RpcError,
    SidecarClosed,
    Toolcrib,
)

CLOCK = HostTool(name="clock", description="Tells the time.", parameters={"type": "object"})
LIMIT = 30.0


def say(step: str, **facts: Any) -> None:
    print(json.dumps({"step": step, **facts}, separators=(",", ":"), ensure_ascii=False), flush=True)


class Player:
    def __init__(self, binary: str, before: str, after: str) -> None:
        self.binary = binary
        self.before = before
        self.after = after
        self.asked: list[ApproveParams] = []
        self.progress: dict[str, list[float]] = {}
        self.heard = threading.Condition()

    def approve(self, params: ApproveParams) -> ApproveResult:
        self.asked.append(params)
        return ApproveResult(decision="allow" if params.arguments.get("title") == "yes" else "deny")

    def listen(self, notification: Notification) -> None:
        if isinstance(notification, ProgressNotification):
            with self.heard:
                self.progress.setdefault(notification.call_id, []).append(notification.progress)
                self.heard.notify_all()

    def wait_for_progress(self, *call_ids: str) -> None:
        with self.heard:
            assert self.heard.wait_for(lambda: all(it in self.progress for it in call_ids), LIMIT)

    def play(self) -> None:
        with Toolcrib(
            binary=self.binary,
            config=self.before,
            handlers=Handlers(approve=self.approve),
            on_notification=self.listen,
        ) as client:
            info = client.info
            say("initialize", protocolVersion=info.protocol_version, server=info.server_info.name)
            digest = self.turns(client)
            self.calls(client)
            self.trouble(client)
            self.reload(client, digest)
            self.kill(client)
        with Toolcrib(binary=self.binary, config=self.after) as client:
            client.assemble_tools(wait_ms=20_000)
            servers = client.status().servers
            say("restart", servers=[server.name for server in servers], ready=all(s.state == "ready" for s in servers))
            pid = client.pid
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            say("closed")

    def turns(self, client: Toolcrib) -> str:
        first = client.assemble_tools(context_length=200_000, host_tools=[CLOCK], wait_ms=20_000)
        names = [tool["function"]["name"] for tool in first.tools or []]
        say("assemble", mode=first.decision.mode, reason=first.decision.reason, tools=names)
        second = client.assemble_tools(context_length=200_000, host_tools=[CLOCK], known_digest=first.digest)
        say("again", unchanged=second.unchanged, tools=second.tools)

        found = client.dispatch("tool_search", arguments={"query": "give back arguments"})
        assert isinstance(found, CallResult)
        match = json.loads(found.content)["matches"][0]
        say("search", bridge=found.bridge, first=match["name"], server=match["server"])

        left = client.dispatch("tool_call", arguments={"name": "clock", "arguments": {"zone": "UTC"}})
        assert isinstance(left, HostCall)
        say("host", tool=left.tool.name, source=left.tool.source, arguments=left.arguments, bridge=left.bridge)
        return first.digest

    def calls(self, client: Toolcrib) -> None:
        arguments = {"name": "mcp_safe_write", "arguments": {"title": "yes"}}
        resolved = client.resolve("tool_call", arguments=arguments)
        assert resolved.tool is not None
        tool = resolved.tool
        say("resolve", tool=tool.name, server=tool.server, originalName=tool.original_name, arguments=resolved.arguments)

        for step, title in (("approved", "yes"), ("denied", "no")):
            result = client.dispatch("mcp_safe_write", arguments={"title": title}, call_id=step)
            assert isinstance(result, CallResult)
            question = self.asked[-1]
            asked = {"callId": question.call_id, "tool": question.tool.name, "arguments": question.arguments}
            say(step, outcome=result.outcome, isError=result.is_error, asked=asked)

        result = client.dispatch("mcp_desk_slow", arguments={"steps": 3}, call_id="p")
        assert isinstance(result, CallResult)
        say("progress", seen=[int(it) for it in self.progress["p"]], content=json.loads(result.content)["result"])

    def trouble(self, client: Toolcrib) -> None:
        main = threading.get_ident()

        def interrupt() -> None:
            self.wait_for_progress("c")
            signal.pthread_kill(main, signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        try:
            client.dispatch("mcp_desk_slow", arguments={"steps": 1000}, call_id="c")
        except KeyboardInterrupt:
            say("cancel", error="cancelled")
        count = 0
        for _ in range(1000):
            result = client.dispatch("mcp_desk_cancelled")
            assert isinstance(result, CallResult)
            count = int(json.loads(result.content)["result"])
            if count > 0:
                break
        say("reached", count=count)

        result = client.dispatch("mcp_desk_nothing")
        assert isinstance(result, CallResult)
        say("unknown", outcome=result.outcome, isError=result.is_error)
        try:
            client.reload(servers=["nowhere"])
        except RpcError as error:
            say("error", code=error.code, kind=error.kind, retryable=error.retryable)

    def reload(self, client: Toolcrib, digest: str) -> None:
        done = client.reload(config=ConfigSource(path=self.after))
        say("reload", added=done.added, removed=done.removed, changed=done.changed, unchanged=done.unchanged)
        changed = client.assemble_tools(
            context_length=200_000, host_tools=[CLOCK], known_digest=digest, wait_ms=20_000
        )
        names = [tool["function"]["name"] for tool in changed.tools or []]
        say("changed", unchanged=changed.unchanged, mode=changed.decision.mode, tools=names)

    def kill(self, client: Toolcrib) -> None:
        ends: list[str] = []

        def work(call_id: str) -> None:
            try:
                client.dispatch("mcp_desk_slow", arguments={"steps": 1000}, call_id=call_id)
            except SidecarClosed:
                ends.append("closed")

        threads = [threading.Thread(target=work, args=(call_id,)) for call_id in ("k1", "k2")]
        for thread in threads:
            thread.start()
        self.wait_for_progress("k1", "k2")
        started = time.monotonic()
        os.kill(client.pid, signal.SIGKILL)
        for thread in threads:
            thread.join(LIMIT)
        say("killed", errors=ends, promptly=time.monotonic() - started < 1)
        try:
            client.status()
        except SidecarClosed:
            say("dead", error="closed")


if __name__ == "__main__":
    Player(*sys.argv[1:4]).play()

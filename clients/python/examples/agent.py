"""A whole agent: a model with the tools of many MCP servers, and one tool of its own.

    python agent.py --api openai --config toolcrib.yaml "What is on my calendar?"

The key is read from OPENAI_API_KEY or ANTHROPIC_API_KEY; OPENAI_BASE_URL and ANTHROPIC_BASE_URL
lead to other endpoints that speak the same. Nothing but toolcrib has to be installed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import urllib.request
from dataclasses import dataclass
from typing import Any

from toolcrib import ApproveParams, ApproveResult, CallResult, Handlers, HostCall, HostTool, Toolcrib, ToolRef
from toolcrib.types import Format

CLOCK = HostTool(name="current_time", description="Tells the date and time.", parameters={"type": "object"})


@dataclass
class ToolCall:
    id: str
    name: str
    arguments: Any


class OpenAI:
    """Chat completions, which many endpoints speak."""

    format: Format = "openai"

    def __init__(self, model: str | None, question: str) -> None:
        self.model = model or "gpt-4.1-mini"
        self.url = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1") + "/chat/completions"
        self.headers = {"Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "")}
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": question}]

    def ask(self, tools: list[dict[str, Any]]) -> tuple[str, list[ToolCall]]:
        """What the model says, and which tools it calls."""
        body = {"model": self.model, "messages": self.messages, "tools": tools}
        message = post(self.url, self.headers, body)["choices"][0]["message"]
        self.messages.append(message)
        calls = [
            ToolCall(it["id"], it["function"]["name"], it["function"]["arguments"])
            for it in message.get("tool_calls") or []
        ]
        return message.get("content") or "", calls

    def tell(self, results: list[tuple[ToolCall, str, bool]]) -> None:
        for call, content, _ in results:
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


class Anthropic:
    """Messages."""

    format: Format = "anthropic"

    def __init__(self, model: str | None, question: str) -> None:
        self.model = model or "claude-sonnet-4-5"
        self.url = os.environ.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com") + "/v1/messages"
        self.headers = {"x-api-key": os.environ.get("ANTHROPIC_API_KEY", ""), "anthropic-version": "2023-06-01"}
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": question}]

    def ask(self, tools: list[dict[str, Any]]) -> tuple[str, list[ToolCall]]:
        """What the model says, and which tools it calls."""
        body = {"model": self.model, "max_tokens": 4096, "messages": self.messages, "tools": tools}
        blocks = post(self.url, self.headers, body)["content"]
        self.messages.append({"role": "assistant", "content": blocks})
        text = "".join(it["text"] for it in blocks if it["type"] == "text")
        calls = [ToolCall(it["id"], it["name"], it["input"]) for it in blocks if it["type"] == "tool_use"]
        return text, calls

    def tell(self, results: list[tuple[ToolCall, str, bool]]) -> None:
        blocks = [
            {"type": "tool_result", "tool_use_id": call.id, "content": content, "is_error": is_error}
            for call, content, is_error in results
        ]
        self.messages.append({"role": "user", "content": blocks})


def post(url: str, headers: dict[str, str], body: Any) -> Any:
    headers = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=300) as response:
        return json.load(response)


class Agent:
    def __init__(self, toolcrib: Toolcrib, model: OpenAI | Anthropic, context_length: int, ask_first: bool) -> None:
        self.toolcrib = toolcrib
        self.model = model
        self.context_length = context_length
        self.ask_first = ask_first

    def run(self) -> str:
        tools: list[dict[str, Any]] = []
        digest = None
        for _ in range(30):
            assembly = self.toolcrib.assemble_tools(
                context_length=self.context_length,
                format=self.model.format,
                host_tools=[CLOCK],
                known_digest=digest,
            )
            if assembly.tools is not None:
                tools, digest = assembly.tools, assembly.digest
            text, calls = self.model.ask(tools)
            if not calls:
                return text
            self.model.tell([(call, *self.call(call)) for call in calls])
        return "(gave up after 30 turns)"

    def call(self, call: ToolCall) -> tuple[str, bool]:
        """What the model is told, and whether that is an error."""
        # The real tool, also where the model went through `tool_call`: questions are about that.
        resolved = self.toolcrib.resolve(call.name, arguments=call.arguments)
        if resolved.tool is not None and not self.may_run(resolved.tool, resolved.arguments):
            return json.dumps({"error": "the user does not allow this call"}), True
        result = self.toolcrib.dispatch(call.name, arguments=call.arguments, call_id=call.id)
        if isinstance(result, CallResult):
            return result.content, result.is_error
        if isinstance(result, HostCall) and result.tool.name == CLOCK.name:
            return json.dumps({"result": datetime.datetime.now().isoformat()}), False
        return json.dumps({"error": "this agent cannot do that"}), True

    def may_run(self, tool: ToolRef, arguments: dict[str, Any]) -> bool:
        print(f"-> {tool.name} {json.dumps(arguments, ensure_ascii=False)}", flush=True)
        # What this agent does itself needs no question; what servers say of their tools spares none.
        return tool.source == "host" or not self.ask_first or yes("run it?")


def yes(question: str) -> bool:
    return input(question + " [y/N] ").strip().lower() == "y"


def approve(params: ApproveParams) -> ApproveResult:
    """The configuration asks (`approval: ask`)."""
    allowed = yes(f"{params.reason}: run {params.tool.name}?")
    return ApproveResult(decision="allow" if allowed else "deny")


def main() -> None:
    parser = argparse.ArgumentParser(description="An agent with the tools of many MCP servers.")
    parser.add_argument("question")
    parser.add_argument("--api", choices=["openai", "anthropic"], default="openai")
    parser.add_argument("--model")
    parser.add_argument("--config", help="of toolcrib; by default the one that it finds")
    parser.add_argument("--context-length", type=int, default=128_000, help="tokens that the model can hold")
    parser.add_argument("--yes", action="store_true", help="run tools without asking")
    options = parser.parse_args()
    speaks = OpenAI if options.api == "openai" else Anthropic
    model = speaks(options.model, options.question)
    with Toolcrib(config=options.config, handlers=Handlers(approve=approve)) as toolcrib:
        for problem in toolcrib.info.problems:
            print(f"{problem.severity}: {problem.message} ({problem.path})")
        print(Agent(toolcrib, model, options.context_length, ask_first=not options.yes).run())


if __name__ == "__main__":
    main()

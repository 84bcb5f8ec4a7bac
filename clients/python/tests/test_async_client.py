"""The client on asyncio, against a sidecar that breaks the contract on demand."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib import (
    ApproveParams,
    ApproveResult,
    AsyncHandlers,
    AsyncToolcrib,
    CallResult,
    CallTimeout,
    ProgressNotification,
    ProtocolError,
    RpcError,
    SidecarClosed,
    VersionMismatch,
)

from .conftest import MOCK
from .test_client import LIMIT, QUESTION, alive


def on_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), LIMIT))

    return run


@asynccontextmanager
async def mock(**options: Any) -> AsyncIterator[AsyncToolcrib]:
    async with AsyncToolcrib(binary=MOCK, **options) as client:
        yield client
    assert not alive(client.pid)


async def call(client: AsyncToolcrib, name: str, arguments: Any = None) -> Any:
    result = await client.dispatch(name, arguments=arguments)
    assert isinstance(result, CallResult)
    return json.loads(result.content)["result"]


@on_a_loop
async def test_calls_give_typed_answers() -> None:
    async with mock() as client:
        assert client.info.server_info.name == "toolcrib"
        assert (await client.status()).catalog.tools == 1
        assembly = await client.assemble_tools()
        again = await client.assemble_tools(known_digest=assembly.digest)
        assert again.unchanged and again.tools is None


@on_a_loop
async def test_many_calls_at_once_are_not_mixed_up() -> None:
    async with mock() as client:
        answers = await asyncio.gather(*(call(client, "echo", {"n": n}) for n in range(200)))
        assert answers == [{"n": n} for n in range(200)]
        text = "é" * 1_000_000
        assert await call(client, "echo", {"text": text}) == {"text": text}


@on_a_loop
async def test_progress_comes_in_order_before_the_answer() -> None:
    seen: list[toolcrib.Notification] = []
    async with mock(on_notification=seen.append) as client:
        notifications = client.notifications()
        await call(client, "steps")
        assert [n.progress for n in seen if isinstance(n, ProgressNotification)] == [1, 2, 3]
    assert [n.method async for n in notifications] == ["progress"] * 3


@on_a_loop
async def test_handlers_answer() -> None:
    cancelled = asyncio.Event()

    async def approve(params: ApproveParams) -> ApproveResult:
        if params.reason == "fail":
            raise RuntimeError("broken")
        if params.reason == "stay":
            await asyncio.sleep(LIMIT)
        if params.reason == "wait":
            try:
                await asyncio.sleep(LIMIT)
            finally:
                cancelled.set()
        return ApproveResult(decision="allow")

    async with mock(handlers=AsyncHandlers(approve=approve)) as client:

        async def ask(method: str, tool: str = "ask", **changes: Any) -> Any:
            return await call(client, tool, {"method": method, "params": {**QUESTION, **changes}})

        assert await ask("approve") == {"result": {"decision": "allow"}}
        assert (await ask("approve", reason="fail"))["error"]["code"] == -32603
        assert (await ask("elicit"))["error"]["code"] == -32601
        assert (await ask("approve", "withdraw", reason="stay"))["error"]["code"] == -32800
        question = asyncio.create_task(ask("approve", reason="wait"))
        await call(client, "echo")
        question.cancel()
    await cancelled.wait()


@on_a_loop
async def test_cancelling_the_task_cancels_the_call() -> None:
    async with mock() as client:
        notifications = client.notifications()
        task = asyncio.create_task(call(client, "slow"))
        await notifications.__anext__()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(CallTimeout, match="dispatch"):
            await client.dispatch("slow", timeout=0.05)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(call(client, "slow"), 0.05)
        assert await call(client, "cancels") == [2, 3, 4]


@on_a_loop
async def test_errors_are_typed() -> None:
    async with mock() as client:
        with pytest.raises(RpcError) as caught:
            await client.reload()
        assert caught.value.kind == "configInvalid"
        with pytest.raises(ProtocolError, match="content"):
            await client.dispatch("bad")
        with pytest.raises(ProtocolError, match="cannot read that"):
            await client.dispatch("deaf")
        assert await call(client, "garbage") == "done"
        assert isinstance(await client.dispatch("later"), toolcrib.DispatchResultUnknown)


@on_a_loop
async def test_death_fails_every_open_call_at_once() -> None:
    async with mock() as client:
        notifications = client.notifications()
        slow = [asyncio.create_task(call(client, "slow")) for _ in range(4)]
        for _ in slow:
            await notifications.__anext__()
        started = time.monotonic()
        with pytest.raises(SidecarClosed) as caught:
            await client.dispatch("die")
        assert caught.value.exit_status == 7
        ends = await asyncio.gather(*slow, return_exceptions=True)
        assert [type(end) for end in ends] == [SidecarClosed] * 4
        assert time.monotonic() - started < 1
        with pytest.raises(SidecarClosed, match="status 7"):
            await client.status()
        assert [n async for n in notifications] == []


@on_a_loop
async def test_however_the_block_is_left_no_process_is() -> None:
    client = AsyncToolcrib(binary=MOCK)
    with pytest.raises(ZeroDivisionError):
        async with client:
            raise ZeroDivisionError
    assert not alive(client.pid)
    with pytest.raises(SidecarClosed, match="closed"):
        await client.status()


@on_a_loop
async def test_cancelled_block_leaves_no_process() -> None:
    client = AsyncToolcrib(binary=MOCK)
    inside = asyncio.Event()

    async def work() -> None:
        async with client:
            inside.set()
            await asyncio.sleep(LIMIT)

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled() and not alive(client.pid)


@on_a_loop
async def test_stubborn_sidecar_is_killed() -> None:
    client = AsyncToolcrib(binary=MOCK, env={**os.environ, "MOCK_STUBBORN": "1"})
    await client.start()
    await client.close(timeout=0.05)
    assert not alive(client.pid)


@on_a_loop
async def test_failed_start_leaves_no_process(tmp_path: Path) -> None:
    env = {**os.environ, "MOCK_PROTOCOL": "2", "MOCK_PIDFILE": str(tmp_path / "pid")}
    with pytest.raises(VersionMismatch, match="version 1, .* speaks 2"):
        await AsyncToolcrib(binary=MOCK, env=env).start()
    assert not alive(int((tmp_path / "pid").read_text()))


@on_a_loop
async def test_client_that_is_not_started_says_so() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        await AsyncToolcrib(binary=MOCK).status()

"""The client that waits, against a sidecar that breaks the contract on demand."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib import (
    ApproveParams,
    ApproveResult,
    CallResult,
    CallTimeout,
    Handlers,
    ProgressNotification,
    ProtocolError,
    RpcError,
    SidecarClosed,
    Toolcrib,
    ToolcribError,
    VersionMismatch,
    _wire,
)

from .conftest import MOCK

LIMIT = 20


@pytest.fixture
def client() -> Iterator[Toolcrib]:
    with Toolcrib(binary=MOCK) as client:
        yield client


def call(client: Toolcrib, name: str, arguments: Any = None, **more: Any) -> Any:
    result = client.dispatch(name, arguments=arguments, timeout=LIMIT, **more)
    assert isinstance(result, CallResult)
    return json.loads(result.content)["result"]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        # One that nobody has waited for yet is still listed.
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return not Path("/proc/self").exists()


def wait_until(condition: Any) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_calls_give_typed_answers(client: Toolcrib) -> None:
    assert client.info.server_info.name == "toolcrib"
    assert client.status().catalog.tools == 1
    assembly = client.assemble_tools(context_length=1000)
    assert assembly.tools is not None and assembly.tools[0]["function"]["name"] == "echo"
    assert assembly.decision.context_length == 1000
    again = client.assemble_tools(known_digest=assembly.digest)
    assert again.unchanged and again.tools is None
    client.close_session("s")


def test_long_integers_and_odd_text_survive(client: Toolcrib) -> None:
    arguments = {"n": 2**53 + 1, "text": "<é🙂\u2028>"}
    assert call(client, "echo", arguments) == arguments


def test_large_messages_pass_both_ways(client: Toolcrib) -> None:
    text = "é" * 3_000_000
    assert call(client, "echo", {"text": text}) == {"text": text}


def test_many_threads_call_at_once_and_are_not_mixed_up(client: Toolcrib) -> None:
    wrong: list[Any] = []

    def work(number: int) -> None:
        for step in range(50):
            arguments = {"n": number, "step": step}
            if call(client, "echo", arguments) != arguments:
                wrong.append(arguments)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()
    assert wrong == []


def test_quick_call_passes_a_slow_one(client: Toolcrib) -> None:
    slow: list[Any] = []
    thread = threading.Thread(target=lambda: slow.append(call(client, "slow", {"seconds": 1.5})))
    thread.start()
    call(client, "echo")
    assert slow == []
    thread.join(LIMIT)
    assert slow == ["done"]


def test_reading_goes_on_when_the_reading_thread_leaves(client: Toolcrib) -> None:
    """The thread that waits longest reads on for the others, and so in turn."""
    done: list[float] = []
    lengths = [1.0, 0.2, 0.6]
    threads = [
        threading.Thread(target=lambda length=length: done.append(call(client, "slow", {"seconds": length}) and length))
        for length in lengths
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert done == sorted(lengths)


def test_progress_comes_in_order_before_the_answer() -> None:
    seen: list[float] = []

    def listen(notification: toolcrib.Notification) -> None:
        if isinstance(notification, ProgressNotification):
            seen.append(notification.progress)

    with Toolcrib(binary=MOCK, on_notification=listen) as client:
        notifications = client.notifications()
        call(client, "steps")
        assert seen == [1, 2, 3]
    assert [notification.method for notification in notifications] == ["progress"] * 3


def test_notifications_arrive_while_nobody_calls(client: Toolcrib) -> None:
    with client.notifications() as notifications:
        thread = threading.Thread(target=lambda: call(client, "slow", {"seconds": 0.1}))
        thread.start()
        assert isinstance(next(notifications), ProgressNotification)
        thread.join(LIMIT)
        assert notifications.get(timeout=0.05) is None


def test_callback_may_call() -> None:
    answers: list[Any] = []
    box: list[Toolcrib] = []

    def listen(notification: toolcrib.Notification) -> None:
        if isinstance(notification, ProgressNotification) and notification.progress == 1:
            answers.append(call(box[0], "echo", {"a": 1}))

    with Toolcrib(binary=MOCK, on_notification=listen) as client:
        box.append(client)
        assert call(client, "steps") == "done"
        assert answers == [{"a": 1}]


def test_callback_that_fails_harms_nobody() -> None:
    def listen(_: toolcrib.Notification) -> None:
        raise RuntimeError("no")

    with Toolcrib(binary=MOCK, on_notification=listen) as client:
        assert call(client, "steps") == "done"


QUESTION = {"tool": {"name": "x", "source": "mcp"}, "arguments": {}, "reason": "because"}


def test_handlers_answer() -> None:
    asked: list[ApproveParams] = []

    def approve(params: ApproveParams) -> ApproveResult:
        asked.append(params)
        if params.reason == "fail":
            raise RuntimeError("broken")
        if params.reason == "refuse":
            raise RpcError(-1, "own words")
        return ApproveResult(decision="allow")

    with Toolcrib(binary=MOCK, handlers=Handlers(approve=approve)) as client:

        def ask(method: str, **changes: Any) -> Any:
            return call(client, "ask", {"method": method, "params": {**QUESTION, **changes}})

        assert ask("approve") == {"result": {"decision": "allow"}}
        assert asked[0].tool.name == "x"
        assert ask("approve", reason="fail")["error"]["code"] == -32603
        assert ask("approve", reason="refuse")["error"] == {"code": -1, "message": "own words"}
        assert ask("elicit")["error"]["code"] == -32601
        assert ask("newer")["error"]["code"] == -32601


def test_only_what_is_handled_is_announced() -> None:
    with Toolcrib(binary=MOCK, handlers=Handlers(elicit=lambda _: toolcrib.ElicitResult(action="decline"))) as client:
        raw = client._connection.request("initialize", {}, lambda data: data, LIMIT)
        assert raw["received"] == {}
    introduction = _wire.Introduction(
        config={"servers": {}},
        client_info=None,
        roots=None,
        opt_out_notifications=None,
        capabilities=None,
        handlers=Handlers(approve=lambda _: ApproveResult(decision="deny")),
    )
    assert introduction.params() == {
        "protocolVersion": 1,
        "capabilities": {"approval": True, "progress": True},
        "config": {"inline": {"servers": {}}},
    }


def test_question_that_is_taken_back_is_answered_at_once() -> None:
    go_on = threading.Event()

    def approve(_: ApproveParams) -> ApproveResult:
        go_on.wait(LIMIT)
        return ApproveResult(decision="allow")

    with Toolcrib(binary=MOCK, handlers=Handlers(approve=approve)) as client:
        answer = call(client, "withdraw", {"method": "approve", "params": QUESTION})
        go_on.set()
        assert answer["error"]["code"] == -32800


def test_handlers_run_while_calls_go_on() -> None:
    go_on = threading.Event()

    def approve(_: ApproveParams) -> ApproveResult:
        assert go_on.wait(LIMIT)
        return ApproveResult(decision="allow")

    with Toolcrib(binary=MOCK, handlers=Handlers(approve=approve)) as client:
        answer: list[Any] = []
        ask = {"method": "approve", "params": QUESTION}
        thread = threading.Thread(target=lambda: answer.append(call(client, "ask", ask)))
        thread.start()
        assert call(client, "echo", {"a": 1}) == {"a": 1}
        go_on.set()
        thread.join(LIMIT)
        assert answer == [{"result": {"decision": "allow"}}]


def test_timeout_cancels_the_call(client: Toolcrib) -> None:
    started = time.monotonic()
    with pytest.raises(CallTimeout, match="dispatch"):
        client.dispatch("slow", timeout=0.1)
    assert time.monotonic() - started < 1
    assert call(client, "cancels") == [2]


def test_interrupt_cancels_the_call_and_the_client_lives_on(client: Toolcrib) -> None:
    notifications = client.notifications()
    main = threading.get_ident()

    def interrupt() -> None:
        next(notifications)
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        client.dispatch("slow", timeout=LIMIT)
    assert call(client, "cancels") == [2]


def test_interrupt_at_the_terminal_is_not_for_the_sidecar(client: Toolcrib) -> None:
    assert os.getpgid(client.pid) != os.getpgid(0)


def test_errors_are_typed(client: Toolcrib) -> None:
    with pytest.raises(RpcError) as caught:
        client.reload()
    error = caught.value
    assert error.kind == "configInvalid" and not error.retryable
    assert error.data is not None and error.data.problems is not None
    span = error.data.problems[0].range
    assert span is not None and span.end.character == 5


def test_what_is_not_of_the_contract_is_an_error(client: Toolcrib) -> None:
    with pytest.raises(ProtocolError, match="content"):
        client.dispatch("bad")
    with pytest.raises(ProtocolError, match="cannot read that"):
        client.dispatch("deaf")
    assert call(client, "garbage") == "done"


def test_what_a_newer_sidecar_sends_is_kept(client: Toolcrib) -> None:
    notifications = client.notifications()
    result = client.dispatch("later")
    assert isinstance(result, toolcrib.DispatchResultUnknown)
    assert result.kind == "later" and result.raw["n"] == 2**53 + 1
    call(client, "garbage")
    assert next(notifications) == toolcrib.UnknownNotification(method="newerThanYou", params={"a": 1})


def test_death_fails_every_open_call_at_once(client: Toolcrib) -> None:
    ends: list[Exception] = []

    def work() -> None:
        try:
            call(client, "slow")
        except ToolcribError as error:
            ends.append(error)

    notifications = client.notifications()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in threads:
        next(notifications)
    started = time.monotonic()
    with pytest.raises(SidecarClosed) as caught:
        client.dispatch("die")
    assert caught.value.exit_status == 7
    for thread in threads:
        thread.join(LIMIT)
    assert time.monotonic() - started < 1
    assert [type(end) for end in ends] == [SidecarClosed] * 4
    with pytest.raises(SidecarClosed, match="status 7"):
        client.status()
    assert list(notifications) == []


def test_death_by_a_signal_is_named(client: Toolcrib) -> None:
    os.kill(client.pid, signal.SIGKILL)
    with pytest.raises(SidecarClosed, match="signal 9"):
        client.status()


def test_closed_client_says_so(client: Toolcrib) -> None:
    client.close()
    client.close()
    assert not alive(client.pid)
    with pytest.raises(SidecarClosed, match="closed"):
        client.status()


def test_stubborn_sidecar_is_killed() -> None:
    client = Toolcrib(binary=MOCK, env={**os.environ, "MOCK_STUBBORN": "1"})
    client.close(timeout=0.05)
    assert not alive(client.pid)


def test_forgotten_client_leaves_no_process() -> None:
    client = Toolcrib(binary=MOCK)
    pid = client.pid
    del client
    gc.collect()
    wait_until(lambda: not alive(pid))


def test_failed_start_leaves_no_process(tmp_path: Path) -> None:
    env = {**os.environ, "MOCK_PROTOCOL": "2", "MOCK_PIDFILE": str(tmp_path / "pid")}
    with pytest.raises(VersionMismatch, match="version 1, .* speaks 2"):
        Toolcrib(binary=MOCK, env=env)
    assert not alive(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "raise RuntimeError", "os.kill(os.getpid(), 9)"])
def test_end_of_the_host_is_the_end_of_the_sidecar(end: str) -> None:
    program = f"""
import os, toolcrib
client = toolcrib.Toolcrib(binary={MOCK!r})
print(client.pid, flush=True)
{end}
"""
    host = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(toolcrib.__file__).parents[1])},
        timeout=LIMIT,
    )
    pid = int(host.stdout)
    wait_until(lambda: not alive(pid))


def test_program_that_is_no_sidecar_is_an_error() -> None:
    with pytest.raises(SidecarClosed, match="status 0"):
        Toolcrib(binary="true")


def test_binary_is_looked_for_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOOLCRIB_BINARY", MOCK)
    assert toolcrib.find_binary() == MOCK
    monkeypatch.setenv("TOOLCRIB_BINARY", "/nowhere/toolcrib")
    with pytest.raises(toolcrib.BinaryNotFound, match="TOOLCRIB_BINARY"):
        toolcrib.find_binary()
    assert toolcrib.find_binary(MOCK) == MOCK
    monkeypatch.delenv("TOOLCRIB_BINARY")
    monkeypatch.setattr("toolcrib._binary._packaged", lambda: iter([str(tmp_path / "toolcrib")]))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(toolcrib.BinaryNotFound, match="binary="):
        toolcrib.find_binary()
    (tmp_path / "toolcrib").symlink_to(MOCK)
    assert toolcrib.find_binary() == str(tmp_path / "toolcrib")

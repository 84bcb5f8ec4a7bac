"""The fixtures that all languages read and write alike."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolcrib import RpcError, _wire, types

WIRE = Path(__file__).parents[3] / "tests" / "wire"
FILES = [json.loads(path.read_text("utf-8")) for path in sorted(WIRE.glob("*.json"))]
CASES = [case for file in FILES for case in file.get("cases", [])]
ERRORS = [case for file in FILES for case in file.get("errors", [])]


def name(case: dict[str, Any]) -> str:
    return f"{case.get('type', 'error')}: {case['name']}"


def test_there_are_fixtures() -> None:
    assert len(CASES) > 50 and len(ERRORS) > 5


@pytest.mark.parametrize("case", CASES, ids=name)
def test_value_survives_reading_and_writing(case: dict[str, Any]) -> None:
    if case["type"] == "DispatchResult":
        read = types.dispatch_result_from_json
    else:
        read = getattr(types, case["type"]).from_json
    written = json.loads(_wire.encode(read(case["value"]).to_json()))
    expected = case.get("encoded", case["value"])
    assert written == expected
    # 1 == True == 1.0 in Python, but not on the wire.
    assert kinds(written) == kinds(expected)


def kinds(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: kinds(member) for key, member in value.items()}
    if isinstance(value, list):
        return [kinds(item) for item in value]
    return type(value)


@pytest.mark.parametrize("case", ERRORS, ids=name)
def test_error_is_understood(case: dict[str, Any]) -> None:
    error = _wire.read_error(case["error"])
    assert isinstance(error, RpcError)
    assert (error.code, error.message) == (case["error"]["code"], case["error"]["message"])
    assert (error.kind, error.retryable) == (case["kind"], case["retryable"])
    problems = None if error.data is None or error.data.problems is None else len(error.data.problems)
    assert problems == case["problems"]


def test_halves_of_surrogate_pairs_are_mended() -> None:
    assert json.loads(_wire.encode({"a": "\ud83d\ude42 \ud83d x \ude42"})) == {"a": "🙂 \ufffd x \ufffd"}


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError):
        _wire.encode({"a": float("nan")})


def test_message_over_the_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="67108864"):
        _wire.encode({"a": "x" * _wire.MAX_MESSAGE})

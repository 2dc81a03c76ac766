from __future__ import annotations

import io
import json

import pytest
import structlog

from firetrial_kit import logs, trace


@pytest.fixture
def stream() -> io.StringIO:
    found = io.StringIO()
    logs.configure("info", found)
    return found


def test_a_line_is_json_with_service_run_and_trace(stream: io.StringIO) -> None:
    with trace.bound("00-" + "ab" * 16 + "-" + "cd" * 8 + "-01", key="r-1"):
        logs.logger("runner").info("started", slots=2)
    line = json.loads(stream.getvalue())
    assert line["service"] == "runner"
    assert line["key"] == "r-1"
    assert line["trace_id"] == "ab" * 16
    assert line["slots"] == 2
    assert line["level"] == "info"
    assert "timestamp" in line


def test_nothing_of_one_message_is_left_for_the_next(stream: io.StringIO) -> None:
    with trace.bound(None, key="r-1"):
        pass
    logs.logger("runner").info("idle")
    assert "key" not in json.loads(stream.getvalue())


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("openai_api_key", "anything", "anything"),
        ("token", "abc", "abc"),
        ("url", "nats://user:pa55@host:4222", "pa55"),
        ("error", "401 for key sk-live_0123456789abcdef", "sk-live_0123456789abcdef"),
        ("header", "Bearer eyJhbGciOi.J9", "eyJhbGciOi.J9"),
    ],
)
def test_secrets_are_masked(stream: io.StringIO, name: str, value: str, secret: str) -> None:
    logs.logger("runner").info("call", **{name: value})
    assert secret not in stream.getvalue()
    assert logs.MASK in stream.getvalue()


def test_a_traceback_is_masked_too(stream: io.StringIO) -> None:
    try:
        raise ValueError("key sk-live_0123456789abcdef was refused")
    except ValueError:
        structlog.get_logger().exception("bug")
    assert "0123456789abcdef" not in stream.getvalue()
    assert "ValueError" in stream.getvalue()


def test_a_child_keeps_the_trace_and_a_bad_parent_starts_one() -> None:
    parent = trace.new_traceparent()
    assert trace.new_traceparent(parent)[3:35] == parent[3:35]
    assert trace.new_traceparent(parent) != parent
    assert trace.new_traceparent("00-zz")[3:35] != parent[3:35]

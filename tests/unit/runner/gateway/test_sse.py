"""Events are found however their stream is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.gateway import sse

EVENTS = [
    b'data: {"a": 1}\n\n',
    b'event: x\r\ndata: {"b": "\xc3\xa9"}\r\n\r\n',
    b": comment\n\n",
    b'data: {"c":\ndata: 3}\n\n',
    b"data: [DONE]\n\n",
]


@given(which=st.lists(st.sampled_from(EVENTS), max_size=10), size=st.integers(1, 20))
def test_events_come_whole(which: list[bytes], size: int) -> None:
    whole, events = b"".join(which), sse.Events()
    found = [event for n in range(0, len(whole), size) for event in events.feed(whole[n : n + size])]
    assert found == which
    assert events.end() == b""


def test_what_an_event_carries() -> None:
    assert [sse.data(event) for event in EVENTS] == [{"a": 1}, {"b": "é"}, None, {"c": 3}, None]
    assert sse.data(b"data: [1]\n\n") is None
    assert sse.data(b"data: " + b"[" * 100_000 + b"\n\n") is None


def test_what_is_left_at_the_end_is_not_lost() -> None:
    events = sse.Events()
    assert events.feed(b"data: 1\n\ndata: 2") == [b"data: 1\n\n"]
    assert events.end() == b"data: 2"


def test_an_event_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 1000)
    events = sse.Events()
    assert events.feed(b"x" * 1000) == []
    with pytest.raises(ValueError, match="more than 1000 bytes"):
        events.feed(b"x")

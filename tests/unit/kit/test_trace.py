"""One id for all that follows from one thing, recorded or not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit import trace
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.trace import Kind, Value

PARENT = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"


@dataclass
class Span:
    name: str
    parent: str | None
    traceparent: str
    attributes: dict[str, Value] = field(default_factory=dict)
    failed: str = ""
    ended: bool = False

    def note(self, attributes: Mapping[str, Value]) -> None:
        self.attributes |= attributes

    def fail(self, what: str) -> None:
        self.failed = self.failed or what

    def end(self) -> None:
        self.ended = True


class Recorded:
    """Keeps spans in memory."""

    def __init__(self) -> None:
        self.spans: dict[str, Span] = {}

    def begin(self, name: str, kind: Kind, parent: str | None, attributes: Mapping[str, Value]) -> Span:
        span = Span(name, parent, trace.new_traceparent(parent), dict(attributes))
        self.spans[name] = span
        return span


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    found = Recorded()
    trace.record_by(found)
    yield found
    trace.record_by(trace.NOWHERE)


def test_what_is_done_inside_is_a_child_and_what_comes_after_is_not(recorded: Recorded) -> None:
    with trace.bound(PARENT):
        assert trace.current() == PARENT, "no span yet: what follows is the parent's"
        with trace.span("outer"), trace.span("inner"):
            pass
        with trace.span("later"):
            pass
    outer, inner, later = (recorded.spans[name] for name in ("outer", "inner", "later"))
    assert (outer.parent, inner.parent, later.parent) == (PARENT, outer.traceparent, PARENT)
    assert all(span.ended and not span.failed for span in recorded.spans.values())


async def test_tasks_go_on_with_the_trace_they_began_in(recorded: Recorded) -> None:
    async def work(name: str) -> None:
        await asyncio.sleep(0)
        with trace.span(name):
            await asyncio.sleep(0)

    with trace.bound(PARENT), trace.span("all"):
        await asyncio.gather(*(asyncio.create_task(work(f"part {n}")) for n in range(3)))
    everything = recorded.spans["all"].traceparent
    assert {recorded.spans[f"part {n}"].parent for n in range(3)} == {everything}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (FiretrialError(Reason.DENIED, "https://user:hunter2@host"), "DENIED"),
        (ValueError("the key is sk-secret"), "ValueError"),
        (asyncio.CancelledError(), ""),
    ],
)
def test_a_failure_is_told_by_its_kind_alone(recorded: Recorded, error: BaseException, told: str) -> None:
    with pytest.raises(type(error)), trace.span("work"):
        raise error
    span = recorded.spans["work"]
    assert (span.failed, span.ended, span.attributes) == (told, True, {})


@given(st.text() | st.none())
def test_a_parent_that_is_none_begins_a_trace(parent: str | None) -> None:
    with trace.bound(parent):
        assert trace.FORM.fullmatch(trace.current())
        with trace.span("work") as span:
            assert span.traceparent[3:35] == trace.current()[3:35]


def test_what_a_caller_does_not_sample_stays_so() -> None:
    with trace.bound(PARENT[:-2] + "00"), trace.span("work"):
        assert trace.current().endswith("-00")

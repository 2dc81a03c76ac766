from __future__ import annotations

import re

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from firetrial.runner.v1 import events_pb2
from firetrial_kit import events, trace
from firetrial_kit.ids import digest
from firetrial_kit.testing import ManualClock


def test_a_fact_has_its_names_from_its_contract() -> None:
    parent = trace.new_traceparent()
    with trace.bound(parent):
        message = events.fact("runner", "r-1", events_pb2.RunFinished(), clock=ManualClock(), attempt=2)
    assert message.subject == "ft.evt.runner.v1.run_finished.r-1"
    assert message.message_id == "r-1:run_finished:2"
    assert message.headers["ce-type"] == "firetrial.runner.v1.RunFinished"
    assert message.headers["ce-source"] == "/firetrial/runner"
    assert message.headers["ce-time"] == "2026-01-01T00:00:00+00:00"
    assert message.headers["traceparent"][3:35] == parent[3:35]


def test_work_waits_for_its_pool() -> None:
    message = events.work("runner", "gpu", "r-1", events_pb2.RunRequested(), clock=ManualClock())
    assert message.subject == "ft.work.run.gpu"
    assert message.message_id == "r-1:work.run:1"


def test_what_no_contract_declares_cannot_be_published() -> None:
    with pytest.raises(ValueError, match=r"google\.protobuf\.Timestamp cannot be published by runner"):
        events.fact("runner", "r-1", Timestamp(), clock=ManualClock())
    with pytest.raises(ValueError, match=r"by judge: .* names runner"):
        events.fact("judge", "r-1", events_pb2.RunFinished(), clock=ManualClock())
    with pytest.raises(ValueError, match="names nobody"):  # a fact is no work
        events.work("runner", "gpu", "r-1", events_pb2.RunFinished(), clock=ManualClock())


@given(st.text(min_size=1))
def test_any_key_is_one_token_that_ends_no_line(key: str) -> None:
    (token,) = events.subject("parser", "task_created", key).split(".")[5:]
    assert key == "*" or re.fullmatch(r"[A-Za-z0-9_@=-]+", token)


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_a_digest_keeps_its_parts_apart(one: list[str], other: list[str]) -> None:
    assert (digest(*one) == digest(*other)) is (one == other)

from __future__ import annotations

import base64
import json

import pytest

from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_kit import events
from firetrial_kit.bus import Outgoing
from firetrial_kit.errors import FiretrialError
from firetrial_kit.testing import ManualClock
from firetrial_operate.webhooks.cloud_event import event_of


def told(attempt: int = 1) -> Outgoing:
    payload = events_pb2.RunFinished(run=run_pb2.Run(id="r-1", outcome=run_pb2.OUTCOME_SCORED))
    return events.fact("runner", "r-1", payload, clock=ManualClock(), attempt=attempt)


def test_a_fact_is_a_cloud_event_with_the_names_of_its_contract() -> None:
    message = told()
    event = event_of(message.subject, message.headers, message.data)
    body = json.loads(event.body)
    assert {name: body[name] for name in ("specversion", "id", "source", "type", "subject", "time")} == {
        "specversion": "1.0",
        "id": "r-1:run_finished:1",
        "source": "/firetrial/runner",
        "type": "firetrial.runner.v1.RunFinished",
        "subject": "r-1",
        "time": "2026-01-01T00:00:00+00:00",
    }
    assert body["datacontenttype"] == "application/json"
    assert (body["data"]["run"]["id"], body["data"]["run"]["outcome"]) == ("r-1", "OUTCOME_SCORED")
    assert body["data"]["run"]["trajectory_chunks"] == 0
    assert body["traceparent"] == event.traceparent
    assert event.key == "r-1"


def test_its_id_is_that_of_what_happened() -> None:
    one, again, other = (
        event_of(message.subject, message.headers, message.data) for message in (told(), told(), told(2))
    )
    assert one.webhook_id == again.webhook_id != other.webhook_id
    assert "." not in one.webhook_id


def test_a_message_newer_than_this_program_travels_as_it_came() -> None:
    headers = {**told().headers, "ce-type": "firetrial.runner.v9.RunDreamt"}
    body = json.loads(event_of("ft.evt.runner.v9.run_dreamt.r-1", headers, b"\x0a\x01x").body)
    assert base64.b64decode(body["data_base64"]) == b"\x0a\x01x"
    assert "data" not in body


def test_fields_newer_than_this_program_do_no_harm() -> None:
    message = told()
    future = message.data + b"\xfa\x7f\x03new"  # field 2047
    assert json.loads(event_of(message.subject, message.headers, future).body)["data"]["run"]["id"] == "r-1"


def test_what_is_no_event_is_refused() -> None:
    message = told()
    with pytest.raises(FiretrialError, match="has no ce-id"):
        event_of(message.subject, {**message.headers, "ce-id": ""}, message.data)
    with pytest.raises(FiretrialError, match=r"no firetrial\.runner\.v1\.RunFinished"):
        event_of(message.subject, message.headers, b"\xff\xff")

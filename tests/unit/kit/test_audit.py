from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest
import structlog

from firetrial.audit.v1.events_pb2 import CallAudited
from firetrial_kit.audit import Audit, Call
from firetrial_kit.bus import Consumer, Outgoing, Received
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.testing import ManualClock
from firetrial_kit.tokens import Means, Principal, Scope

CI = Principal("acme-ci", "acme", frozenset({Scope.SUBMIT}), Means.TOKEN)
METHOD = "/firetrial.runner.v1.RunnerService/CancelRun"


class Broker:
    """A bus that keeps what is published, or is away."""

    def __init__(self) -> None:
        self.messages: list[Outgoing] = []
        self.away = False

    async def publish(self, message: Outgoing) -> None:
        if self.away:
            raise FiretrialError(Reason.UNAVAILABLE, "NATS did not answer")
        self.messages.append(message)

    async def consume(self, consumer: Consumer, stop: object) -> None: ...

    def follow(self, subject: str) -> AbstractAsyncContextManager[AsyncIterator[Received]]:
        raise NotImplementedError

    def told(self) -> list[CallAudited]:
        return [CallAudited.FromString(message.data) for message in self.messages]


def call(clock: ManualClock, principal: Principal | None = CI) -> Call:
    made = Call(METHOD, "ipv4:127.0.0.1:4000", clock.now(), clock.monotonic(), "a" * 32, principal, "acme")
    made.resources += ["t-acme--r-1", "t-acme--r-1"]
    return made


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def audit(broker: Broker, clock: ManualClock) -> Audit:
    return Audit(broker, clock, structlog.get_logger())


async def test_it_says_who_did_what_and_what_came_of_it(
    audit: Audit, broker: Broker, clock: ManualClock
) -> None:
    made = call(clock)
    clock.advance(1.5)
    await audit.tell(made, "OK")
    (told,), (message,) = broker.told(), broker.messages
    assert message.subject == f"ft.evt.runner.v1.call_audited.{told.id}"
    assert told.id.startswith("t-acme--")
    assert (told.tenant, told.principal, told.code) == ("acme", "acme-ci", "OK")
    assert told.method == "firetrial.runner.v1.RunnerService/CancelRun"
    assert list(told.resources) == ["t-acme--r-1"]
    assert told.took.ToSeconds() == 1
    assert (told.peer, told.trace_id) == ("ipv4:127.0.0.1:4000", "a" * 32)


async def test_each_call_is_told_apart(audit: Audit, broker: Broker, clock: ManualClock) -> None:
    for _ in range(2):
        await audit.tell(call(clock), "OK")
    assert len({message.message_id for message in broker.messages}) == 2


async def test_what_cannot_be_stored_is_no_success(audit: Audit, broker: Broker, clock: ManualClock) -> None:
    broker.away = True
    with pytest.raises(FiretrialError) as caught:
        await audit.tell(call(clock), "OK")
    assert caught.value.reason is Reason.UNAVAILABLE
    await audit.tell_refusal(call(clock), "NOT_FOUND")


async def test_strangers_do_not_fill_the_broker(audit: Audit, broker: Broker, clock: ManualClock) -> None:
    for _ in range(1000):
        await audit.tell(call(clock, None), "UNAUTHENTICATED")
    assert len(broker.messages) == 60
    await audit.tell(call(clock), "OK")
    assert broker.told()[-1].untold == 940
    clock.advance(60)
    await audit.tell(call(clock, None), "UNAUTHENTICATED")
    last = broker.told()[-1]
    assert (last.untold, last.tenant, last.principal) == (0, "", "")


async def test_refused_calls_of_one_caller_do_not_either(
    audit: Audit, broker: Broker, clock: ManualClock
) -> None:
    other = Principal("umbra-ci", "umbra", frozenset({Scope.SUBMIT}), Means.TOKEN)
    for _ in range(1000):
        await audit.tell_refusal(call(clock), "PERMISSION_DENIED")
    await audit.tell_refusal(call(clock, other), "PERMISSION_DENIED")
    assert [each.principal for each in broker.told()] == ["acme-ci"] * 60 + ["umbra-ci"]
    assert broker.told()[-1].untold == 940
    for _ in range(100):
        await audit.tell(call(clock), "OK")  # what was done is always told
    assert len(broker.messages) == 161


async def test_a_refusal_that_is_not_stored_is_in_the_log(broker: Broker, clock: ManualClock) -> None:
    broker.away = True
    with structlog.testing.capture_logs() as lines:
        await Audit(broker, clock, structlog.get_logger()).tell_refusal(call(clock), "PERMISSION_DENIED")
    (line,) = lines
    assert (line["tenant"], line["principal"], line["method"]) == ("acme", "acme-ci", METHOD)
    assert (line["code"], line["peer"]) == ("PERMISSION_DENIED", "ipv4:127.0.0.1:4000")

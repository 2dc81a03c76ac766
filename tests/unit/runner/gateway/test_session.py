"""A run's part of the gateway."""

from __future__ import annotations

import pytest

from firetrial_runner.flood import Flow, Turnstile
from firetrial_runner.gateway.faults import Kind, Refusal
from firetrial_runner.gateway.session import Session


async def forget(text: str, told: dict[str, object]) -> None:
    """A trajectory that nobody reads."""


async def test_who_is_let_in() -> None:
    held = True
    turnstile = Turnstile(Flow(at_once=1, per_s=1, burst=1), lambda _: None)
    session = Session(forget, turnstile, lambda: held)
    session.admit(session.token)
    with pytest.raises(Refusal, match="run's own") as other:
        session.admit("another")
    held = False
    with pytest.raises(Refusal, match="lease is over") as lost:
        session.admit(session.token)
    held = True
    await session.close(1)
    with pytest.raises(Refusal, match="lives as long as the run") as over:
        session.admit(session.token)
    assert [caught.value.kind for caught in (other, lost, over)] == [Kind.TOKEN, Kind.UPSTREAM, Kind.TOKEN]

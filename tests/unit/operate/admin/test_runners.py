from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from firetrial_kit.attendance import MISSING_S, Attendant, attendants
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.testing import InMemoryState
from firetrial_operate.admin.runners import chosen, drain, there

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def one(instance: str, pool: str = "default", **more: object) -> Attendant:
    known = Attendant(instance, "host", "0.1.0", pool, 2, NOW, NOW)
    return replace(known, **more)  # type: ignore[arg-type]


async def test_only_who_said_so_lately_is_there() -> None:
    state = InMemoryState()
    for known in (one("b"), one("a"), one("gone", seen_at=NOW - timedelta(seconds=MISSING_S))):
        await attendants(state).create(known.instance, known)
    assert [found.instance for found in await there(state, NOW)] == ["a", "b"]
    assert (await drain(state, "a")).drain_asked
    with pytest.raises(FiretrialError) as caught:
        await drain(state, "nobody")
    assert caught.value.reason is Reason.NOT_FOUND


def test_runners_are_named_by_an_unmistakable_beginning_or_a_pool() -> None:
    alive = [one("ab-1"), one("ab-2"), one("c-1", "gpu")]
    assert [found.instance for found in chosen(alive, ["ab-1", "c"], "", every=False)] == ["ab-1", "c-1"]
    assert [found.instance for found in chosen(alive, [], "gpu", every=True)] == ["c-1"]
    assert len(chosen(alive, [], "", every=True)) == 3
    with pytest.raises(FiretrialError) as caught:
        chosen(alive, ["ab", "x"], "", every=False)
    assert [fault.value for fault in caught.value.faults] == ["ab", "x"]
    with pytest.raises(FiretrialError, match="other services") as caught:
        chosen([one("shared", alone=False)], ["shared"], "", every=False)
    assert caught.value.reason is Reason.PRECONDITION

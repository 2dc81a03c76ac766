"""Copies of state, and state from copies; that changes are copied is shown on a real broker."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.keeping import Installation, Steward, restore
from firetrial_kit.kv import decode
from firetrial_kit.objects import split_uri
from firetrial_kit.testing import InMemoryBus, InMemoryObjects, InMemoryState, ManualClock

STEWARD = Steward("judge", "results", lambda kind, _: kind != "offers")


def installation() -> Installation:
    return Installation(InMemoryState(), InMemoryObjects(), InMemoryBus(), ManualClock())


@given(st.text(min_size=1))
def test_a_copy_has_a_place_whatever_its_record_is_called(id_: str) -> None:
    place = STEWARD.place(f"run.{id_}")
    assert split_uri(f"results/{place}") == ("results", place)
    assert decode(place.removeprefix("state/judge/run/").removesuffix(".json")) == id_


def test_what_follows_from_the_rest_has_no_copy() -> None:
    assert STEWARD.keeps("run.a", b"")
    assert not STEWARD.keeps("offers.a", b"")
    assert not STEWARD.keeps("attendant.a", b"")


async def test_copies_are_put_back_and_what_stands_there_stays() -> None:
    to = installation()
    for key, value in {"run.a/../b": b"1", "run.c": b"old", "experiment.e.1": b"2"}.items():
        await to.objects.put("results", STEWARD.place(key), value, "application/json")
    await to.state.create("run.c", b"newer")

    async def said(_: Installation) -> list[str]:
        return ["done"]

    keeper = Steward("judge", "results", complete=said)
    done = await restore(keeper, to)
    assert (done.put_back, done.there, done.remarks) == (2, 1, ("done",))
    found = {key: entry.value for key in ("run.a/../b", "run.c", "experiment.e.1")
             if (entry := await to.state.get(key))}  # fmt: skip
    assert found == {"run.a/../b": b"1", "run.c": b"newer", "experiment.e.1": b"2"}
    again = await restore(keeper, to)
    assert (again.put_back, again.there) == (0, 3)

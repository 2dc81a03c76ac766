from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from firetrial_operate.doctor.apart import apart
from firetrial_operate.doctor.checks import BrokenError, Check, State, Told, chosen, run

Look = Callable[[], Awaitable[Told]]


def says(detail: str, cure: str = "") -> Look:
    async def look() -> Told:
        return Told(detail, cure)

    return look


async def breaks() -> Told:
    raise BrokenError("dead", "raise it")


async def hangs() -> Told:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def test_what_rests_on_a_broken_part_is_skipped_and_all_else_is_looked_at() -> None:
    found = await run(
        [
            Check("leaf", says("never"), needs=("middle",)),
            Check("middle", says("never"), needs=("base",)),
            Check("base", breaks),
            Check("warned", says("well", "look at it")),
            Check("after", says("well"), later=("leaf",), needs=("warned", "of nobody")),
        ]
    )
    assert [(one.name, one.state) for one in found] == [
        ("leaf", State.SKIP),
        ("middle", State.SKIP),
        ("base", State.FAIL),
        ("warned", State.WARN),
        ("after", State.OK),
    ]
    assert found[0].detail == "not looked at: middle comes first"
    assert (found[2].detail, found[2].cure, found[2].ok) == ("dead", "raise it", False)


async def test_each_has_its_own_time_and_all_have_one_together() -> None:
    began = time.monotonic()
    checks = [Check(f"slow-{n}", hangs, limit_s=0.1) for n in range(5)]
    checks += [Check("slowest", hangs, limit_s=60), Check("well", says("well"))]
    found = await run(checks, whole_s=0.5)
    assert time.monotonic() - began < 5
    assert [one.state for one in found] == [State.FAIL] * 6 + [State.OK]
    assert "no answer within" in found[0].detail
    assert found[5].detail == "the check did not end"


async def test_a_check_that_is_wrong_itself_silences_no_other() -> None:
    async def wrong() -> Told:
        return Told(next(iter(())))

    rests = Check("rests", says("never"), needs=("wrong",))
    found = await run([Check("wrong", wrong), rests, Check("well", says("well"))])
    assert [one.state for one in found] == [State.FAIL, State.SKIP, State.OK]


async def test_work_that_blocks_keeps_nobody_waiting() -> None:
    def block() -> Told:
        time.sleep(30)
        return Told("late")

    async def look() -> Told:
        return await apart(block)

    began = time.monotonic()
    (found,) = await run([Check("blocked", look, limit_s=0.1)])
    assert found.state is State.FAIL
    assert time.monotonic() - began < 5


def test_what_is_wanted_comes_with_what_it_needs_and_nothing_else() -> None:
    checks = [
        Check("broker", says("")),
        Check("broker.login", says(""), needs=("broker",)),
        Check("brokers", says("")),
        Check("clock.broker", says(""), needs=("broker.login",), later=("objects",)),
        Check("objects", says("")),
    ]
    assert [check.name for check in chosen(checks, ["clock"])] == ["broker", "broker.login", "clock.broker"]
    assert [check.name for check in chosen(checks, ["broker"])] == ["broker", "broker.login"]
    assert chosen(checks, []) == checks

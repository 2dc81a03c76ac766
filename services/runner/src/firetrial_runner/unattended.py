"""Runs that nobody is there to take, and sealed tests that nobody makes: they wait, and say so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from firetrial_kit.attendance import Attendant
from firetrial_kit.clock import Clock
from firetrial_runner import run as runs
from firetrial_runner.kinds.sealed import TrialRecord, trial_id
from firetrial_runner.records import Books
from firetrial_runner.run import Run, RunState, Sealed

_MOST = 500
"""Runs that are written of in one look."""


def nobody(pool: str) -> str:
    """What a run waits for whose pool has no runner."""
    return f"a runner: none that takes runs of pool {pool} is there"


def changes(waiting: Iterable[Run], pools: frozenset[str]) -> Iterator[tuple[Run, str]]:
    """Each queued run whose word about this is to change, and the new one; what waits for more says that."""
    for run in waiting:
        told = nobody(run.pool)
        what = "" if run.pool in pools else told
        if run.waiting_for in {"", told} and run.waiting_for != what:
            yield run, what


def lacking(sealed: Sealed, trial: TrialRecord | None, pools: frozenset[str]) -> str:
    """What a sealed test waits for; "" where it is being made, or only waits for its turn."""
    if sealed.pool not in pools:
        return f"a runner: none that makes sealed tests of pool {sealed.pool} is there"
    if trial is None or trial.until is not None or trial.tested is not None or not trial.waits_for:
        return ""
    return f"{trial.waits_for}, for its sealed test"


async def tell(books: Books, clock: Clock, going_on: Sequence[Run]) -> None:
    """Write it into the runs, as far as runners have said that they are there."""
    queued = [run for run in going_on if run.state is RunState.QUEUED]
    tested = [(run, run.sealed) for run in going_on if run.state is RunState.CONCLUDED and run.sealed]
    if not queued and not tested:
        return
    there = await books.attendants.all()
    for run, what in list(changes(queued, pools_of(there, clock)))[:_MOST]:
        await books.change_run(run.id, partial(runs.waits, what=what))
    await _tell_tests(books, tested, testing(there, clock))


async def _tell_tests(books: Books, tested: Iterable[tuple[Run, Sealed]], pools: frozenset[str]) -> None:
    told = 0
    for run, sealed in tested:
        what = lacking(sealed, await books.tests.find(trial_id(run.id, sealed.attempt)), pools)
        if what != run.waiting_for and told < _MOST:
            await books.change_run(run.id, partial(runs.untested, what=what))
            told += 1


async def served(books: Books, clock: Clock) -> frozenset[str]:
    """The pools that somebody takes runs of now."""
    return pools_of(await books.attendants.all(), clock)


def pools_of(attendants: Iterable[Attendant], clock: Clock) -> frozenset[str]:
    """The pools that somebody takes runs of."""
    now = clock.now()
    return frozenset(one.pool for one in attendants if one.there(now) and one.slots and not one.draining)


def testing(attendants: Iterable[Attendant], clock: Clock) -> frozenset[str]:
    """The pools that somebody makes sealed tests of."""
    now = clock.now()
    return frozenset(one.pool for one in attendants if one.there(now) and one.would_take("test"))

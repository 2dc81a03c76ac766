"""Runs that nobody is there to take: they wait, and say so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from firetrial_kit.attendance import Attendant
from firetrial_kit.clock import Clock
from firetrial_runner import run as runs
from firetrial_runner.records import Books
from firetrial_runner.run import Run, RunState

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


async def tell(books: Books, clock: Clock, going_on: Iterable[Run]) -> None:
    """Write it into the runs, as far as runners have said that they are there."""
    waiting = [run for run in going_on if run.state is RunState.QUEUED]
    if not waiting:
        return
    known = [await books.attendants.find(id_) for id_ in await books.attendants.ids()]
    there = [one for one in known if one]
    for run, what in list(changes(waiting, pools_of(there, clock)))[:_MOST]:
        await books.change_run(run.id, partial(runs.waits, what=what))


def pools_of(attendants: Iterable[Attendant], clock: Clock) -> frozenset[str]:
    """The pools that somebody takes runs of."""
    now = clock.now()
    return frozenset(one.pool for one in attendants if one.there(now) and one.slots and not one.draining)

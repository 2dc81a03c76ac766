"""Looks of graders: sealed work over a submission, whose asker waits for the answer and never comes back."""

from __future__ import annotations

import re
from datetime import timedelta

from firetrial_kit.clock import Clock
from firetrial_runner.records import Books

START = "look-"
KEPT = timedelta(hours=1)
"""For as long what came of a look is kept once it is told: a message may come again."""
_LOOK = re.compile(r"look-[0-9a-f]{32}")
_MOST = 500
"""Records that are looked at in one sweep."""


def is_look(run_id: str) -> bool:
    """Whether it is no run but a look that a test is for."""
    return _LOOK.fullmatch(run_id) is not None


async def forget(books: Books, clock: Clock, gone: set[str]) -> None:
    """Remove the records of looks that were told an hour ago. `gone` are those removed, and grows.

    What they left in the store is `unused` then, by the module `rebuild`: a runner may not delete there.
    """
    latest = clock.now() - KEPT
    ids = [id_ for id_ in await books.tests.ids() if id_ not in gone and is_look(id_.rpartition("-")[0])]
    for id_ in ids[:_MOST]:
        record = await books.tests.find(id_)
        if record is not None:
            # Of a version that did not tell the time: it is old.
            waits = record.tested is None or (record.ended_at is not None and record.ended_at > latest)
            if waits or await books.runs.find(id_.rpartition("-")[0]):
                continue
            await books.forget_test(id_)
        gone.add(id_)

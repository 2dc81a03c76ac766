"""Which submission a pilot is of: of two jobs with one name, the one of an older submission leaves.

A process that is frozen just before it submits, and goes on when another has seen to the pool for long, makes
one job too many. No scheduler but Slurm would hold it back: it looks for itself before it takes anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from firetrial_kit.records import Records
from firetrial_kit.state import State
from firetrial_runner.pilots.ledger import Ledger

VARIABLE = "FIRETRIAL_RUNNER_BERTH"


def ledgers(state: State) -> Records[Ledger]:
    """What is written down of all pools' pilots, in the runner's state."""
    return Records(state, "pilots", Ledger)


def shown(name: str, mark: int) -> str:
    """What a job is given, to know itself by."""
    return f"{name}/{mark}"


async def is_taken(state: State, environ: Mapping[str, str]) -> bool:
    """Whether this job's name is a newer one's; not so where nothing is known of either."""
    name, _, mark = environ.get(VARIABLE, "").partition("/")
    ledger = await ledgers(state).find(environ.get("FIRETRIAL_RUNNER_POOL", ""))
    return bool(ledger and mark.isdecimal() and not ledger.owns(name, int(mark)))

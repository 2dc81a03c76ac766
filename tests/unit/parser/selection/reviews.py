"""Reviews made by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count

from firetrial_kit.objects import ObjectRef
from firetrial_parser.selection.review import Decision, Kind, ReviewRecord, TreeVersion, Verdict

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
REF = ObjectRef("papers/p/tree.json", "0" * 64, 1, "application/json")
_ticks = count()


def now() -> datetime:
    """A moment after all before."""
    return BEGAN + timedelta(seconds=next(_ticks))


def decision(reviewer: str, verdict: Verdict, reason: str = "so it is") -> Decision:
    return Decision(reviewer, verdict, reason, now())


def version(number: int, by: str = "extraction", faults: int = 0) -> TreeVersion:
    return TreeVersion(number, REF, REF, by, now(), faults=faults)


def review(id_: str, *decisions: Decision, faults: int = 0) -> ReviewRecord:
    """A tree's review in its first version."""
    return ReviewRecord(
        id_,
        Kind.TREE,
        "A study",
        BEGAN,
        BEGAN,
        "p",
        versions=(version(1, faults=faults),),
        decisions=decisions,
    )

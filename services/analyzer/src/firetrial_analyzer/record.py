"""What the analyzer keeps about an experiment: how many slots have ended, where its rows lie, and the report.

The rows are a log in the object store, and the record names its parts; those of the newest runs wait in the
record itself, in `tail`, until there are enough for a part. Equal numbers of small parts become a larger one,
so that a record names a few dozen parts however many runs there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from firetrial_analyzer.columns import Row, key
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef

# Rows of a part as it is first written, and parts of a size that are merged into one.
TAIL = 32
FAN = 8
# Larger parts are left alone: an object is read whole, and at most 64 MiB of it.
LARGEST = TAIL * FAN**4


@dataclass(frozen=True, slots=True)
class Plan:
    """What the routing slip says of the experiment.

    `probe` is the agent that answers from its model's memory, `release` the benchmark that the experiment
    belongs to; both are empty where there is none.
    """

    expected_runs: int
    agents: tuple[str, ...]
    repeats: int
    model: str
    probe: str = ""
    release: str = ""


NO_PLAN = Plan(0, (), 0, "")


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that lie in the object store. A part never changes."""

    ref: ObjectRef
    rows: int

    @property
    def size(self) -> int:
        """0 for a part of about TAIL rows, 1 for one of FAN such, and so on."""
        size, rows = 0, self.rows // TAIL
        while rows >= FAN:
            size, rows = size + 1, rows // FAN
        return size


@dataclass(frozen=True, slots=True)
class ReportRecord:
    """State of an experiment's report.

    `ended` counts slots. `inputs` is the identity of all rows, the same in whatever order they came, and
    `rendered` that of those which the stored formats cover; `renderings` counts how often that changed.
    """

    experiment_id: str
    changed_at: datetime
    plan: Plan = NO_PLAN
    parts: tuple[Part, ...] = ()
    tail: tuple[Row, ...] = ()
    ended: int = 0
    inputs: str = ""
    rendered: str = ""
    renderings: int = 0
    formats: Mapping[str, ObjectRef] = field(default_factory=dict)
    failure: str = ""

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts) + len(self.tail)

    @property
    def all_ended(self) -> bool:
        return 0 < self.plan.expected_runs <= self.ended

    @property
    def complete(self) -> bool:
        """Whether every slot has ended and the stored report covers them all."""
        return self.all_ended and self.rendered == self.inputs

    def with_plan(self, plan: Plan) -> ReportRecord:
        """The record once `plan` is known; the slip that knows more runs wins."""
        return replace(self, plan=plan) if plan.expected_runs > self.plan.expected_runs else self

    def with_row(self, row: Row, *, ends_slot: bool) -> ReportRecord:
        """The record after one more row, which it must not hold yet."""
        return replace(
            self, tail=(*self.tail, row), ended=self.ended + ends_slot, inputs=mixed(self.inputs, key(row))
        )

    def with_part(self, part: Part) -> ReportRecord:
        """The record once the oldest rows of its tail lie in `part`."""
        return replace(self, parts=(*self.parts, part), tail=self.tail[part.rows :])

    def mergeable(self) -> tuple[Part, ...]:
        """FAN parts of a size, the smallest first, that are to become one; empty where there are too few."""
        for size in sorted({part.size for part in self.parts if part.rows < LARGEST}):
            alike = [part for part in self.parts if part.size == size]
            if len(alike) >= FAN:
                return tuple(alike[:FAN])
        return ()

    def with_merged(self, small: Sequence[Part], large: Part) -> ReportRecord:
        """The record once the rows of `small` lie in `large`; unchanged where some of them are gone."""
        if not set(small) <= set(self.parts):
            return self
        return replace(self, parts=(*(part for part in self.parts if part not in small), large))

    def with_report(self, inputs: str, formats: Mapping[str, ObjectRef]) -> ReportRecord:
        """The record once `formats` cover the rows that `inputs` names."""
        if self.rendered == inputs:
            return self
        return replace(
            self, rendered=inputs, renderings=self.renderings + 1, formats=dict(formats), failure=""
        )


def mixed(inputs: str, row: tuple[str, str]) -> str:
    """The identity of a set of rows with one more: the exclusive or of their hashes, 32 hex digits."""
    return f"{int(inputs or '0', 16) ^ int(digest(*row, length=32), 16):032x}"

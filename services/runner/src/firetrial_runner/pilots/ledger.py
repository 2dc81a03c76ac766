"""What is written down of a pool's pilots: who sees to them, and which jobs are about to be submitted.

A pilot has one of `most` names, its berth, so that a job that was submitted and not told of is found by its
name, and a scheduler that runs no two jobs of one name at a time (Slurm) holds the maximum by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

PREFIX = "ft"
HELD_S = 120.0
"""Seconds after which a submission of which nothing came was none: a scheduler's answer takes 60 at most."""


@dataclass(frozen=True, slots=True)
class Intention:
    """A job that is to be submitted. `job_id` is known once the scheduler has told it."""

    at: datetime
    job_id: str = ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """`site` tells this installation's jobs from another's. `holder` sees to the pool until `until`.

    `marks` are of the newest submission under each name, counted by `submissions`. A job that shows an older
    one is of a process that lost the pool while it submitted, and leaves: see `owns`.
    """

    pool: str
    site: str
    holder: str = ""
    until: datetime | None = None
    intended: Mapping[str, Intention] = field(default_factory=dict)
    marks: Mapping[str, int] = field(default_factory=dict)
    submissions: int = 0

    @property
    def tag(self) -> str:
        """How the names of the pool's jobs begin."""
        return f"{PREFIX}-{self.pool}-{self.site}-"

    def berth(self, number: int) -> str:
        """The name of the pilot `number`, from 1 on."""
        return f"{self.tag}{number}"

    def number(self, name: str) -> int:
        """Which pilot it is; 0 for a name that is none."""
        told = name.removeprefix(self.tag)
        return int(told) if told != name and told.isdecimal() else 0

    def held_by_other(self, holder: str, now: datetime) -> bool:
        """Whether another sees to the pool."""
        return self.holder not in {"", holder} and self.until is not None and self.until > now

    def held(self, holder: str, now: datetime, ttl_s: float) -> Ledger:
        """The pool in the hands of `holder`."""
        return replace(self, holder=holder, until=now + timedelta(seconds=ttl_s))

    def let_go(self, holder: str, now: datetime) -> Ledger | None:
        """The pool in nobody's hands; None where it is in another's."""
        return replace(self, until=now) if self.holder == holder else None

    def intending(self, name: str, now: datetime) -> Ledger:
        """A job is about to be submitted."""
        mark = self.submissions + 1
        return replace(
            self,
            intended={**self.intended, name: Intention(now)},
            marks={**self.marks, name: mark},
            submissions=mark,
        )

    def owns(self, name: str, mark: int) -> bool:
        """Whether the job of that name and mark is the newest, as far as that is known."""
        return self.marks.get(name, mark) == mark

    def submitted(self, name: str, job_id: str) -> Ledger:
        """The scheduler has taken the job."""
        intention = self.intended.get(name)
        if intention is None:  # another had the pool meanwhile, and has seen the job
            return self
        return replace(self, intended={**self.intended, name: replace(intention, job_id=job_id)})

    def without(self, names: tuple[str, ...]) -> Ledger:
        """Nothing is to be submitted under these names."""
        kept = {name: told for name, told in self.intended.items() if name not in names}
        return replace(self, intended=kept)

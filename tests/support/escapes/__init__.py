"""What hostile agents try: a catalogue, and the lab in which each attempt is a whole run.

An attempt is a program that `hostile.py` helps, and says how its run must end. The lab runs it through the
whole runner in a real sandbox and then looks whether anything came of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from firetrial_runner.run import Outcome
from firetrial_runner.sandbox.port import Termination

MIB = 1024**2


@dataclass(frozen=True, slots=True)
class Attempt:
    """`what` says what it goes for.

    `lines` are Python expressions that must each raise; `source` is a program before them. Where no outcome is
    given, the run must conclude that every line was refused. `ends` is None where it may end in any way, and
    `loose` says that its outcome may be any.
    """

    name: str
    what: str
    lines: tuple[str, ...] = ()
    source: str = ""
    ends: Termination | None = Termination.EXITED
    outcome: Outcome | None = None
    loose: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)
    network: Mapping[str, Any] = field(default_factory=dict)
    beside_others: bool = False
    """Another run goes on beside it and must not be disturbed."""
    alone: bool = False
    """Others would leave something that it looks for."""
    says: str = ""
    """Part of the run's conclusion, where that is another."""

    @property
    def program(self) -> str:
        return f"from hostile import *\n{self.source}\n{self._tried}conclude()\n"

    @property
    def _tried(self) -> str:
        return "".join(f"refused(lambda: {line})\n" for line in self.lines)

    @property
    def is_plain(self) -> bool:
        """Whether it is lines alone, so that others may be tried in the same run."""
        return replace(self, name="", what="", lines=()) == Attempt("", "")


@dataclass(frozen=True, slots=True)
class Together(Attempt):
    """Plain attempts, one after another in one run, which says how many lines of each were refused."""

    attempts: tuple[Attempt, ...] = ()

    @property
    def program(self) -> str:
        tried = "".join(f"{each._tried}told({each.name!r})\n" for each in self.attempts)
        return f"from hostile import *\n{tried}conclude()\n"


def lines(text: str) -> tuple[str, ...]:
    """The lines of a text that are not empty; what is indented further goes on with the line before."""
    joined = re.sub(r"\n {9,}", " ", text)
    return tuple(filter(None, map(str.strip, joined.splitlines())))

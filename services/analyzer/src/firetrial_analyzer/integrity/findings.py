"""What is said about the integrity of a run."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from firetrial_analyzer.taxonomy.steps import Citation


class Trace(StrEnum):
    """Where a number of a conclusion comes from."""

    TRACED = "traced"
    DERIVED = "derived"
    UNTRACED = "untraced"
    NOT_A_RESULT = "not_a_result"
    GIVEN = "given"


@dataclass(frozen=True, slots=True)
class NumberTrace:
    """A number as it is written from `start` to `end` (in characters) of the conclusion.

    `source` says for people where it was found or how it follows; it is empty where it does not.
    """

    text: str
    start: int
    end: int
    trace: Trace
    source: str = ""
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a reader of the conclusion must know, and the steps that show it."""

    name: str
    statement: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Integrity:
    """`numbers` in the order of the conclusion; `complete` where outputs and files were read to their end.

    Two runs that printed and concluded the same have the same `fingerprint`; it is empty where there is too
    little to compare.
    """

    numbers: tuple[NumberTrace, ...]
    findings: tuple[Finding, ...]
    complete: bool
    fingerprint: str = ""

    def count(self, trace: Trace) -> int:
        """How many numbers have this trace."""
        return Counter(number.trace for number in self.numbers)[trace]

    @property
    def untraced_share(self) -> float | None:
        """Untraced of the numbers that are results, 0 to 1; None where there are none."""
        results = sum(self.count(trace) for trace in (Trace.TRACED, Trace.DERIVED, Trace.UNTRACED))
        return self.count(Trace.UNTRACED) / results if results else None

"""How far two people agree: the raw share, and Cohen's kappa, each with a 95 % interval.

Kappa is Cohen's (1960), (o - e) / (1 - e) for the observed and the expected share. Its interval is taken from
the posterior of the four cells under Jeffreys' prior (Dirichlet with 1/2 each), which stays honest where few
rounds all agree; that of the raw share is Wilson's (1927).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from firetrial_parser.selection.review import ReviewRecord, Verdict, pairs, person

DRAWS = 4_000
_Z = 1.959964
_PRIOR = 0.5


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value in its interval; all None where it is undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rounds by the two verdicts."""

    both_accept: int = 0
    both_reject: int = 0
    first_accepts: int = 0
    second_accepts: int = 0

    @property
    def rounds(self) -> int:
        return self.both_accept + self.both_reject + self.first_accepts + self.second_accepts


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of two people, or of whoever decided first with whoever decided second (names "")."""

    first: str
    second: str
    table: Table
    raw: Estimate
    kappa: Estimate
    resolved: int
    disputed: int


def agreement(records: Iterable[ReviewRecord]) -> tuple[Agreement, list[Agreement]]:
    """Over all rounds with two decisions, and for each two people by name."""
    overall: list[_Round] = []
    by_pair: dict[tuple[str, str], list[_Round]] = {}
    names: dict[str, str] = {}
    for record in records:
        for first, second, resolution in pairs(record):
            overall.append(_Round(first.verdict, second.verdict, resolution is not None))
            left, right = sorted((first, second), key=lambda one: person(one.reviewer))
            for one in (left, right):
                names.setdefault(person(one.reviewer), one.reviewer)
            key = person(left.reviewer), person(right.reviewer)
            by_pair.setdefault(key, []).append(_Round(left.verdict, right.verdict, resolution is not None))
    two = [_of(names[a], names[b], rounds) for (a, b), rounds in sorted(by_pair.items())]
    return _of("", "", overall), two


@dataclass(frozen=True, slots=True)
class _Round:
    first: Verdict
    second: Verdict
    resolved: bool


def _of(first: str, second: str, rounds: list[_Round]) -> Agreement:
    counts = Counter((one.first, one.second) for one in rounds)
    yes, no = Verdict.ACCEPT, Verdict.REJECT
    table = Table(counts[yes, yes], counts[no, no], counts[yes, no], counts[no, yes])
    resolved = sum(one.resolved for one in rounds)
    apart = table.first_accepts + table.second_accepts
    return Agreement(first, second, table, raw(table), kappa(table), resolved, apart - resolved)


def raw(table: Table) -> Estimate:
    """Share of rounds with the same verdict."""
    n = table.rounds
    if not n:
        return Estimate()
    share = (table.both_accept + table.both_reject) / n
    middle = share + _Z**2 / (2 * n)
    spread = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    under = 1 + _Z**2 / n
    return Estimate(share, max(0.0, (middle - spread) / under), min(1.0, (middle + spread) / under))


def kappa(table: Table, *, seed: int = 0, draws: int = DRAWS) -> Estimate:
    """Cohen's kappa, undefined where both always say one and the same; a seed draws one interval."""
    cells = (table.both_accept, table.first_accepts, table.second_accepts, table.both_reject)
    value = _kappa(*cells)
    if value is None:
        return Estimate()
    drawn = random.Random(seed)  # noqa: S311 - no secret
    found = sorted(
        one
        for _ in range(draws)
        if (one := _kappa(*(drawn.gammavariate(cell + _PRIOR, 1.0) for cell in cells))) is not None
    )
    return Estimate(value, found[int(0.025 * len(found))], found[int(0.975 * len(found))])


def _kappa(both: float, first: float, second: float, neither: float) -> float | None:
    total = both + first + second + neither
    if not total:
        return None
    observed = (both + neither) / total
    expected = ((both + first) * (both + second) + (neither + first) * (neither + second)) / total**2
    return (observed - expected) / (1 - expected) if expected < 1 else None

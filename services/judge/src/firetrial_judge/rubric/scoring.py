"""What grades are worth: conditions counted, weighted trees averaged.

A leaf's score is from 0 to 1, or None where its judge gave no usable answer. None is never taken for 0: what
would rest on it is None, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from firetrial_judge.rubric.tree import Condition, Node, Rubric
from firetrial_kit.errors import Fault, check, invalid

Scores = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Tally:
    """Questions passed of all; `unscored` of them have no answer.

    With p = passed / total: strict is p = 1, almost is p ≥ 0.9. None without questions or with unscored ones.
    """

    passed: int
    total: int
    unscored: int = 0

    @property
    def p(self) -> float | None:
        return self.passed / self.total if self._known else None

    @property
    def strict(self) -> bool | None:
        return self.passed == self.total if self._known else None

    @property
    def almost(self) -> bool | None:
        return 10 * self.passed >= 9 * self.total if self._known else None

    @property
    def _known(self) -> bool:
        return self.total > 0 and not self.unscored


@dataclass(frozen=True, slots=True)
class Conditions:
    """The tally of each condition that has questions, counted apart: none gates another."""

    tallies: Mapping[Condition, Tally]

    @property
    def valid(self) -> bool | None:
        """C1 ∧ C2 ∧ C3, strictly: False where one fails whatever the others are, else None if one is None."""
        return _all([tally.strict for tally in self._all()])

    @property
    def all_strict(self) -> bool | None:
        """Whether every condition that there is holds strictly; None without conditions."""
        return _all([tally.strict for tally in self.tallies.values()])

    @property
    def all_almost(self) -> bool | None:
        """The same, with p ≥ 0.9 enough."""
        return _all([tally.almost for tally in self.tallies.values()])

    def as_dict(self) -> dict[str, Any]:
        """Lists in the order C1, C2, C3, None where a condition has no questions."""
        tallies = self._all()
        return {
            "p": [t.p for t in tallies],
            "strict": [t.strict for t in tallies],
            "almost": [t.almost for t in tallies],
            "valid": self.valid,
        }

    def _all(self) -> list[Tally]:
        return [self.tallies.get(condition, Tally(0, 0)) for condition in Condition]


@dataclass(frozen=True, slots=True)
class Weighted:
    """Score of the root, of every node by id, and of the root with one category's leaves alone."""

    score: float | None
    nodes: Scores
    by_category: Scores


def _all(grades: list[bool | None]) -> bool | None:
    """False where one is, else None where one is or there are none."""
    return False if False in grades else None if None in grades or not grades else True


def passes(score: float) -> bool:
    """A question passes whole or not at all."""
    return score >= 1.0


def tally(scores: list[float | None]) -> Tally:
    """Count questions."""
    known = [score for score in scores if score is not None]
    return Tally(sum(map(passes, known)), len(scores), len(scores) - len(known))


def conditions(rubric: Rubric, scores: Scores) -> Conditions:
    """Every question counts alike within its condition; those without one count in none."""
    by_condition: dict[Condition, list[float | None]] = {}
    for leaf in rubric.leaves:
        if leaf.condition:
            by_condition.setdefault(leaf.condition, []).append(scores.get(leaf.id))
    return Conditions({c: tally(by_condition[c]) for c in Condition if c in by_condition})


def weighted(rubric: Rubric, scores: Scores) -> Weighted:
    """A node's score is Σ weight × child's score ÷ Σ weight of the children (PaperBench).

    By category: the same of the tree that is left when all other leaves are cut, and groups with no leaf.
    """
    nodes = _means(rubric, scores, lambda _: True)
    categories = sorted({leaf.category for leaf in rubric.leaves if leaf.category})
    root = rubric.nodes[0].id
    by_category = {c: _means(rubric, scores, lambda leaf, c=c: leaf.category == c) for c in categories}  # type: ignore[misc]
    return Weighted(nodes[root], nodes, {c: means[root] for c, means in by_category.items() if root in means})


def _means(rubric: Rubric, scores: Scores, counted: Callable[[Node], bool]) -> dict[str, float | None]:
    """The score of each node that has counted leaves, from the last node up to the root."""
    size = len(rubric.nodes)
    sums, weights, unscored = [0.0] * size, [0.0] * size, [False] * size
    means: dict[str, float | None] = {}
    for index in range(size - 1, -1, -1):
        node = rubric.nodes[index]
        if not (counted(node) if node.leaf else weights[index]):
            continue
        mean = None if unscored[index] else sums[index] / weights[index] if weights[index] else None
        value = scores.get(node.id) if node.leaf else mean
        means[node.id] = value
        if node.parent >= 0:
            weights[node.parent] += node.weight
            sums[node.parent] += node.weight * (value or 0.0)
            unscored[node.parent] |= value is None
    return means


def read_tallies(given: Any) -> Conditions:
    """{"C1": [passed, total], …} as counted elsewhere. Raises INVALID with every fault."""
    field = "passed_over_total"
    if not isinstance(given, dict) or not given:
        raise invalid("the counts", [Fault(field, str(given)[:40], 'must be {"C1": [passed, total], …}')])
    faults, tallies = [], {}
    for name, pair in given.items():
        if name not in list(Condition):
            faults.append(Fault(f"{field}.{name}", str(name), f"must be one of {', '.join(Condition)}"))
        elif not _is_count(pair):
            faults.append(
                Fault(f"{field}.{name}", str(pair)[:40], "must be whole numbers, 0 ≤ passed ≤ total")
            )
        else:
            tallies[Condition(name)] = Tally(*pair)
    check("the counts", faults)
    return Conditions(tallies)


def _is_count(pair: Any) -> bool:
    whole = isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair)
    return whole and 0 <= pair[0] <= pair[1]

"""Grades and agreement for scripts and for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from firetrial_judge.estimate import Estimate
from firetrial_judge.rubric.agreement import Agreement
from firetrial_judge.rubric.grade import Totals, totals
from firetrial_judge.rubric.grading import Graded
from firetrial_judge.rubric.submission import Submission
from firetrial_judge.rubric.tree import Rubric

_NAMES = ("C1 integrity", "C2 completeness", "C3 sufficiency")
_SHOWN = 100


def as_dict(rubric: Rubric, submission: Submission, graded: Graded) -> dict[str, Any]:
    """JSON-ready: what `rubric score` answers for a tree, with every question's grade and what it cost."""
    found = totals(rubric, graded.leaves)
    return {
        "score": found.weighted.score,
        "by_category": dict(found.weighted.by_category),
        "passed": found.passed.p,
        "passed_over_total": {c: [t.passed, t.total] for c, t in found.conditions.tallies.items()},
        **(found.conditions.as_dict() if found.conditions.tallies else {}),
        "leaves": [asdict(leaf) | {"score": leaf.score} for leaf in graded.leaves],
        "submission_sha256": submission.sha256,
        "flags": [flag for flag, words in graded.flags.items() if words],
        "notes": [*submission.notes, *(note for words in graded.flags.values() for note in words)],
        "usage": asdict(graded.spent),
    }


def lines(rubric: Rubric, submission: Submission, graded: Graded) -> Iterator[str]:
    """The same, a line each."""
    questions = {leaf.id: leaf.question for leaf in rubric.leaves}
    for leaf in graded.leaves:
        yield f"{leaf.state:8} {_short(questions[leaf.id])}"
        yield f"         {leaf.rationale}"
        if leaf.evidence:
            yield f"         {', '.join(leaf.evidence)}"
    yield from _totals(totals(rubric, graded.leaves))
    yield from submission.notes
    for flag, words in graded.flags.items():
        yield from (f"{flag}: {note}" for note in words)
    yield f"{graded.spent.calls} calls"


def agreement_lines(found: Agreement) -> Iterator[str]:
    """How far a judge agrees with people, with 95 % intervals, a line each."""
    yield f"{found.leaves} questions compared, {found.unscored} left out: without a score on one side"
    for name in ("accuracy", "precision", "recall", "f1", "kappa", "root_error"):
        yield f"{name.replace('_', ' ')} {_estimate(getattr(found, name))}"
    for category, estimate in found.by_category.items():
        yield f"  accuracy on {category} {_estimate(estimate)}"


def _estimate(estimate: Estimate) -> str:
    interval = f" ({estimate.low:.3f} to {estimate.high:.3f})" if estimate.low is not None else ""
    return _figure(estimate.value) + interval


def _totals(found: Totals) -> Iterator[str]:
    yield f"score {_figure(found.weighted.score)}"
    for category, score in found.weighted.by_category.items():
        yield f"  {category} {_figure(score)}"
    tallies = found.conditions.tallies
    for name in _NAMES:
        tally = next((tally for condition, tally in tallies.items() if name.startswith(condition)), None)
        if tally:
            yield f"{name}: {tally.passed} of {tally.total}, p {_figure(tally.p)}"
    if tallies:
        yield f"valid {_word(found.conditions.valid)}"


def _figure(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _word(value: bool | None) -> str:
    return "undefined" if value is None else "yes" if value else "no"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"

"""`firetrial rubric score`: counts or a graded tree in, what they are worth out."""

from __future__ import annotations

from typing import Any

from firetrial_judge.rubric.reading import Reading, read
from firetrial_judge.rubric.scoring import Scores, conditions, read_tallies, weighted
from firetrial_kit.errors import Fault

_CLOSE = 1e-9
_MAX_FAULTS = 200


def score_document(document: Any) -> dict[str, Any]:
    """The answer for a file's values; names and forms are stable.

    {"passed_over_total": {"C1": [p, n], …}} gives {"p", "strict", "almost", "valid"}. A graded tree gives
    {"score", "by_category", "faults"}, and with conditions "passed_over_total" and the former, too. Raises
    INVALID for a malformed tree; leaves without a score are faults, and what rests on them is None.
    """
    if isinstance(document, dict) and "passed_over_total" in document:
        return read_tallies(document["passed_over_total"]).as_dict()
    reading = read(document)
    leaves = {leaf.id: reading.scores.get(leaf.id) for leaf in reading.rubric.leaves}
    result = weighted(reading.rubric, leaves)
    faults = [*_unscored(leaves), *_differing(reading, result.nodes)]
    answer: dict[str, Any] = {
        "score": result.score,
        "by_category": dict(result.by_category),
        "faults": [as_dict(fault) for fault in faults[:_MAX_FAULTS]],
    }
    counted = conditions(reading.rubric, leaves)
    if counted.tallies:
        answer["passed_over_total"] = {c.value: [t.passed, t.total] for c, t in counted.tallies.items()}
        answer |= counted.as_dict()
    return answer


def as_dict(fault: Fault) -> dict[str, str]:
    """JSON-ready."""
    return {"field": fault.field, "value": fault.value, "cure": fault.cure}


def _unscored(leaves: Scores) -> list[Fault]:
    cure = "has no usable score: what rests on it is undefined"
    return [Fault(f'node "{id_}", score', "", cure) for id_, score in leaves.items() if score is None]


def _differing(reading: Reading, nodes: Scores) -> list[Fault]:
    """Groups whose score in the file is not the one that their leaves give."""
    faults = []
    for node in reading.rubric.nodes:
        told, mean = reading.scores.get(node.id), nodes.get(node.id)
        if told is not None and mean is not None and abs(told - mean) > _CLOSE:
            faults.append(Fault(f'node "{node.id}", score', repr(told), f"is {mean!r} by its leaves"))
    return faults

"""RAGChecker's metrics, with its conventions: no claims give 0, and only the exact label counts.

Source of the definitions: RAGChecker (Ru et al. 2024), ragchecker/computation.py. The overall metrics
compare a response with a ground-truth answer; the others also need retrieved passages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ENTAILMENT = "Entailment"

Labels = Sequence[str]
Matrix = Sequence[Labels]


def overall(answer2response: Labels, response2answer: Labels) -> dict[str, float]:
    """Precision over response claims, recall over answer claims and their F1, each in [0, 1]."""
    precision = _mean(_hits(answer2response))
    recall = _mean(_hits(response2answer))
    f1 = 2 * precision * recall / (precision + recall) if precision > 0 and recall > 0 else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def context(
    answer2response: Labels, response2answer: Labels, retrieved2response: Matrix, retrieved2answer: Matrix
) -> dict[str, float]:
    """Retriever and generator metrics, each in [0, 1]; all 0 without passages.

    Matrices hold one row per claim and one column per passage.
    """
    right = _hits(answer2response)
    support = [_hits(row) for row in retrieved2response]
    covering = [_hits(row) for row in retrieved2answer]
    relevant = [any(column) for column in zip(*covering, strict=True)]
    covered = [any(row) for row in covering]
    used = [c and r for c, r in zip(covered, _hits(response2answer), strict=False)]
    metrics = {
        "claim_recall": _mean(covered) if relevant else 0.0,
        "context_precision": _mean(relevant),
        "context_utilization": sum(used) / sum(covered) if any(covered) else 0.0,
    }
    return metrics | _generator(right, support, relevant)


def _generator(
    right: Sequence[bool], support: Sequence[Sequence[bool]], relevant: Sequence[bool]
) -> dict[str, float]:
    names = (
        "noise_sensitivity_in_relevant",
        "noise_sensitivity_in_irrelevant",
        "hallucination",
        "self_knowledge",
        "faithfulness",
    )
    if not support or not support[0]:
        return dict.fromkeys(names, 0.0)
    rows = list(zip(right, support, strict=True))
    by_relevant = [any(s and r for s, r in zip(row, relevant, strict=True)) for row in support]
    by_irrelevant = [any(s and not r for s, r in zip(row, relevant, strict=True)) for row in support]
    values = (
        [not ok and rel for (ok, _), rel in zip(rows, by_relevant, strict=True)],
        [
            not ok and irr and not rel
            for (ok, _), rel, irr in zip(rows, by_relevant, by_irrelevant, strict=True)
        ],
        [not ok and not any(row) for ok, row in rows],
        [ok and not any(row) for ok, row in rows],
        [any(row) for row in support],
    )
    return {name: _mean(value) for name, value in zip(names, values, strict=True)}


def aggregate(per_query: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Per metric: the mean over queries as a percentage with one decimal. F1 is averaged per query."""
    names = [n for n in per_query[0] if all(n in q for q in per_query)] if per_query else []
    return {name: round(100 * sum(q[name] for q in per_query) / len(per_query), 1) for name in names}


def _hits(labels: Labels) -> list[bool]:
    return [label == ENTAILMENT for label in labels]


def _mean(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits) if hits else 0.0

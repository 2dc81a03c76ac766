"""Precision, recall and F1 from verdicts, and what is left undefined.

A claim the judge could not score leaves both numerator and denominator: a failure of the judge is no
error of the agent. Where nothing is left to divide by, the metric is None and the state is UNSCORED.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from firetrial_judge import ragchecker
from firetrial_judge.judge import Convention
from firetrial_judge.verdict import Verdict
from firetrial_kit.errors import Fault, check

LABELS: Mapping[str, Verdict] = {
    **{verdict.value.lower(): verdict for verdict in Verdict},
    "entailment": Verdict.ENTAILED,
    "contradiction": Verdict.CONTRADICTED,
    "abstain": Verdict.UNSCORED,
}
_OVERALL = ("answer2response", "response2answer")
_CONTEXT = ("retrieved2response", "retrieved2answer")


class ScoreState(StrEnum):
    """SCORED when precision, recall and F1 are all defined."""

    SCORED = "SCORED"
    UNSCORED = "UNSCORED"


@dataclass(frozen=True, slots=True)
class Score:
    """Metrics in [0, 1] or None; counts of claims.

    `tp` and `fp` count agent claims, `matched` and `fn` ground-truth claims: two separate passes, so `tp`
    and `matched` need not be equal. `unscored` counts claims of both sides.
    """

    state: ScoreState
    precision: float | None
    recall: float | None
    f1: float | None
    tp: int
    fp: int
    matched: int
    fn: int
    unscored: int

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready, in the order a reader wants."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "state": self.state.value,
            "tp": self.tp,
            "fp": self.fp,
            "fn": self.fn,
            "matched": self.matched,
            "unscored": self.unscored,
        }


def score(
    agent: Sequence[Verdict],
    truth: Sequence[Verdict],
    *,
    convention: Convention = Convention.UNDEFINED,
    surplus: int = 0,
) -> Score:
    """Score a run: verdicts on the agent's claims (precision) and on the ground truth's (recall).

    `surplus` is how many more claims the agent made than were judged: they count as not entailed. What a side
    without a claim gives is the convention's: undefined, or 0. Claims that all are UNSCORED give no 0.
    """
    tp, fp = _count(agent)
    fp += surplus
    matched, fn = _count(truth)
    precision, recall = _ratio(tp, fp), _ratio(matched, fn)
    if convention is Convention.RAGCHECKER:
        precision = precision if agent else 0.0
        recall = recall if truth else 0.0
    return Score(
        state=ScoreState.UNSCORED if precision is None or recall is None else ScoreState.SCORED,
        precision=precision,
        recall=recall,
        f1=_f1(precision, recall),
        tp=tp,
        fp=fp,
        matched=matched,
        fn=fn,
        unscored=len(agent) + surplus + len(truth) - tp - fp - matched - fn,
    )


def _count(verdicts: Sequence[Verdict]) -> tuple[int, int]:
    scored = [v for v in verdicts if v is not Verdict.UNSCORED]
    entailed = sum(v is Verdict.ENTAILED for v in scored)
    return entailed, len(scored) - entailed


def _ratio(hits: int, misses: int) -> float | None:
    return hits / (hits + misses) if hits + misses else None


def _f1(precision: float | None, recall: float | None) -> float | None:
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def score_document(document: object, mode: str = "default") -> dict[str, Any]:
    """Metrics of one query, or `{"queries", "aggregate"}` of a list of them.

    `mode` is "default" (labels of any case, ours or RAGChecker's; unknown ones are refused) or "ragchecker".
    The default aggregate is the mean over queries that have the metric, with `coverage` beside it; that of
    "ragchecker" is a percentage. Raises INVALID with every fault.
    """
    if not isinstance(document, list):
        return _scored([document], mode)[0]
    queries = _scored(document, mode)
    if mode == "ragchecker":
        return {"queries": queries, "aggregate": ragchecker.aggregate(queries)}
    return {"queries": queries, "aggregate": _means(queries)}


def _scored(queries: Sequence[object], mode: str) -> list[dict[str, Any]]:
    faults: list[Fault] = []
    for index, query in enumerate(queries):
        where = f"[{index}]." if len(queries) > 1 else ""
        faults += _faults(query, where, strict=mode != "ragchecker")
    check("the labels", faults)
    return [_one(cast("Mapping[str, Any]", query), mode) for query in queries]


def _one(query: Mapping[str, Any], mode: str) -> dict[str, Any]:
    agent, truth = query["answer2response"], query["response2answer"]
    if mode != "ragchecker":
        return score([LABELS[a.lower()] for a in agent], [LABELS[t.lower()] for t in truth]).as_dict()
    metrics = ragchecker.overall(agent, truth)
    if all(name in query for name in _CONTEXT):
        metrics |= ragchecker.context(agent, truth, query["retrieved2response"], query["retrieved2answer"])
    return metrics


def _means(queries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    means: dict[str, Any] = {}
    coverage = {}
    for name in ("precision", "recall", "f1"):
        defined = [q[name] for q in queries if q[name] is not None]
        means[name] = sum(defined) / len(defined) if defined else None
        coverage[name] = f"{len(defined)} of {len(queries)}"
    return means | {"coverage": coverage}


def _faults(query: object, where: str, *, strict: bool) -> list[Fault]:
    if not isinstance(query, dict):
        return [
            _fault(where.rstrip(".") or "document", query, "give an object with " + " and ".join(_OVERALL))
        ]
    faults: list[Fault] = []
    for name in _OVERALL:
        faults += _label_faults(query.get(name), where + name, strict=strict)
    present = [name for name in _CONTEXT if name in query]
    for name in present:
        faults += _matrix_faults(query[name], where + name)
    if not faults and len(present) == len(_CONTEXT):
        faults += _shape_faults(query, where)
    return faults


def _label_faults(labels: object, field: str, *, strict: bool) -> list[Fault]:
    if not isinstance(labels, list):
        return [_fault(field, labels, "give a list of labels, [] where there is no claim")]
    return [
        _fault(f"{field}[{i}]", label, "use ENTAILED, CONTRADICTED, NEUTRAL or UNSCORED")
        for i, label in enumerate(labels)
        if not isinstance(label, str) or (strict and label.lower() not in LABELS)
    ]


def _matrix_faults(matrix: object, field: str) -> list[Fault]:
    if not isinstance(matrix, list):
        return [_fault(field, matrix, "give a list with one list of labels per claim")]
    faults: list[Fault] = []
    for i, row in enumerate(matrix):
        faults += _label_faults(row, f"{field}[{i}]", strict=False)
    return faults


def _shape_faults(query: Mapping[str, Any], where: str) -> list[Fault]:
    faults = []
    widths = {len(row) for name in _CONTEXT for row in query[name]}
    if len(widths) > 1:
        faults.append(_fault(where + "retrieved2*", sorted(widths), "give every claim one label per passage"))
    for matrix, labels in zip(_CONTEXT, _OVERALL, strict=True):
        rows, claims = len(query[matrix]), len(query[labels])
        if rows != claims:
            faults.append(_fault(where + matrix, f"{rows} rows", f"give {claims}, one per entry of {labels}"))
    return faults


def _fault(field: str, value: object, cure: str) -> Fault:
    return Fault(field, value if isinstance(value, str) else repr(value)[:200], cure)

"""A judgement for scripts and for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from firetrial_judge.claims import Claim
from firetrial_judge.judgement import Judgement
from firetrial_judge.verdict import Ruling

_SHOWN = 100


def as_dict(judgement: Judgement) -> dict[str, Any]:
    """JSON-ready: claims of both sides with their verdicts, metrics, configuration and cost."""
    return {
        "id": judgement.id,
        "claims": [
            _claim("agent", claim, ruling)
            for claim, ruling in zip(judgement.agent_claims, judgement.agent_rulings, strict=True)
        ]
        + [
            _claim("truth", claim, ruling)
            for claim, ruling in zip(judgement.truth_claims, judgement.truth_rulings, strict=True)
        ],
        **judgement.score.as_dict(),
        "config": asdict(judgement.config) | {"hash": judgement.config.hash},
        "usage": asdict(judgement.spent),
        "flags": list(judgement.flags),
        "pairs": [[match.agent_claim, match.truth_claim] for match in judgement.pairs],
        "notes": list(judgement.notes),
    }


def _claim(side: str, claim: Claim, ruling: Ruling) -> dict[str, Any]:
    evidence = [ruling.evidence.start, ruling.evidence.end] if ruling.evidence else None
    return {
        "id": claim.id,
        "side": side,
        "text": claim.text,
        "kind": claim.kind.value,
        "span": [claim.start, claim.end],
        "verdict": ruling.verdict.value,
        "rationale": ruling.rationale,
        "evidence": evidence,
    }


def lines(judgement: Judgement) -> Iterator[str]:
    """The claim table and the metrics, a line each."""
    yield "conclusion, against the ground truth:"
    yield from _table(judgement.agent_claims, judgement.agent_rulings)
    yield "ground truth, against the conclusion:"
    yield from _table(judgement.truth_claims, judgement.truth_rulings)
    score = judgement.score
    metrics = {"precision": score.precision, "recall": score.recall, "F1": score.f1}
    yield "  ".join(f"{name} {_number(value)}" for name, value in metrics.items())
    if score.unscored:
        yield f"{score.unscored} claims could not be scored and do not count"
    yield from judgement.notes


def _table(claims: Sequence[Claim], rulings: Sequence[Ruling]) -> Iterator[str]:
    if not claims:
        yield "  no claim"
    for claim, ruling in zip(claims, rulings, strict=True):
        shown = claim.text if len(claim.text) <= _SHOWN else claim.text[: _SHOWN - 1] + "…"
        yield f"  {claim.id:4} {ruling.verdict.value:12} {shown}"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"

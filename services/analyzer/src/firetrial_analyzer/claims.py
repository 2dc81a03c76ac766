"""What the judge said about one run, claim by claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from firetrial_analyzer.kinds.repository import Sealed
from firetrial_analyzer.kinds.validity import Condition


class Verdict(StrEnum):
    ENTAILED = "ENTAILED"
    CONTRADICTED = "CONTRADICTED"
    NEUTRAL = "NEUTRAL"
    UNSCORED = "UNSCORED"


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """One atomic claim and whether the other side's text entails it.

    `evidence` is the passage of the other text that the verdict rests on, empty where there is none.
    """

    id: str
    text: str
    verdict: Verdict
    evidence: str = ""
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The agent's claims held against the truth, and the truth's claims looked for in the conclusion.

    `judgings` has the F1 that each turn of a panel gives by itself, where the run was judged more than once.
    `flags` are facts that a reader of the scores must know, for example "judge_manipulation". `sealed` is
    set for a repository run and `conditions` for a follow-up; these have no claims.
    """

    run_id: str
    agent_claims: tuple[JudgedClaim, ...]
    truth_claims: tuple[JudgedClaim, ...]
    judged_at: datetime | None = None
    flags: tuple[str, ...] = ()
    judgings: tuple[float, ...] = ()
    sealed: Sealed | None = None
    conditions: tuple[Condition, ...] = ()

    @property
    def false_positives(self) -> tuple[JudgedClaim, ...]:
        """Claims that the truth does not entail. An unscored claim is none: nobody judged it."""
        return tuple(claim for claim in self.agent_claims if _is_wrong(claim))

    @property
    def false_negatives(self) -> tuple[JudgedClaim, ...]:
        """Truth that the conclusion does not entail."""
        return tuple(claim for claim in self.truth_claims if _is_wrong(claim))


def f1(agent: Sequence[Verdict], truth: Sequence[Verdict]) -> float | None:
    """Harmonic mean of precision and recall over scored claims, 0 where either is; None for no claims."""
    precision, recall = _share_entailed(agent), _share_entailed(truth)
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def _share_entailed(verdicts: Sequence[Verdict]) -> float | None:
    scored = [verdict for verdict in verdicts if verdict is not Verdict.UNSCORED]
    return scored.count(Verdict.ENTAILED) / len(scored) if scored else None


def _is_wrong(claim: JudgedClaim) -> bool:
    return claim.verdict in (Verdict.CONTRADICTED, Verdict.NEUTRAL)

"""What the judge said about one run, claim by claim."""

from dataclasses import dataclass
from enum import StrEnum


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
    """The agent's claims held against the truth, and the truth's claims looked for in the conclusion."""

    run_id: str
    agent_claims: tuple[JudgedClaim, ...]
    truth_claims: tuple[JudgedClaim, ...]

    @property
    def false_positives(self) -> tuple[JudgedClaim, ...]:
        """Claims that the truth does not entail. An unscored claim is none: nobody judged it."""
        return tuple(claim for claim in self.agent_claims if _is_wrong(claim))

    @property
    def false_negatives(self) -> tuple[JudgedClaim, ...]:
        """Truth that the conclusion does not entail."""
        return tuple(claim for claim in self.truth_claims if _is_wrong(claim))


def _is_wrong(claim: JudgedClaim) -> bool:
    return claim.verdict in (Verdict.CONTRADICTED, Verdict.NEUTRAL)

"""Why a claim is false, told by rules from the two texts; no model is asked.

The four kinds are those of FIRE-Bench: a false claim is *contradictory* if the truth says the opposite,
*unrelated* if it is about something else, *overgeneralized* if it stretches a true finding beyond its
conditions, and *alternative* if it is another statement on the same topic. The rules are tried in that order.
They see words, not meaning: a scope widened by another noun ("GPT-3.5" to "language models") is called
alternative.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from firetrial_analyzer.claims import JudgedClaim, Judgement, Verdict
from firetrial_analyzer.taxonomy.catalogue import FalsePositiveKind
from firetrial_analyzer.taxonomy.steps import Citation
from firetrial_analyzer.words import content, dice, share, tokens, topic

# Share of a claim's topic words that the whole truth knows. On 60 labelled pairs of empirical findings, 0.25
# keeps 17 of 20 related claims and tells 94 % of crossed pairs apart.
UNRELATED_BELOW = 0.25
# A claim may be called a stretched form of a truth only if it says little that the truth does not say.
SAME_STATEMENT = 0.6


RULES = "rules"


@dataclass(frozen=True, slots=True)
class FalsePositive:
    """A false claim of the agent. `against` is the id of the truth claim it was held against, or empty.

    `settled_by` is RULES or the model that said so.
    """

    claim_id: str
    kind: FalsePositiveKind
    rationale: str
    against: str
    citations: tuple[Citation, ...] = ()
    settled_by: str = RULES


def typed(judgement: Judgement) -> tuple[FalsePositive, ...]:
    """Every false positive with its kind, in the judge's order."""
    return tuple(_typed(claim, judgement.truth_claims) for claim in judgement.false_positives)


def _typed(claim: JudgedClaim, truth: Sequence[JudgedClaim]) -> FalsePositive:
    held = _held_against(claim, truth)
    if held is None:
        rationale = "There is no ground-truth claim that it could be about."
        return FalsePositive(claim.id, FalsePositiveKind.UNRELATED, rationale, "")
    kind, rationale = _kind(claim, held, truth)
    return FalsePositive(claim.id, kind, rationale, held.id)


def _held_against(claim: JudgedClaim, truth: Sequence[JudgedClaim]) -> JudgedClaim | None:
    """The truth claim that is most like the judge's evidence, or like the claim where there is none."""
    words = content(claim.evidence or claim.text)
    return max(truth, key=lambda other: dice(words, content(other.text)), default=None)


def _kind(
    claim: JudgedClaim, held: JudgedClaim, truth: Sequence[JudgedClaim]
) -> tuple[FalsePositiveKind, str]:
    if claim.verdict is Verdict.CONTRADICTED:
        return FalsePositiveKind.CONTRADICTORY, "The judge found that the ground truth says the opposite."
    shared = share(topic(claim.text), frozenset().union(*(topic(other.text) for other in truth)))
    if shared < UNRELATED_BELOW:
        rationale = f"{shared:.0%} of its topic words occur in the ground truth."
        return FalsePositiveKind.UNRELATED, rationale
    if stretch := overgeneralization(claim.text, held.text):
        return FalsePositiveKind.OVERGENERALIZED, stretch
    rationale = "On the topic of the ground truth, but another statement, neither entailed nor contradicted."
    return FalsePositiveKind.ALTERNATIVE, rationale


_UNIVERSAL = re.compile(
    r"\b(all|every|each (?!other\b)|always|never|whatever|everywhere|universally|invariably|regardless"
    r"|irrespective|in general|no matter|(?:for|in|at|of|with|under|on) any)\b"
)
_MAJORITY = re.compile(
    r"\b(most|mostly|usually|typically|generally|often|largely|majority|tends?|frequently)\b"
)
_PARTIAL = re.compile(
    r"\b(some|sometimes|several|few|certain|partly|partially|may|might|can|could|occasionally|not all"
    r"|not every|not always|rarely)\b"
)
_SCOPE = {3: "all cases", 2: "most cases", 1: "some cases", 0: "no such scope"}
# A number after "at", "for" or "with" is a condition (at 40 % noise); after "by" or "to" it is a result.
_CONDITION = re.compile(
    r"\b(?:when(?:ever)?|if|unless|only (?:when|if|for|in|at|on|under|with)|under|until|provided|given"
    r"|as long as|where|except|limited to|in the case of|(?:at|for|with|on) (?:only )?"
    r"(?:small|large|low|high|weak|strong|moderate|heavy|few|many|little|no\b|[a-z] ?[=<>≤≥]|\d))"
    r"(?:[^,;.()]|\.(?=\d))*"
)


def overgeneralization(claim: str, truth: str) -> str:
    """How `claim` stretches `truth`: a sentence, or empty if it does not."""
    if stretch := _stronger_quantifier(claim, truth):
        return stretch
    if share(content(claim), content(truth)) < SAME_STATEMENT:
        return ""
    return _dropped_condition(claim, truth)


def _stronger_quantifier(claim: str, truth: str) -> str:
    claimed, true = _strength(claim), _strength(truth)
    if claimed > true and (true > 0 or claimed == 3):
        return f"It speaks of {_SCOPE[claimed]}, the ground truth of {_SCOPE[true]}."
    return ""


def _strength(text: str) -> int:
    """3 for all, 2 for most, 1 for some, 0 for a bare statement; the weakest word decides."""
    lowered = text.lower()
    for strength, pattern in ((1, _PARTIAL), (2, _MAJORITY), (3, _UNIVERSAL)):
        if pattern.search(lowered):
            return strength
    return 0


def _dropped_condition(claim: str, truth: str) -> str:
    if _CONDITION.search(claim.lower()):
        return ""  # it names a condition of its own, so it is another statement and not a wider one
    said = content(claim)
    for found in _CONDITION.finditer(truth.lower()):
        condition = found.group().strip()
        if len(tokens(condition)) > 1 and share(content(condition), said) < 0.5:
            return f"It drops the ground truth's condition “{condition}”."
    return ""

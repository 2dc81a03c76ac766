"""Verdicts in one word: for models too small to write down a list of verdicts with their evidence.

Each claim is asked about by itself. The model writes nothing: it tells how likely its next word is True,
False or Unknown. That is laid together with what the offline judge reads off the same pair, by two logistic
regressions (stacked generalization, Wolpert 1992) that were fitted on labelled pairs of this project alone:
see docs/calibration.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from firetrial_judge.offline import VERSION, OfflineJudge, Reference
from firetrial_judge.verdict import Ruling, Span, Verdict
from firetrial_kit.asking import Message

TRUE, FALSE, UNKNOWN = WORDS = ("True", "False", "Unknown")
_PROMPT = "one_word.v1"
_FLOOR = 1e-4  # a word that the endpoint does not list is told less often than this
_SENTENCES = 2  # of a longer reference, those nearest to the claim are shown; more confuse a small model


# Of two logistic regressions, by `features`: ENTAILED against the rest, and CONTRADICTED against NEUTRAL.
# Fitted by tools/fit_one_word.py.
ENTAILMENT = (-1.35, 1.26, 0.55, 0.22, -0.04)
CONTRADICTION = (0.04, -1.23, 1.96, -0.24, 1.85)


def features(chances: Mapping[str, float], offline: Verdict) -> tuple[float, ...]:
    """1, the log odds of True over False and over Unknown, and whether the offline judge says E or C."""
    true, false, unknown = (math.log(max(chances[word], _FLOOR)) for word in WORDS)
    said = (float(offline is verdict) for verdict in (Verdict.ENTAILED, Verdict.CONTRADICTED))
    return (1.0, true - false, true - unknown, *said)


def log_odds(weights: Sequence[float], chances: Mapping[str, float], offline: Verdict) -> float:
    """Of the verdict that the weights are for."""
    return sum(w * x for w, x in zip(weights, features(chances, offline), strict=True))


@dataclass(frozen=True, slots=True)
class Examined:
    """A claim and what decides it: the passage shown to the model, and what the offline judge says."""

    claim: str
    passage: str
    place: Span | None
    offline: Ruling


class OneWord:
    """Asks about claims in one word. Thread-safe."""

    def __init__(self, offline: OfflineJudge) -> None:
        self._offline = offline
        instruction, *examples = _prompt().strip().split("\n\n")
        self._before = [Message("system", instruction)]
        for example in examples:
            asked, _, word = example.rpartition("\n")
            self._before += [Message("user", asked), Message("assistant", word)]

    @property
    def version(self) -> str:
        """Changes with the prompt, the weights and the offline judge's rules."""
        content = f"{_prompt()}{ENTAILMENT}{CONTRADICTION}{_SENTENCES}{VERSION}"
        return f"{_PROMPT}-{sha256(content.encode()).hexdigest()[:8]}"

    def examine(self, claims: Sequence[tuple[str, str, str]]) -> list[Examined]:
        """Look at claims (id, text, reference) without a model; takes about 10 ms each."""
        references: dict[str, Reference] = {}
        self._offline.prepare([text for _, *texts in claims for text in texts])
        found = []
        for id_, claim, reference in claims:
            if reference not in references:
                references[reference] = self._offline.read(reference)
            found.append(self._examined(id_, claim, references[reference]))
        return found

    def _examined(self, id_: str, claim: str, reference: Reference) -> Examined:
        near = self._offline.near(reference, claim)[:_SENTENCES]
        passage = " ".join(reference.sentences[i] for i in sorted(near))
        place = reference.spans[near[0]] if near else None
        return Examined(claim, passage, place, self._offline.rule(reference, claim, id_))

    def messages(self, examined: Examined) -> list[Message]:
        """The question comes last: most servers read once what stands before it and is always the same."""
        asked = f"Finding: {_one_line(examined.passage)}\nClaim: {_one_line(examined.claim)}"
        return [*self._before, Message("user", asked)]

    def ruling(self, examined: Examined, chances: Mapping[str, float]) -> Ruling:
        """What the chances of the three words and the offline judge come to."""
        offline = examined.offline
        if log_odds(ENTAILMENT, chances, offline.verdict) > 0:
            verdict = Verdict.ENTAILED
        elif log_odds(CONTRADICTION, chances, offline.verdict) > 0:
            verdict = Verdict.CONTRADICTED
        else:
            verdict = Verdict.NEUTRAL
        told = ", ".join(f"{word} {chances[word]:.0%}" for word in WORDS)
        why = f"the model: {told}; by alignment {offline.verdict}: {offline.rationale}"
        place = offline.evidence or examined.place
        return Ruling(offline.claim_id, verdict, why, None if verdict is Verdict.NEUTRAL else place)


def _prompt() -> str:
    return (files("firetrial_judge") / "prompts" / f"{_PROMPT}.txt").read_text("utf-8")


def _one_line(text: str) -> str:
    """The text where it cannot imitate another line of the question, or a model's own marks of a turn."""
    return " ".join(text.split()).replace("<|", "< |")

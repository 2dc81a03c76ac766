"""A proposal in atomic claims, each held against its source: the paper, or the proposal's own parts.

The support ratio is the share of supported claims among those that were ruled on.
"""
# ruff: noqa: ARG002 - parameters are the port's

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from firetrial_parser.asking import Asker, Bill
from firetrial_parser.entailment import Entails, Verdict
from firetrial_parser.prose import flat, sentences
from firetrial_parser.soundness.hostile import LEFT_OUT
from firetrial_parser.soundness.model import MAX_SOURCE, prompt
from firetrial_parser.soundness.outcomes import MASK
from firetrial_parser.soundness.proposal import Proposal

MAX_CLAIMS = 400
_BATCH = 50  # claims in one request
_PREMISE = 200_000  # characters of a source that the judge is given; it takes 256 KiB
_ENOUGH = 0.75  # share of a claim's words that one passage must hold
_LISTS = re.compile(r"experiments\[(\d+)\]\.(datasets|models|baselines|metrics)\[")
_SAID = {
    "datasets": "uses the data set",
    "models": "studies the model",
    "baselines": "compares with",
    "metrics": "is measured by",
}
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by for from in into is it its of on or that the their this to was we were "
        "which with will use uses used using experiment study model data set measured compares",
    )
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement, and the part of the proposal that it was taken from."""

    text: str
    part: str


@dataclass(frozen=True, slots=True)
class Ruled:
    """A claim with what was ruled; None where nobody could rule on it."""

    claim: Claim
    supported: bool | None
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Support:
    """All claims, and who ruled on them."""

    claims: tuple[Ruled, ...]
    method: str

    @property
    def ratio(self) -> float | None:
        """Supported claims over all that were ruled on, 0 to 1; None where none was."""
        ruled = [one for one in self.claims if one.supported is not None]
        return sum(bool(one.supported) for one in ruled) / len(ruled) if ruled else None


class Verifier(Protocol):
    """Whoever holds claims against a source. `method` names it."""

    @property
    def method(self) -> str: ...

    async def verify(self, claims: Sequence[Claim], source: str, bill: Bill) -> list[Ruled]:
        """One ruling for each claim, in order. Raises where nobody can be asked."""
        ...


async def supported(
    proposal: Proposal, source: str, asker: Asker | None, verifier: Verifier, bill: Bill
) -> Support:
    """The proposal's claims, taken apart by the model where there is one, each held against `source`."""
    claims = await split(proposal, asker, bill) if asker else literal(proposal)
    return Support(tuple(await verifier.verify(claims, source, bill)), verifier.method)


def own_source(proposal: Proposal) -> str:
    """The source of one that was submitted: its own parts, list items as sentences."""
    return "\n".join(claim.text for claim in literal(proposal))


def literal(proposal: Proposal) -> list[Claim]:
    """Claims without a model: each sentence, and each item of a list as a sentence."""
    return list(dict.fromkeys(_literal(proposal)))[:MAX_CLAIMS]


def _literal(proposal: Proposal) -> Iterator[Claim]:
    for part, text in proposal.parts():
        if listed := _LISTS.match(part):
            yield Claim(f"Experiment {int(listed[1]) + 1} {_SAID[listed[2]]} {text.strip()}.", part)
            continue
        for sentence in sentences(text):
            bare = sentence.replace(MASK, "").replace(LEFT_OUT, "").strip()
            if _words(bare):
                yield Claim(bare, part)


async def split(proposal: Proposal, asker: Asker, bill: Bill) -> list[Claim]:
    """Claims by a model, those of parts that there are not left out. Raises what `Asker.ask` raises."""
    parts = {part for part, _ in proposal.parts()}
    answered = await asker.ask(prompt("claims"), {"PROPOSAL": proposal.shown}, bill)
    told = (Claim(one["text"].strip(), one["part"]) for one in answered.value["claims"])
    return [claim for claim in dict.fromkeys(told) if claim.text and claim.part in parts][:MAX_CLAIMS]


class Lexical:
    """Rules by words: one passage of the source holds the claim's numbers and most of its words."""

    method = "lexical"

    async def verify(self, claims: Sequence[Claim], source: str, bill: Bill) -> list[Ruled]:
        passages = [set(_words(passage)) for passage in _passages(source)]
        everything = flat(source)
        return [self._rule(claim, passages, everything) for claim in claims]

    def _rule(self, claim: Claim, passages: Sequence[set[str]], everything: str) -> Ruled:
        if _LISTS.match(claim.part):
            return self._named(claim, everything)
        wanted = set(_words(claim.text))
        numbers = {word for word in wanted if word[0].isdigit()}
        best = (
            max((len(wanted & p) / len(wanted) for p in passages if numbers <= p), default=0.0)
            if wanted
            else 0.0
        )
        told = f"{best:.0%} of its words in one passage" if best else "no passage has its numbers and words"
        return Ruled(claim, best >= _ENOUGH, told)

    def _named(self, claim: Claim, everything: str) -> Ruled:
        """An item of a list is a name: it must occur."""
        name = flat(_item(claim.text))
        there = bool(name) and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", everything) is not None
        return Ruled(claim, there, "the name occurs" if there else "the name does not occur")


class ByModel:
    """Asks the model YES or NO, claims in batches; an id that it leaves out is ruled on by nobody."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self.method = f"{asker.model}, prompt {prompt('support').version}"

    async def verify(self, claims: Sequence[Claim], source: str, bill: Bill) -> list[Ruled]:
        ruled: list[Ruled] = []
        for start in range(0, len(claims), _BATCH):
            ruled += await self._batch(claims[start : start + _BATCH], source, bill)
        return ruled

    async def _batch(self, claims: Sequence[Claim], source: str, bill: Bill) -> list[Ruled]:
        ids = {f"c{i}": claim for i, claim in enumerate(claims, 1)}
        listed = "\n".join(f"{id_}: {claim.text}" for id_, claim in ids.items())
        answered = await self._asker.ask(
            prompt("support"), {"CLAIMS": listed, "SOURCE": source[:MAX_SOURCE]}, bill
        )
        told: dict[str, Mapping[str, str]] = {}
        for one in answered.value["answers"]:
            told.setdefault(one["id"], one)
        return [_answered(claim, told.get(id_)) for id_, claim in ids.items()]


class ByJudge:
    """Asks the judge service what the source entails."""

    def __init__(self, judge: Entails) -> None:
        self._judge = judge
        self.method = "judge"

    async def verify(self, claims: Sequence[Claim], source: str, bill: Bill) -> list[Ruled]:
        if not claims:
            return []
        rulings = await self._judge.entail(source[:_PREMISE], [claim.text for claim in claims], atomic=False)
        self.method = f"judge {rulings.judge}"
        by_claim = {one.hypothesis: one for one in rulings.ruled}
        found = []
        for i, claim in enumerate(claims):
            one = by_claim.get(i)
            if one is None or one.verdict is Verdict.UNSCORED:
                found.append(Ruled(claim, None, "the judge did not rule"))
            else:
                found.append(
                    Ruled(claim, one.verdict is Verdict.ENTAILED, one.evidence or one.verdict.lower())
                )
        return found


def _answered(claim: Claim, told: Mapping[str, str] | None) -> Ruled:
    if told is None:
        return Ruled(claim, None, "the model left it out")
    return Ruled(claim, told["answer"] == "YES", told["explanation"])


def _passages(source: str) -> Iterator[str]:
    """Each sentence, and each two neighbours: a claim may rest on both."""
    for block in re.split(r"\n\s*\n", source):
        found = sentences(block)
        yield from found
        yield from (f"{a} {b}" for a, b in pairwise(found))


def _words(text: str) -> list[str]:
    found = re.findall(r"[a-z]+|\d+(?:\.\d+)?", flat(text))
    # One form for singular and plural, and for most verbs.
    return [word[:-1] if word[-1] == "s" and len(word) > 3 else word for word in found if word not in _COMMON]


def _item(text: str) -> str:
    """The name in the sentence that `literal` makes of a list's item."""
    bare = text.removesuffix(".")
    for said in _SAID.values():
        _, found, name = bare.partition(f" {said} ")
        if found:
            return name
    return bare

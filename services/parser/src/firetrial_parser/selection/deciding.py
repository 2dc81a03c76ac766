"""The two stages that a model can decide, and those who can: words alone, or a model.

A model's reasons must rest on words that stand in what it read. Where they do not, it is asked again with the
fault named; a decision that still rests on nothing becomes UNCERTAIN.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from firetrial_kit.asking import Meter
from firetrial_kit.errors import Fault
from firetrial_parser.asking import Asker, Bill, load_prompt
from firetrial_parser.selection.contribution import Contribution, Kind, LexicalClassifier
from firetrial_parser.selection.criteria import Criterion, CriterionVerdict, Met, Reason
from firetrial_parser.selection.heuristics import Heuristics, anchored
from firetrial_parser.tree import Quote

PROMPTS = "firetrial_parser.selection.prompts"
VERSION = "v1"
TRUE_QUOTE = 0.9  # the least score of a quotation; see `anchor.locate`
LONGEST = 40_000  # characters of a paper's text that are read
MOST_REASONS = 5
_MAX_REASON = 1_000


@dataclass(frozen=True, slots=True)
class Read:
    """What is read of a paper: `pages` is its text, or its title and abstract as one page."""

    title: str
    abstract: str
    pages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Charge:
    """Where it is written down what one paper costs, and what may stop that; None stops nothing."""

    bill: Bill = field(default_factory=Bill)
    meter: Meter | None = None


class Deciding(Protocol):
    """Decides on contribution and criteria; `versions` name its rules and prompts, `model` may be ""."""

    model: str
    versions: tuple[str, ...]

    async def contribution(self, read: Read, charge: Charge) -> Contribution:
        """The paper's primary contribution."""
        ...

    async def criteria(self, read: Read, charge: Charge) -> tuple[CriterionVerdict, ...]:
        """A verdict on each criterion."""
        ...


class OfflineDeciding:
    """By words alone: a contribution that is right in nine of ten cases, and criteria left to people."""

    model = ""

    def __init__(self) -> None:
        self._classifier = LexicalClassifier()
        self._heuristics = Heuristics()
        self.versions: tuple[str, ...] = (self._classifier.version, self._heuristics.version)

    async def contribution(self, read: Read, charge: Charge) -> Contribution:  # noqa: ARG002 - it is free
        return await asyncio.to_thread(self._classifier.classify, read.title, read.abstract)

    async def criteria(self, read: Read, charge: Charge) -> tuple[CriterionVerdict, ...]:  # noqa: ARG002
        return await asyncio.to_thread(self._heuristics.judge, read.pages)


class ModelDeciding:
    """By a model. Raises its client's ModelErrors, and PRECONDITION where the meter stops it."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._contribution = load_prompt("contribution", VERSION, PROMPTS)
        self._criteria = load_prompt("criteria", VERSION, PROMPTS)
        self.model = asker.model
        self.versions: tuple[str, ...] = (f"contribution-{VERSION}", f"criteria-{VERSION}")

    async def contribution(self, read: Read, charge: Charge) -> Contribution:
        texts = {"TITLE": read.title, "ABSTRACT": read.abstract}
        answer = await self._asker.ask(self._contribution, texts, charge.bill, meter=charge.meter)
        value = answer.value
        method = f"{self.model}, {self.versions[0]}"
        kind, reason = Kind(value["kind"]), value["reason"].strip()[:_MAX_REASON]
        return Contribution(kind, method, reason, close=value["close"] and kind is not Kind.EMPIRICAL)

    async def criteria(self, read: Read, charge: Charge) -> tuple[CriterionVerdict, ...]:
        texts = {"TITLE": read.title, "ABSTRACT": read.abstract}
        body = "\n".join(read.pages)[:LONGEST]
        if read.abstract not in body or len(body) > len(read.title) + len(read.abstract) + 1:
            texts["TEXT"] = body
        sources = tuple(texts.values())
        answer = await self._asker.ask(
            self._criteria,
            texts,
            charge.bill,
            check=lambda value: list(_faults(value["criteria"], sources)),
            meter=charge.meter,
        )
        found = {Criterion(one["criterion"]): one for one in reversed(answer.value["criteria"])}
        method = f"{self.model}, {self.versions[1]}"
        return tuple(_verdict(criterion, found.get(criterion), read, method) for criterion in Criterion)


def _faults(entries: Sequence[Mapping[str, Any]], sources: tuple[str, ...]) -> Iterator[Fault]:
    named = [entry["criterion"] for entry in entries]
    for criterion in Criterion:
        if named.count(criterion) != 1:
            yield Fault(criterion, f"{named.count(criterion)} entries", "must have exactly one")
    for entry in entries:
        reasons = entry["reasons"]
        if not 1 <= len(reasons) <= MOST_REASONS:
            yield Fault(f"{entry['criterion']}.reasons", str(len(reasons)), f"must be 1 to {MOST_REASONS}")
        for reason in reasons:
            quote = reason["quote"]
            needed = entry["met"] != Met.UNCERTAIN or quote.strip()
            if needed and anchored(quote, sources).score < TRUE_QUOTE:
                cure = "must be copied from the texts letter by letter; where they do not say it, UNCERTAIN"
                yield Fault(f"{entry['criterion']}.quote", quote, cure)


def _verdict(
    criterion: Criterion, entry: Mapping[str, Any] | None, read: Read, method: str
) -> CriterionVerdict:
    if entry is None:
        nothing = Reason("the model said nothing of it", Quote(""))
        return CriterionVerdict(criterion, Met.UNCERTAIN, (nothing,), method)
    reasons = tuple(
        Reason(one["text"].strip()[:_MAX_REASON], _true(one["quote"][:_MAX_REASON], read))
        for one in entry["reasons"][:MOST_REASONS]
    )
    met = Met(entry["met"])
    if met is not Met.UNCERTAIN and not any(reason.quote.score for reason in reasons):
        told = Reason(f"the model said {met}, but no words of the paper bear that out", Quote(""))
        return CriterionVerdict(criterion, Met.UNCERTAIN, (*reasons, told), method)
    return CriterionVerdict(criterion, met, reasons, method)


def _true(words: str, read: Read) -> Quote:
    """The words anchored in the paper, else in title and abstract; with a score of 0 where in neither."""
    for pages in (read.pages, (f"{read.title}\n{read.abstract}",)):
        quote = anchored(words, pages)
        if quote.score >= TRUE_QUOTE:
            return quote if pages is read.pages else replace(quote, page=1)
    return Quote(words)

"""An assessor over a labelled set of proposals: its figures, those of the trivial rules, and the controls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from firetrial_kit.asking import MalformedAnswer
from firetrial_kit.errors import Fault, FiretrialError, check
from firetrial_parser.asking import Bill
from firetrial_parser.soundness import flaws, identifiers
from firetrial_parser.soundness.assessment import Assessor, Bucket, Mode, assess
from firetrial_parser.soundness.proposal import Proposal, read
from firetrial_parser.soundness.scoring import Confusion, baselines, label, share

_AT_ONCE = 8
_MOST = 100_000
_KNOWN = ("id", "proposal", "score", "year", "subfield", "support_ratio")


@dataclass(frozen=True, slots=True)
class Item:
    """A proposal and the mean of its reviewers' scores; what else is known of it may be missing."""

    id: str
    proposal: Proposal
    score: float
    year: int | None = None
    subfield: str = ""
    support_ratio: float | None = None

    @property
    def label(self) -> Bucket | None:
        """High, low, or None for one that is left out."""
        return label(self.score)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look at: `controls` also mask names and inject flaws; `min_support` leaves out what has less.

    A subfield with fewer labelled proposals than `least` of each class is not broken down.
    """

    mode: Mode
    controls: bool = False
    min_support: float | None = None
    least: int = 1


@dataclass(slots=True)
class _Run:
    """One pass over the set."""

    assessor: Assessor
    mode: Mode
    bill: Bill
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def verdicts(self, proposals: Iterable[Proposal]) -> list[Bucket | None]:
        """A bucket for each; None for an answer that could not be read. Raises where nobody can be asked."""
        return list(await asyncio.gather(*map(self._verdict, proposals)))

    async def _verdict(self, proposal: Proposal) -> Bucket | None:
        async with self.turns:
            try:
                return (await assess(proposal, self.mode, self.assessor, self.bill)).bucket
            except MalformedAnswer:
                return None


async def evaluate(items: Sequence[Item], assessor: Assessor, wanted: Wanted, bill: Bill) -> dict[str, Any]:
    """The report, as JSON. Shares run from 0 to 1, each with its 95 % interval.

    Raises INVALID where nothing is left to score, and what the assessor raises but for unreadable answers.
    """
    supported = [one for one in items if _has_support(one, wanted.min_support)]
    scored = _labelled(supported)
    run = _Run(assessor, wanted.mode, bill)
    verdicts = await run.verdicts(one.proposal for one, _ in scored)
    judged = [(one, true, said) for (one, true), said in zip(scored, verdicts, strict=True)]
    report: dict[str, Any] = {
        "mode": str(wanted.mode),
        "assessor": assessor.name,
        "quality": assessor.quality,
        "proposals": len(items),
        "without_support": len(items) - len(supported),
        "excluded": len(supported) - len(scored),
        "low": sum(true is Bucket.LOW for _, true in scored),
        "high": sum(true is Bucket.HIGH for _, true in scored),
        "unparsed": sum(said is None for said in verdicts),
        "overall": _confusion(judged),
        "by_year": _by(judged, lambda one: str(one.year) if one.year else "", wanted.least),
        "by_subfield": _by(judged, lambda one: one.subfield, wanted.least),
        "baselines": baselines([(one.proposal, true) for one, true in scored]),
    }
    if wanted.controls:
        report["controls"] = await _controls(run, judged)
    report["usage"] = bill.to_json()
    return report


_Judged = tuple[Item, Bucket, Bucket | None]


async def _controls(run: _Run, judged: Sequence[_Judged]) -> dict[str, Any]:
    """The same proposals with their names masked, and with flaws injected."""
    masked = await run.verdicts(identifiers.masked(one.proposal) for one, _, _ in judged)
    flawed = await run.verdicts(flaws.injected(one.proposal) for one, _, _ in judged)
    pairs = [(said, again) for (_, _, said), again in zip(judged, flawed, strict=True) if said and again]
    renamed = [(one, true, said) for (one, true, _), said in zip(judged, masked, strict=True)]
    return {
        "identifiers_masked": _confusion(renamed),
        "flaws_injected": {
            "pairs": len(pairs),
            "unparsed": len(judged) - len(pairs),
            "approval_before": share(sum(a is Bucket.HIGH for a, _ in pairs), len(pairs)).to_json(),
            "approval_after": share(sum(b is Bucket.HIGH for _, b in pairs), len(pairs)).to_json(),
        },
    }


def _confusion(judged: Iterable[_Judged]) -> dict[str, Any]:
    return Confusion.of((true, said) for _, true, said in judged).to_json()


def _by(judged: Sequence[_Judged], of: Callable[[Item], str], least: int) -> dict[str, Any]:
    """The figures of each group that has enough of both classes."""
    groups: dict[str, list[_Judged]] = {}
    for one in judged:
        groups.setdefault(of(one[0]), []).append(one)
    return {
        name: _confusion(group)
        for name, group in sorted(groups.items())
        if name and all(sum(true is bucket for _, true, _ in group) >= least for bucket in Bucket)
    }


def _labelled(items: Sequence[Item]) -> list[tuple[Item, Bucket]]:
    labelled = [(one, true) for one in items if (true := one.label) is not None]
    if not labelled:
        cure = "must hold proposals with a mean score of at least 3, or at most 2"
        check("the labelled set", [Fault("score", f"{len(items)} proposals", cure)])
    return labelled


def _has_support(one: Item, least: float | None) -> bool:
    return least is None or (one.support_ratio is not None and one.support_ratio >= least)


def read_set(text: str) -> list[Item]:
    """A labelled set from JSON lines `{"id", "proposal", "score"}`, and `year`, `subfield`, `support_ratio`.

    Raises INVALID with every fault of every line.
    """
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    faults: list[Fault] = []
    if len(lines) > _MOST:
        faults.append(Fault("lines", str(len(lines)), f"at most {_MOST}"))
    items = [_item(f"line {i}", line, faults) for i, line in lines[:_MOST]]
    ids = [one.id for one in items if one]
    seen: set[str] = set()
    for id_ in ids:
        if id_ in seen:
            faults.append(Fault("id", id_, "must be there once"))
        seen.add(id_)
    check("the labelled set", faults)
    return [one for one in items if one]


def _item(at: str, line: str, faults: list[Fault]) -> Item | None:
    try:
        told = json.loads(line)
    except ValueError as error:
        faults.append(Fault(at, line[:40], f"must be JSON: {error}"))
        return None
    if not isinstance(told, dict):
        faults.append(Fault(at, line[:40], "must be an object with id, proposal and score"))
        return None
    before = len(faults)
    faults += _item_faults(at, told)
    try:
        proposal = read(told.get("proposal"))
    except FiretrialError as error:
        faults += [Fault(f"{at}.{fault.field}", fault.value, fault.cure) for fault in error.faults]
    if len(faults) > before:
        return None
    score, support = float(told["score"]), told.get("support_ratio")
    return Item(told["id"], proposal, score, told.get("year"), told.get("subfield") or "", support)


def _item_faults(at: str, told: dict[str, Any]) -> Iterable[Fault]:
    year, support = told.get("year"), told.get("support_ratio")
    for name in sorted(set(told) - set(_KNOWN)):
        yield Fault(f"{at}.{name}", str(told[name])[:40], f"must be one of {', '.join(_KNOWN)}")
    if not isinstance(told.get("id"), str) or not told["id"]:
        yield Fault(f"{at}.id", str(told.get("id")), "must be a text")
    if not _number(told.get("score"), 0, 10):
        yield Fault(f"{at}.score", str(told.get("score")), "must be the mean of the reviewers' scores")
    if year is not None and not (type(year) is int and 1900 <= year <= 2200):
        yield Fault(f"{at}.year", str(year), "must be a year, or left out")
    if not isinstance(told.get("subfield") or "", str):
        yield Fault(f"{at}.subfield", str(told["subfield"])[:40], "must be a text, or left out")
    if support is not None and not _number(support, 0, 1):
        yield Fault(f"{at}.support_ratio", str(support), "must be 0 to 1, or left out")


def _number(value: Any, low: float, high: float) -> bool:
    return type(value) in (int, float) and low <= value <= high

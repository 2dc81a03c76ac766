"""Premise and hypothesis pairs: read from JSON lines, decided by any judge."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from firetrial_judge.claims import Claim, kind_of
from firetrial_judge.judgement import Judge, in_order
from firetrial_judge.verdict import Verdict
from firetrial_kit.errors import Fault, check

_AT_ONCE = 8  # questions that a model is asked at the same time
_PREPARED = 64
_FIELDS = ("premise", "hypothesis")


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair to decide. `id` is a string or a number, as given."""

    id: str | int | float
    premise: str
    hypothesis: str


@runtime_checkable
class Prepares(Protocol):
    """A judge that is faster when it is told what comes."""

    async def prepare(self, texts: Sequence[str]) -> None:
        """Get ready for these texts."""


def read_pairs(text: str) -> list[Pair]:
    """Pairs from JSON lines; empty lines are skipped. Raises INVALID with every fault, its line and field."""
    pairs: list[Pair] = []
    faults: list[Fault] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            found = _pair(line, f"line {number}")
            if isinstance(found, Pair):
                pairs.append(found)
            else:
                faults += found
    check("the pairs", faults)
    return pairs


def _pair(line: str, where: str) -> Pair | list[Fault]:
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        return [Fault(where, line[:40], f"must be a JSON object: {error}")]
    if not isinstance(given, dict):
        return [Fault(where, line[:40], "must be a JSON object with id, premise and hypothesis")]
    faults = [
        Fault(f"{where}, {name}", json.dumps(given.get(name))[:40], "must be a text that is not empty")
        for name in _FIELDS
        if not isinstance(given.get(name), str) or not given[name].strip()
    ]
    id_ = given.get("id")
    if isinstance(id_, bool) or not isinstance(id_, (str, int, float)):
        faults.insert(0, Fault(f"{where}, id", json.dumps(id_)[:40], "must be a string or a number"))
    return faults or Pair(id_, given["premise"], given["hypothesis"])  # type: ignore[arg-type]


async def decide(judge: Judge, pairs: Sequence[Pair]) -> AsyncIterator[tuple[str | int | float, Verdict]]:
    """Each pair's id and verdict, in order, a few at a time."""

    async def one(pair: Pair) -> Verdict:
        claim = Claim("c1", pair.hypothesis, 0, len(pair.hypothesis), kind_of(pair.hypothesis))
        rulings, _ = await judge.rule([claim], pair.premise)
        return in_order([claim], rulings)[0].verdict

    size = _PREPARED if isinstance(judge, Prepares) else _AT_ONCE
    for at in range(0, len(pairs), size):
        batch = pairs[at : at + size]
        if isinstance(judge, Prepares):
            await judge.prepare([text for pair in batch for text in (pair.premise, pair.hypothesis)])
        for pair, verdict in zip(batch, await asyncio.gather(*map(one, batch)), strict=True):
            yield pair.id, verdict

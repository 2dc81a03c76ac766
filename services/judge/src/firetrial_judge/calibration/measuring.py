"""A judge's verdicts on labelled claims, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from firetrial_judge.calibration.agreement import Agreement, Compared, agreement
from firetrial_judge.calibration.labels import Item
from firetrial_judge.claims import Claim
from firetrial_judge.judge import Judge
from firetrial_judge.verdict import Verdict


async def measured(judge: Judge, items: Sequence[Item]) -> Agreement:
    """Let the judge rule on every item, and compare. Raises what the judge raises."""
    verdicts = await _verdicts(judge, items)
    return agreement(
        [
            Compared(item.kind.value, verdict, tuple(label for _, label in item.labels), item.label)
            for item, verdict in zip(items, verdicts, strict=True)
        ]
    )


async def _verdicts(judge: Judge, items: Sequence[Item]) -> list[Verdict]:
    """In the order of the items; neighbours that share a reference are asked about together."""
    numbered = list(enumerate(items))
    found: dict[str, Verdict] = {}
    for reference, group in groupby(numbered, key=lambda entry: entry[1].reference):
        claims = [Claim(f"c{n}", item.claim, 0, len(item.claim), item.kind) for n, item in group]
        rulings, _ = await judge.rule(claims, reference)
        found |= {ruling.claim_id: ruling.verdict for ruling in rulings}
    return [found.get(f"c{n}", Verdict.UNSCORED) for n, _ in numbered]

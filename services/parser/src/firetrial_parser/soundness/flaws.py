"""Injected flaws: the data sets and metrics of a proposal replaced by ones that have nothing to do with it.

The hypothesis stays as it is, so that an assessor that reads must find fault with what it approved before.
What replaces them follows from the proposal alone: the same one always gets the same flaws.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from firetrial_kit.ids import digest
from firetrial_parser.soundness.proposal import Proposal

VERSION = "flaws-1"


def injected(proposal: Proposal) -> Proposal:
    """The proposal with every data set and metric replaced, wherever they are named but in the hypothesis."""
    pool = json.loads((files("firetrial_parser.soundness.prompts") / f"{VERSION}.json").read_text("utf-8"))
    swaps = dict(_swaps(proposal, pool))
    if not swaps:
        return proposal
    longest = sorted(swaps, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", re.IGNORECASE)

    def change(part: str, text: str) -> str:
        if part == "hypothesis":
            return text
        if ".datasets[" in part or ".metrics[" in part:
            return swaps[text.lower()]
        return pattern.sub(lambda match: swaps[match[0].lower()], text)

    return proposal.mapped(change)


def _swaps(proposal: Proposal, pool: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Lower-case name → what takes its place, never one that the proposal knows."""
    shown = proposal.shown.lower()
    for kind in ("datasets", "metrics"):
        fresh = [name for name in pool[kind] if name.lower() not in shown]
        start = int(digest(proposal.to_json(), kind, length=8), 16)
        names = dict.fromkeys(name.lower() for one in proposal.experiments for name in getattr(one, kind))
        for i, name in enumerate(names):
            yield name, fresh[(start + i) % len(fresh)]

"""Names that a proposal gives to its own work, masked, so that no assessor knows it again.

Masked are names that a self-naming phrase introduces ("we propose X", "a framework called X", "our method,
X"), what a title puts before its colon, and coined names beside "our". Data sets and baselines keep theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from firetrial_parser.soundness.proposal import Proposal

_NAME = r"(?:[A-Z][a-z]*(?:[A-Z0-9][A-Za-z0-9]*)+|[A-Z]{2,}[A-Za-z0-9]*|[A-Z][a-z]+)(?:[-+][A-Za-z0-9]+)*\+*"
_COINED = (
    r"(?:[A-Z]+[a-z]+[A-Z0-9][A-Za-z0-9]*|[a-z]+[A-Z][A-Za-z0-9]*|[A-Z]{2,}[A-Za-z0-9]*)"
    r"(?:[-+][A-Za-z0-9]+)*\+*"
)
_THING = (
    r"(?:method|model|approach|framework|system|algorithm|architecture|benchmark|toolkit|library|pipeline|"
    r"technique|procedure|objective|loss|agent|network|dataset)"
)
_SELF = (
    re.compile(
        r"\b(?:[Ww]e|[Tt]his (?:paper|work|study)) (?:\w+ly )?(?:propose|introduce|present|develop|"
        rf"design|build|release|call|name|term|dub)s?\s+(?:(?:a|an|the|our|it|this|new|novel|simple)\s+)*({_NAME})"
    ),
    re.compile(rf"\b(?:called|named|dubbed|termed|coined|denoted)\s+({_NAME})"),
    re.compile(rf"\b[Oo]ur (?:\w+[- ])?(?:{_THING})\b,?\s+\(?({_COINED})"),
    re.compile(rf"\b[Oo]ur\s+({_COINED})"),
    re.compile(rf"\bthe ({_COINED}) {_THING}\b"),
)
_TITLE = re.compile(rf"^\s*({_NAME})\s*:")
_COMMON = frozenset(["the", "a", "an", "this", "that", "our", "new", "novel", "simple", "two", "how", "what"])


def own_names(proposal: Proposal) -> tuple[str, ...]:
    """The names of its own, as they first come; those of data sets and baselines are not among them."""
    known = {name for one in proposal.experiments for name in (*one.datasets, *one.baselines)}
    words = set(re.findall(r"\w+", proposal.shown)) | _COMMON
    found = dict.fromkeys(_found(proposal))
    # A plain word that also stands there in lower case is no name.
    return tuple(name for name in found if name not in known and name.lower() not in words)


def masked(proposal: Proposal) -> Proposal:
    """The proposal with each of its names as NAME-1, NAME-2, …; the title, which nobody is shown, stays."""
    names = {name: f"NAME-{i}" for i, name in enumerate(own_names(proposal), 1)}
    if not names:
        return proposal
    longest = sorted(names, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?!\w)")
    return proposal.mapped(lambda _, text: pattern.sub(lambda match: names[match[0]], text))


def _found(proposal: Proposal) -> Iterator[str]:
    if title := _TITLE.match(proposal.title):
        yield title[1]
    for _, text in proposal.parts():
        for pattern in _SELF:
            yield from (match[1] for match in pattern.finditer(text))

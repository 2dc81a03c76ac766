"""The words that say what a number is about, in a conclusion and in an output."""

import re

from firetrial_analyzer.words import topic

# Words that stand beside any number.
_ANY = topic(
    """about across after all approximately around average averaged both by data done each experiment
    finished for from gives got has have in is mean minus model models number of on output over overall per
    percent plus points reach reached reaches report result results run score see show step steps study than
    the to total up
    using value values versus vs was with"""
)
_BREAK = re.compile(r"(?<=[.;!?])\s+(?=[A-Z(“\"*-])|\n| - (?=[A-Z])")
_JOINT = re.compile(r"[_/]|(?<=[a-z])(?=[A-Z])")


def label(text: str) -> frozenset[str]:
    """Stems of the words that tell numbers apart; parts of snake_case and camelCase names are words."""
    return topic(_JOINT.sub(" ", text)) - _ANY


def sentences(text: str) -> list[tuple[int, int]]:
    """Spans of sentences; a line break or an item of a list ends one."""
    spans, start = [], 0
    for found in _BREAK.finditer(text):
        spans.append((start, found.start()))
        start = found.end()
    spans.append((start, len(text)))
    return [(low, high) for low, high in spans if text[low:high].strip()]


def shared(one: frozenset[str], other: frozenset[str]) -> int:
    """How many words two labels have in common; a shortened word (acc) counts where it begins the other."""
    return len(one & other) + sum(
        1 for left in one - other if len(left) >= 3 and any(_short(left, right) for right in other - one)
    )


def _short(left: str, right: str) -> bool:
    return len(right) >= 3 and (left.startswith(right) or right.startswith(left))

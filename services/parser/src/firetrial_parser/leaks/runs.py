"""Runs of words that two texts have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from firetrial_parser.document import Document
from firetrial_parser.prose import phrases

_WORD = re.compile(r"\w+")
# Prose has these, lists of models and numbers have not: those are no phrase that finds a paper.
_JOINING = frozenset(
    re.findall(
        r"\w+",
        """a an the of in on at to for from by with without and or but as is are was were be been that this
        these those it its they their we our which when where who whether than not no can may do does has have
        how what under across between each all more most such only also if then""",
    )
)
_LEAST_JOINING = 2


def prose_phrases(document: Document, length: int) -> set[tuple[str, ...]]:
    """All runs of `length` words within a paragraph or caption of a paper that read as prose."""
    texts = [document.title, document.abstract, *(caption.text for caption in document.captions)]
    texts += [paragraph for section in document.sections for paragraph in section.paragraphs]
    texts += () if document.sections else document.pages
    found = set().union(*(phrases(text, length) for text in texts))
    return {run for run in found if sum(word in _JOINING for word in run) >= _LEAST_JOINING}


def shared_runs(text: str, taken: AbstractSet[tuple[str, ...]], length: int) -> Iterator[tuple[int, int]]:
    """The spans of a text, in characters, whose words stand in `taken`; overlapping runs are one."""
    words = list(_WORD.finditer(text))
    folded = [word[0].lower() for word in words]
    open_: tuple[int, int] | None = None
    for i in range(len(words) - length + 1):
        if tuple(folded[i : i + length]) not in taken:
            continue
        start, end = words[i].start(), words[i + length - 1].end()
        if open_ is not None and start > open_[1]:
            yield open_
            open_ = None
        open_ = (open_[0] if open_ else start, end)
    if open_ is not None:
        yield open_

"""Where a passage that a model quotes stands in the text: word for word, else the nearest sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from firetrial_judge.verdict import Span

_WORD = re.compile(r"\w+")


def find(quote: str, text: str) -> Span | None:
    """The passage, spaces and case aside; None where it is not there."""
    bare = "".join(quote.split()).lower()
    if not bare:
        return None
    positions = [i for i, c in enumerate(text) if not c.isspace()]
    solid = "".join(text[i] for i in positions).lower()
    if len(solid) != len(positions):  # a few letters change their length in lower case
        return None
    at = solid.find(bare)
    return Span(positions[at], positions[at + len(bare) - 1] + 1) if at >= 0 else None


def nearest(quote: str, text: str, sentences: Sequence[Span]) -> Span | None:
    """The sentence that shares the largest part of its words with the quote; None where none shares any."""
    wanted = _words(quote)
    best, most = None, 0.0
    for span in sentences:
        words = _words(text[span.start : span.end])
        share = len(wanted & words) / len(wanted | words) if wanted | words else 0.0
        if share > most:
            best, most = span, share
    return best


def sentence_of(span: Span, sentences: Sequence[Span]) -> Span:
    """From the sentence that a span begins in to the one that it ends in; itself where it is in none."""
    touched = [s for s in sentences if s.start < span.end and span.start < s.end]
    return Span(touched[0].start, touched[-1].end) if touched else span


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}

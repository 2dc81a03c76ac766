"""Where a passage that a model quotes stands in the text: word for word, else the nearest sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from firetrial_judge.verdict import Span

_WORD = re.compile(r"\w+")


class Quoted:
    """A text made ready to be quoted from, by passage or by sentence; spans are in its characters."""

    def __init__(self, text: str, sentences: Sequence[Span] = ()) -> None:
        self._positions = [i for i, c in enumerate(text) if not c.isspace()]
        # Letters that change their length in lower case would move all that follows.
        lowered = [c if len(c.lower()) != 1 else c.lower() for c in map(text.__getitem__, self._positions)]
        self._solid = "".join(lowered)
        self._sentences = [(span, _words(text[span.start : span.end])) for span in sentences]

    def passage(self, quote: str) -> Span | None:
        """Where the quote stands, spaces and case aside; None where it does not."""
        bare = "".join(c if len(c.lower()) != 1 else c.lower() for c in quote if not c.isspace())
        at = self._solid.find(bare) if bare else -1
        if at < 0:
            return None
        return Span(self._positions[at], self._positions[at + len(bare) - 1] + 1)

    def sentence(self, quote: str) -> Span | None:
        """The sentences that the quote stands in, else the one that shares most words; None if none does."""
        found = self.passage(quote)
        touched = [s for s, _ in self._sentences if found and s.start < found.end and found.start < s.end]
        if touched:
            return Span(touched[0].start, touched[-1].end)
        return found or self._nearest(_words(quote))

    def _nearest(self, wanted: set[str]) -> Span | None:
        best, most = None, 0.0
        for span, words in self._sentences:
            share = len(wanted & words) / len(wanted | words) if wanted | words else 0.0
            if share > most:
                best, most = span, share
        return best


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}

"""Words that are said to be the paper's own: where they stand, and whether they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from firetrial_parser.document import Document
from firetrial_parser.tree import Quote

QUOTE_SCORE = 0.85  # a passage that agrees less is another one; a word of ten may differ
# However few letters these are, a text that has others says something else.
_TELLING = re.compile(r"\d+(?:[.,]\d+)*|\b(?:not?|never|none|neither|nor|without|cannot)\b|n[’']t\b")


def quoted(text: str, document: Document) -> Quote:
    """The words with their place; page 0 where the paper does not hold them.

    They are found where a passage agrees by at least `QUOTE_SCORE` (see `Document.locate`), with the same
    numbers and negations.
    """
    found = document.locate(text)
    if found is None:
        return Quote(text)
    anchor = found.anchor
    passage = document.pages[anchor.page - 1][anchor.start : anchor.end]
    if found.score < 1 and (found.score < QUOTE_SCORE or _telling(text) != _telling(passage)):
        return Quote(text, score=round(found.score, 4))
    return Quote(text, anchor.page, anchor.start, anchor.end, round(found.score, 4))


def found_of(texts: Iterable[str], document: Document) -> tuple[Quote, ...]:
    """Those of the texts, each once, that the paper holds."""
    quotes = (quoted(text, document) for text in dict.fromkeys(texts) if text.strip())
    return tuple(quote for quote in quotes if quote.page)


def _telling(text: str) -> Counter[str]:
    return Counter(_TELLING.findall(text.lower()))

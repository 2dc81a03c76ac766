"""What finds a paper when it is typed into a search: title, authors, ids and addresses, however spelled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import Pattern

from firetrial_parser.addresses import Addresses
from firetrial_parser.document import Document

TITLE_WORDS = 4  # shorter titles are common words
HEAD_WORDS = 3  # of a title's part before its colon
TITLE_RUN = 6  # words of a title in a row
_GAP = r"[\W_]+"


def paper_patterns(document: Document) -> Iterator[tuple[str, Pattern[str]]]:
    """(kind, pattern) for each name of the paper; kinds are those of `leak.LeakKind`."""
    yield from (("TITLE", pattern) for pattern in _title(document.title))
    for author in document.authors:
        yield from (("AUTHOR", pattern) for pattern in _author(author))
    yield from (("ADDRESS", pattern) for pattern in Addresses.of(document).patterns())


def _title(title: str) -> Iterator[Pattern[str]]:
    words = re.findall(r"\w+", title)
    head = re.findall(r"\w+", re.split(r"[:?!–—]", title, maxsplit=1)[0])
    if len(words) >= TITLE_WORDS:
        yield _words(words)
    if HEAD_WORDS <= len(head) < len(words):
        yield _words(head)
    for i in range(len(words) - TITLE_RUN + 1):
        yield _words(words[i : i + TITLE_RUN])


def _author(author: str) -> Iterator[Pattern[str]]:
    parts = re.findall(r"[^\W\d_][\w'’.-]*", author)
    if len(parts) < 2:
        return
    yield _words(parts)
    surname, initial = re.escape(parts[-1]), re.escape(parts[0][0])
    yield re.compile(rf"\b{initial}\.\s*(?:[A-Z]\.\s*)*{surname}\b")
    # A surname alone is a common word; these say that it is an author's.
    yield re.compile(rf"\b{surname}\s*(?:,?\s+et\s+al\b|(?:\s+(?:and|&)\s+\w+)?,?\s*[(\[]?(?:19|20)\d\d\b)")


def _words(words: list[str]) -> Pattern[str]:
    return re.compile(r"\b" + _GAP.join(map(re.escape, words)) + r"\b", re.IGNORECASE)

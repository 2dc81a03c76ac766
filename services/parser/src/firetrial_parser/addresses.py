"""Where a paper lies in the world: its ids, what names them in a text, and what its runs must not reach."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from re import Pattern

from firetrial_parser.document import Document

_ARXIV = re.compile(r"(?P<id>\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"'<>(){}\[\]]+")
_OPENREVIEW = re.compile(r"openreview\.net/(?:forum|pdf)\?id=(?P<id>[\w-]{6,20})")
_FRONT = 4_000  # characters: further down, addresses are those of others
_MIRRORS = ("ar5iv.org/abs/{0}", "alphaxiv.org/abs/{0}")


@dataclass(frozen=True, slots=True)
class Addresses:
    """A paper's ids, "" where they are not known. `arxiv` goes without its version."""

    arxiv: str = ""
    doi: str = ""
    openreview: str = ""

    @classmethod
    def of(cls, document: Document) -> Addresses:
        """As the paper's own first page tells them."""
        front = document.pages[0][:_FRONT] if document.pages else ""
        arxiv = _ARXIV.fullmatch(document.arxiv_id.strip())
        doi, openreview = _DOI.search(front), _OPENREVIEW.search(front)
        return cls(
            arxiv["id"] if arxiv else "",
            doi[0].rstrip(".,;") if doi else "",
            openreview["id"] if openreview else "",
        )

    def denied(self) -> tuple[str, ...]:
        """Rules for `Network.denied`, none of which names the paper by its title.

        What is encrypted shows no path, so each of them closes its whole host there. Hosts that serve data
        as well as papers are therefore left out.
        """
        return tuple(self._denied())

    def _denied(self) -> Iterator[str]:
        if self.arxiv:
            yield from (f"arxiv.org/{part}/{self.arxiv}" for part in ("abs", "pdf", "html", "e-print"))
            yield from (mirror.format(self.arxiv) for mirror in _MIRRORS)
            yield f"doi.org/10.48550/arXiv.{self.arxiv}"
        if self.doi:
            yield f"doi.org/{self.doi}"
        if self.openreview:
            yield from (f"openreview.net/{part}?id={self.openreview}" for part in ("forum", "pdf"))

    def patterns(self) -> Iterator[Pattern[str]]:
        """What finds an id in a text, also where it was taken apart."""
        for id_ in (self.arxiv, self.doi, self.openreview):
            parts = re.findall(r"[A-Za-z0-9]+", id_)
            if parts:
                spelled = r"[\W_]{0,3}".join(parts)
                yield re.compile(rf"(?<![A-Za-z0-9]){spelled}(?:v\d+)?(?![A-Za-z0-9])", re.IGNORECASE)


UNKNOWN = Addresses()

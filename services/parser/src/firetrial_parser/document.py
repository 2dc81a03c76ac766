"""A paper as structured text: what every reader returns and everything after it works on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from firetrial_parser.anchor import Anchor, Found, locate

Kind = Literal["figure", "table"]
Format = Literal["pdf", "html", "latex", "markdown", "text", "tree"]
PARAGRAPH_BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the prose under it, up to the next heading of any level.

    `level` is 1 for a top section; `page` counts from 1; paragraphs of `text` are parted by a blank line, and
    `anchors` tells where each of them begins (its part on the page where that is). `supplementary` is set
    for appendices and what else follows the paper proper.
    """

    title: str
    level: int
    page: int
    text: str
    supplementary: bool = False
    anchors: tuple[Anchor, ...] = ()

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs of the section, none empty."""
        return [part for part in self.text.split(PARAGRAPH_BREAK) if part.strip()]


@dataclass(frozen=True, slots=True)
class Caption:
    """The caption of a figure or table. `label` is spelt out ("Figure 1"), `text` goes without it.

    `section` is the index of the section it stands in, or None before the first heading.
    """

    label: str
    kind: Kind
    page: int
    text: str
    section: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table as cells, row by row, each row as long as the first; spanned cells are empty but for the first.

    `label` is that of its caption, or "" without one; the first `header_rows` rows name the columns.
    """

    label: str
    page: int
    rows: tuple[tuple[str, ...], ...]
    header_rows: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed paper. `sha256` is that of the file's bytes, `pages` the whole text page by page.

    A source without pages is one page. `references` are the entries of the bibliography; `venue` is "" and
    `year` 0 where the paper does not say.
    """

    sha256: str
    format: Format
    title: str
    abstract: str
    authors: tuple[str, ...]
    sections: tuple[Section, ...]
    captions: tuple[Caption, ...]
    pages: tuple[str, ...]
    arxiv_id: str = ""
    tables: tuple[Table, ...] = ()
    references: tuple[str, ...] = ()
    venue: str = ""
    year: int = 0

    @property
    def text(self) -> str:
        """The text of all pages."""
        return "\n".join(self.pages)

    def caption(self, label: str) -> Caption | None:
        """The caption with this label, however it is spelt ("Fig. 3", "figure 3a")."""
        wanted = normal_label(label)
        return next((c for c in self.captions if normal_label(c.label) == wanted), None)

    def locate(self, text: str) -> Found | None:
        """Where a passage stands in the pages, or None where it is not there (see `anchor.locate`)."""
        return locate(text, self.pages)

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` reads back without loss."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Document:
        """Inverse of `to_json`."""
        return cls(
            **{
                **data,
                "authors": tuple(data["authors"]),
                "pages": tuple(data["pages"]),
                "sections": tuple(_section(s) for s in data["sections"]),
                "captions": tuple(Caption(**c) for c in data["captions"]),
                "tables": tuple(_table(t) for t in data.get("tables", ())),
                "references": tuple(data.get("references", ())),
            }
        )


def _section(data: Mapping[str, Any]) -> Section:
    return Section(**{**data, "anchors": tuple(Anchor(**a) for a in data.get("anchors", ()))})


def _table(data: Mapping[str, Any]) -> Table:
    return Table(**{**data, "rows": tuple(map(tuple, data["rows"]))})


_LABEL = re.compile(r"(?i)\b(fig(?:ure|\.)?|tab(?:le|\.)?)s?\s*\.?\s*([a-z]?\.?\d+(?:\.\d+)*|[ivxlc]+\b)")


def normal_label(label: str) -> str:
    """`Fig. 3a` → `figure 3`, `TABLE II` → `table ii`; else the text itself, lower-cased."""
    match = _LABEL.search(label)
    if match is None:
        return label.strip().lower()
    kind = "figure" if match[1].lower().startswith("fig") else "table"
    return f"{kind} {match[2].lower()}"

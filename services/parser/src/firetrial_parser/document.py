"""A paper as structured text: what every reader returns and everything after it works on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal["figure", "table"]
PARAGRAPH_BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the prose under it, up to the next heading of any level.

    `level` is 1 for a top section; `page` counts from 1; paragraphs of `text` are parted by a blank line.
    """

    title: str
    level: int
    page: int
    text: str

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
class Document:
    """A parsed paper. `sha256` is that of the file's bytes, `pages` the whole text page by page."""

    sha256: str
    format: Literal["pdf", "markdown", "text"]
    title: str
    abstract: str
    authors: tuple[str, ...]
    sections: tuple[Section, ...]
    captions: tuple[Caption, ...]
    pages: tuple[str, ...]
    arxiv_id: str = ""

    @property
    def text(self) -> str:
        """The text of all pages."""
        return "\n".join(self.pages)

    def caption(self, label: str) -> Caption | None:
        """The caption with this label, however it is spelt ("Fig. 3", "figure 3a")."""
        wanted = normal_label(label)
        return next((c for c in self.captions if normal_label(c.label) == wanted), None)

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
                "sections": tuple(Section(**s) for s in data["sections"]),
                "captions": tuple(Caption(**c) for c in data["captions"]),
            }
        )


_LABEL = re.compile(r"(?i)\b(fig(?:ure|\.)?|tab(?:le|\.)?)s?\s*\.?\s*([a-z]?\.?\d+(?:\.\d+)*|[ivxlc]+\b)")


def normal_label(label: str) -> str:
    """`Fig. 3a` → `figure 3`, `TABLE II` → `table ii`; else the text itself, lower-cased."""
    match = _LABEL.search(label)
    if match is None:
        return label.strip().lower()
    kind = "figure" if match[1].lower().startswith("fig") else "table"
    return f"{kind} {match[2].lower()}"

"""The pieces of a source without pages, in their order, made into a document."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from firetrial_parser.anchor import Anchor
from firetrial_parser.document import PARAGRAPH_BREAK, Caption, Document, Format, Kind, Section, Table
from firetrial_parser.headings import is_bibliography, supplementary
from firetrial_parser.intake import refuse

NO_PAGE = 0  # sections, captions and tables of a source without pages


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; `level` is 1 for the topmost kind."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True, slots=True)
class Captioned:
    """The caption of a figure or table, its label spelt out."""

    label: str
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Cells:
    """A table row by row; without a label of its own it has that of the caption beside it."""

    rows: tuple[tuple[str, ...], ...]
    header_rows: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """An entry of the bibliography."""

    text: str


Piece = Heading | Paragraph | Captioned | Cells | Reference


@dataclass(frozen=True, slots=True)
class Front:
    """What a source says of itself before its first section."""

    title: str = ""
    authors: tuple[str, ...] = ()
    abstract: str = ""
    arxiv_id: str = ""
    venue: str = ""
    year: int = 0


@dataclass(slots=True)
class _Open:
    title: str
    level: int
    paragraphs: list[str] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)


class _Assembly:
    """Takes the pieces one by one; the text of the one page grows with them."""

    def __init__(self) -> None:
        self.opened: list[_Open] = []
        self.captions: dict[str, Caption] = {}
        self.tables: list[Table] = []
        self.references: list[str] = []
        self._parts: list[str] = []
        self._length = 0

    @property
    def text(self) -> str:
        """The page's text so far."""
        return "".join(self._parts).rstrip()

    def show(self, text: str) -> Anchor:
        """Put a part on the page."""
        start = self._length
        self._parts += [text, PARAGRAPH_BREAK]
        self._length += len(text) + len(PARAGRAPH_BREAK)
        return Anchor(1, start, start + len(text))

    def take(self, piece: Piece) -> None:
        """Put a piece on the page and where it belongs."""
        anchor = self.show(_shown(piece))
        match piece:
            case Heading():
                self.opened.append(_Open(piece.text, piece.level))
            case Captioned():
                section = len(self.opened) - 1 if self.opened else None
                caption = Caption(piece.label, piece.kind, NO_PAGE, piece.text, section)
                self.captions.setdefault(piece.label, caption)
            case Cells():
                self.tables.append(Table(piece.label, NO_PAGE, squared(piece.rows), piece.header_rows))
            case Reference():
                self.references.append(piece.text)
            case Paragraph():
                self._read(piece.text, anchor)

    def _read(self, text: str, anchor: Anchor) -> None:
        if not self.opened:
            return
        section = self.opened[-1]
        if is_bibliography(section.title):
            self.references.append(text)
        else:
            section.paragraphs.append(text)
            section.anchors.append(anchor)


def assemble(pieces: Sequence[Piece], front: Front, data: bytes, format_: Format) -> Document:
    """The document of a source's pieces. Raises INVALID where there is no text in them."""
    assembly = _Assembly()
    for part in (front.title, ", ".join(front.authors)):
        if part:
            assembly.show(part)
    for piece in _beside(pieces):
        assembly.take(piece)
    if not pieces or not assembly.text.strip():
        raise refuse("file", "0 characters", "there is no text in it; give the paper itself")
    return Document(
        sha256=hashlib.sha256(data).hexdigest(),
        format=format_,
        title=front.title,
        abstract=front.abstract,
        authors=front.authors,
        sections=_sections(assembly.opened),
        captions=tuple(assembly.captions.values()),
        pages=(assembly.text,),
        arxiv_id=front.arxiv_id,
        tables=tuple(assembly.tables),
        references=tuple(assembly.references),
        venue=front.venue,
        year=front.year,
    )


def _sections(opened: Sequence[_Open]) -> tuple[Section, ...]:
    beyond = supplementary([(section.title, section.level) for section in opened])
    top = min((section.level for section in opened), default=1)
    return tuple(
        Section(
            title=section.title,
            level=section.level - top + 1,
            page=NO_PAGE,
            text=PARAGRAPH_BREAK.join(section.paragraphs),
            supplementary=extra,
            anchors=tuple(section.anchors),
        )
        for section, extra in zip(opened, beyond, strict=True)
    )


def _shown(piece: Piece) -> str:
    match piece:
        case Captioned():
            return f"{piece.label}: {piece.text}"
        case Cells():
            return "\n".join(f"| {' | '.join(row)} |" for row in piece.rows)
        case _:
            return piece.text


def _beside(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, each table without a label given that of a table's caption right before or after it."""
    out = list(pieces)
    taken = {piece.label for piece in pieces if isinstance(piece, Cells)}
    for i, piece in enumerate(pieces):
        if not isinstance(piece, Cells) or piece.label:
            continue
        for near in (*pieces[max(0, i - 1) : i], *pieces[i + 1 : i + 2]):
            if isinstance(near, Captioned) and near.kind == "table" and near.label not in taken:
                out[i] = replace(piece, label=near.label)
                taken.add(near.label)
                break
    return out


def squared(rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The rows, each filled up with empty cells to the longest."""
    width = max(map(len, rows), default=0)
    return tuple((*row, *[""] * (width - len(row))) for row in rows)

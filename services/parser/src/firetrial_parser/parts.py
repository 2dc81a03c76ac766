"""A paper cut to what a model takes in one request: its front, and its sections in parts with their captions.

Sizes are UTF-8 bytes: about three make a token of any script, English having fewer tokens than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from firetrial_parser.document import PARAGRAPH_BREAK, Caption, Document
from firetrial_parser.findings import citations
from firetrial_parser.outlining import NO_HOME, home

BYTES_A_TOKEN = 3
MAX_PARTS = 64
OPENING = 0.4  # of the front's size, for the running text that a paper begins with
CAPTIONS = 0.3  # of a part's size, for the captions that belong to a piece of it
CAPTION_BYTES = 2_000  # of one caption with its cells


@dataclass(frozen=True, slots=True)
class Part:
    """Some sections of a paper, and the figures and tables that they speak of most."""

    titles: tuple[str, ...]
    text: str
    captions: str

    @property
    def name(self) -> str:
        """For people: "Results – Discussion"."""
        ends = dict.fromkeys((self.titles[0], self.titles[-1]))
        return " – ".join(ends)


def front(document: Document, size: int) -> dict[str, str]:
    """Titled texts that tell what the paper asks, of `size` bytes together."""
    opening = "\n\n".join([", ".join(document.authors), document.abstract, *_opening(document)])
    headings = "\n".join(f"{'  ' * (s.level - 1)}{s.title}" for s in document.sections)
    captions = "\n".join(f"{c.label}: {cut(c.text, 300)}" for c in document.captions)
    rest = int(size * (1 - OPENING) / 2)
    return {
        "TITLE": cut(document.title, 1_000),
        "BEGINNING": cut(opening, int(size * OPENING)),
        "HEADINGS": cut(headings, rest),
        "CAPTIONS": cut(captions, rest),
    }


def _opening(document: Document) -> Iterator[str]:
    """The first page, where venue and year stand, and the first sections."""
    yield cut(document.pages[0] if document.pages else "", 2_000)
    yield from (f"## {s.title}\n{s.text}" for s in document.sections[:3] if s.title.lower() not in NO_HOME)


def parts(document: Document, size: int) -> tuple[list[Part], int]:
    """The parts of at most `size` bytes each, and how many bytes are left out beyond `MAX_PARTS`."""
    captions = _captions_by_section(document)
    pieces = list(_pieces(document, captions, size))
    groups: list[list[_Piece]] = []
    room = 0
    for piece in pieces:
        if piece.size > room:
            groups.append([])
            room = size
        groups[-1].append(piece)
        room -= piece.size
    left = sum(piece.size for group in groups[MAX_PARTS:] for piece in group)
    return [_part(group) for group in groups[:MAX_PARTS]], left


@dataclass(frozen=True, slots=True)
class _Piece:
    """A section, or a piece of one that is too long, with the captions of the section."""

    title: str
    text: str
    captions: str

    @property
    def size(self) -> int:
        return _bytes(self.text) + _bytes(self.captions)


def _part(group: Sequence[_Piece]) -> Part:
    return Part(
        tuple(piece.title for piece in group),
        "\n\n".join(piece.text for piece in group),
        "\n".join(piece.captions for piece in group if piece.captions),
    )


def _pieces(document: Document, captions: dict[int, str], size: int) -> Iterator[_Piece]:
    for index, title, paragraphs in _sections(document):
        told = cut(captions.get(index, ""), int(size * CAPTIONS))
        for text in _split(f"## {title}", paragraphs, size - int(size * CAPTIONS)):
            yield _Piece(title, text, told)
            told = ""


def _sections(document: Document) -> Iterator[tuple[int, str, list[str]]]:
    if not document.sections:
        yield -1, document.title or "Text", document.text.split(PARAGRAPH_BREAK)
    for index, section in enumerate(document.sections):
        if section.title.lower() not in NO_HOME and section.text.strip():
            yield index, section.title, section.paragraphs


def _split(heading: str, paragraphs: Iterable[str], size: int) -> Iterator[str]:
    """Texts of at most `size` bytes, each under the heading, cut between paragraphs where that can be."""
    room = size - _bytes(heading) - 2
    held: list[str] = []
    for paragraph in paragraphs:
        for piece in _sliced(paragraph, room):
            if held and _bytes("\n\n".join([*held, piece])) > room:
                yield "\n\n".join([heading, *held])
                held = []
            held.append(piece)
    if held:
        yield "\n\n".join([heading, *held])


def _sliced(text: str, size: int) -> Iterator[str]:
    while _bytes(text) > size:
        head = cut(text, size, mark="")
        yield head
        text = text[len(head) :]
    yield text


def _captions_by_section(document: Document) -> dict[int, str]:
    """The captions, cells with them, by the section that speaks of them most; -1 where there is none."""
    cited = citations(document)
    cells = {table.label: "\n".join(" | ".join(row) for row in table.rows) for table in document.tables}
    first = next((index for index, *_ in _sections(document)), -1)
    there = {index for index, *_ in _sections(document)}
    told: dict[int, list[str]] = {}
    for caption in document.captions:
        at = home(caption, cited.get(caption.label, []), document)
        told.setdefault(at if at is not None and at in there else first, []).append(_told(caption, cells))
    return {index: "\n".join(lines) for index, lines in told.items()}


def _told(caption: Caption, cells: dict[str, str]) -> str:
    below = f"\n{cells[caption.label]}" if cells.get(caption.label) else ""
    return cut(f"{caption.label}: {caption.text}{below}", CAPTION_BYTES)


def cut(text: str, size: int, mark: str = " …") -> str:
    """The beginning of a text, of at most `size` bytes and the mark."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= size else data[:size].decode("utf-8", "ignore") + mark


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))

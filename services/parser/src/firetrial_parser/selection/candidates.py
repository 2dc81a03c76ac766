"""A batch of papers to choose from, read one by one: what cannot be read is told and never lost."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, Literal

from firetrial_kit.errors import Fault, check
from firetrial_kit.ids import digest
from firetrial_parser.rating import Rating

Format = Literal["jsonl", "csv"]
MAX_LINE = 256 * 1024  # bytes; titles and abstracts are far shorter
MAX_ITEMS = 100_000
MAX_ID = 200
MAX_TITLE = 1_000
MAX_ABSTRACT = 20_000
_SHOWN = 80
_NO_CSV = '"too long"!\n'  # what a line that is too long is read as: a fault wherever it stands


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is known of a paper before it is read; `id` is the submitter's own name for it.

    `paper_id` is that of a paper that was submitted here; it may stand for title and abstract.
    """

    id: str
    title: str = ""
    abstract: str = ""
    url: str = ""
    published: str = ""
    paper_id: str = ""

    def faults(self) -> Iterator[Fault]:
        """What is wrong with it."""
        for name, limit in (("id", MAX_ID), ("title", MAX_TITLE), ("abstract", MAX_ABSTRACT), ("url", 2000)):
            length = len(getattr(self, name))
            if length > limit:
                yield Fault(name, f"{length} characters", f"at most {limit} characters")
        if not self.id.strip():
            yield Fault("id", self.id, "must name the paper")
        if not self.paper_id and not (self.title.strip() or self.abstract.strip()):
            yield Fault("title", self.title, "give a title, an abstract, or the id of a submitted paper")
        if self.url and not self.url.startswith(("http://", "https://")):
            yield Fault("url", self.url, "must be http://… or https://…, or empty")
        yield from Rating(None, self.published).faults("item")


NAMES = tuple(field.name for field in fields(Candidate))


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of a batch by its place, counted from 1: the candidate, or why there is none."""

    place: int
    candidate: Candidate
    error: str = ""


def entries(path: Path, form: Format) -> Iterator[Entry]:
    """The items of a file, whatever its size: a line of JSON each, or CSV with a head.

    Where an item has a text as `error`, that is why its submitter could not give the paper.
    Raises INVALID for CSV whose head does not name the columns; everything else is told by the item.
    """
    seen: set[str] = set()
    for place, (row, error) in enumerate(_rows(path, form), 1):
        candidate, faults = _candidate(row)
        told = error or _text(row.get("error")) or "; ".join(map(str, [*faults, *candidate.faults()]))
        key = digest(candidate.id, length=16)
        if not told and key in seen:
            told = str(Fault("id", candidate.id, "is the id of an earlier item too; each needs its own"))
        seen.add(key)
        yield Entry(place, candidate, told)


def _candidate(row: Mapping[str, Any]) -> tuple[Candidate, list[Fault]]:
    faults = [
        Fault(name, str(value)[:_SHOWN], "must be a text")
        for name in NAMES
        if not isinstance(value := row.get(name, ""), str | int) or isinstance(value, bool)
    ]
    values = {name: _text(row.get(name)) for name in NAMES}
    return Candidate(**values), faults


def _text(value: object) -> str:
    """Texts as they are, a number as an id or year may be given; lone surrogates replaced."""
    given = value if isinstance(value, str) else str(value) if type(value) is int else ""
    return given.encode("utf-8", "replace").decode()


Row = tuple[Mapping[str, Any], str]


def _rows(path: Path, form: Format) -> Iterator[Row]:
    with path.open("rb") as file:
        yield from (_json_rows if form == "jsonl" else _csv_rows)(file)


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Each line without its end; None for one that is too long, which is passed over."""
    while line := file.readline(MAX_LINE + 1):
        if len(line) <= MAX_LINE or line.endswith(b"\n"):
            yield line
            continue
        while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
            pass
        yield None


def _json_rows(file: BinaryIO) -> Iterator[Row]:
    for line in _lines(file):
        if line is None:
            yield {}, f"the line is longer than {MAX_LINE} bytes"
        elif line.strip(b"\xef\xbb\xbf \t\r\n"):
            yield _object(line)


def _object(line: bytes) -> Row:
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return {}, f"the line is no JSON: {error}"
    if not isinstance(value, dict):
        return {}, "the line is no JSON object"
    return value, ""


def _csv_rows(file: BinaryIO) -> Iterator[Row]:
    lines = (_NO_CSV if line is None else line.decode("utf-8-sig", "replace") for line in _lines(file))
    reader = csv.reader(lines, strict=True)
    head = [name.strip().lower() for name in next(reader, [])]
    check("the batch", [] if {"id", "title"} <= set(head) else [_bad_head(head)])
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield {}, f"line {reader.line_num} is no CSV: {error}"
            continue
        if len(cells) == len(head):
            yield dict(zip(head, cells, strict=True)), ""
        elif cells:
            yield {}, f"line {reader.line_num} has {len(cells)} cells, its head {len(head)}"


def _bad_head(head: list[str]) -> Fault:
    cure = f"must name the columns id and title, and may name {', '.join(NAMES[2:])}"
    return Fault("line 1", ",".join(head)[:_SHOWN], cure)

"""LaTeX's floats and tables: captions with their labels, and cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from firetrial_parser.document import Kind
from firetrial_parser.tex import argument, closing, optional

TABULARS = frozenset(
    [
        "tabular",
        "tabular*",
        "tabularx",
        "tabulary",
        "tblr",
        "NiceTabular",
        "longtable",
        "longtblr",
        "supertabular",
    ]
)
FLOATS: dict[str, Kind] = {
    **dict.fromkeys(("figure", "wrapfigure", "SCfigure", "sidewaysfigure", "teaserfigure"), "figure"),
    **dict.fromkeys(("table", "wraptable", "SCtable", "sidewaystable", "longtable", "longtblr"), "table"),
}
MAX_CELLS = 200_000  # cells of one table
MAX_SPAN = 100

_INNER = re.compile(r"\\begin\s*\{(sub(?:figure|table)|subcaptionblock)\}")
_CAPTION = re.compile(r"\\(caption|captionof|label)\b\s*(?=[\[{])")
_BEGIN = re.compile(r"\\begin\s*\{([A-Za-z]+\*?)\}")
_RULE = re.compile(
    r"\\(hline|toprule|midrule|bottomrule|cmidrule|cline|specialrule|addlinespace|Xhline|hdashline|cdashline)\b"
)
_WHOLE = frozenset(["hline", "midrule", "specialrule", "Xhline"])
_CELL = re.compile(r"\\\\|\\tabularnewline\b|\\(?:begin|end)\s*\{|\\.|[{}&]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Captioning:
    """A caption in a float, in TeX, with the keys by which the text calls it; `kind` None is the float's."""

    text: str
    kind: Kind | None
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Float:
    """What stands in a float: captions in their order, keys of its parts, tables in TeX."""

    captions: tuple[Captioning, ...]
    parts: tuple[str, ...]
    tables: tuple[str, ...]


def environment(source: str, name: str, at: int) -> tuple[str, int]:
    """What stands in the environment whose beginning ends at `at`, and where the source goes on after it."""
    depth = 1
    for match in re.compile(rf"\\(begin|end)\s*\{{{re.escape(name)}\}}").finditer(source, at):
        depth += 1 if match[1] == "begin" else -1
        if depth == 0:
            return source[at : match.start()], match.end()
    return source[at:], len(source)


def read_float(content: str) -> Float:
    """Take a float apart."""
    outer, parts = _without_parts(content)
    captions: list[Captioning] = []
    loose: list[str] = []
    for command, kind, text in _commands(outer):
        if command != "label":
            captions.append(Captioning(text, kind, tuple(loose)))
            loose = []
        elif captions:
            last = captions[-1]
            captions[-1] = Captioning(last.text, last.kind, (*last.keys, text.strip()))
        else:
            loose.append(text.strip())
    return Float(tuple(captions), parts, tuple(tabulars(content)))


def _without_parts(content: str) -> tuple[str, tuple[str, ...]]:
    """The float without its sub-figures, and the keys of these."""
    out: list[str] = []
    keys: list[str] = []
    at = 0
    while (match := _INNER.search(content, at)) is not None:
        out.append(content[at : match.start()])
        inner, at = environment(content, match[1], match.end())
        keys += [text.strip() for command, _, text in _commands(inner) if command == "label"][:1]
    out.append(content[at:])
    return "".join(out), tuple(keys)


def _commands(source: str) -> Iterator[tuple[str, Kind | None, str]]:
    at = 0
    while (match := _CAPTION.search(source, at)) is not None:
        command, at = match[1], match.end()
        kind: Kind | None = None
        if command == "captionof":
            name, at = argument(source, at)
            kind = "figure" if name.strip() == "figure" else "table"
        at = optional(source, at)[1]
        text, at = argument(source, at)
        yield command, kind, text
        if command != "label":  # a label may stand inside its caption
            yield from (("label", None, key) for key in re.findall(r"\\label\s*\{([^{}]*)\}", text))


def tabulars(source: str) -> Iterator[str]:
    """The rows, in TeX, of each table in the source; one in a cell of another is part of that."""
    at = 0
    while (match := _BEGIN.search(source, at)) is not None:
        at = match.end()
        if match[1] in TABULARS:
            content, at = environment(source, match[1], at)
            yield _after_format(content, match[1])


def _after_format(content: str, name: str) -> str:
    at = 0
    if name in {"tabular*", "tabularx", "tabulary"}:
        at = argument(content, at)[1]
    at = optional(content, at)[1]
    return content[argument(content, at)[1] :]


def rows_of(table: str) -> tuple[list[list[str]], int]:
    """The cells of a table in TeX, row by row, and how many rows stand above its first rule inside."""
    table = re.sub(r"\\endfirsthead\b.*?\\endhead\b", r"\\midrule ", table, count=1, flags=re.DOTALL)
    table = re.sub(r"\\end(?:first)?head\b", r"\\midrule ", table)
    rows: list[list[str]] = []
    heads = count = 0
    for raw in _rows(table):
        unruled = [_unruled(cell) for cell in raw]
        if unruled[0][1] and rows and not heads:
            heads = len(rows)
        cells = [part for cell, _ in unruled for part in _spread(cell)]
        count += len(cells)
        if count > MAX_CELLS:
            break
        if any(cell.strip() for cell in cells):
            rows.append(cells)
    return rows, heads if heads < len(rows) else 0


def _rows(table: str) -> Iterator[list[str]]:
    """The cells of each row, cut where a row or a cell ends that is in no group and no environment."""
    row: list[str] = []
    start = depth = 0
    for match in _CELL.finditer(table):
        sign = match[0]
        if sign in {"{", "}"} or sign.startswith((r"\begin", r"\end")):
            # The brace of "\end{" is closed again, so that it takes one off with its environment.
            depth = max(0, depth + {"{": 1, "}": -1}.get(sign, 2 if sign.startswith(r"\begin") else 0))
        elif depth == 0 and sign in {"&", r"\\", r"\tabularnewline"}:
            row.append(table[start : match.start()])
            start = match.end()
            if sign != "&":
                yield row
                row = []
                start = optional(table, start)[1]
    row.append(table[start:])
    yield row


def _unruled(cell: str) -> tuple[str, bool]:
    """The cell without the rules before it, and whether one of them crosses the whole table."""
    cell, whole = cell.lstrip(), False
    while (match := _RULE.match(cell)) is not None:
        whole = whole or match[1] in _WHOLE
        at = optional(cell, match.end())[1]
        if cell[at : at + 1] == "(":  # \cmidrule(lr){2-3}
            at = cell.find(")", at) + 1 or len(cell)
        while cell[at : at + 1] == "{":
            at = min(closing(cell, at) + 1, len(cell))
        cell = cell[at:].lstrip()
    return cell, whole


def _spread(cell: str) -> Iterator[str]:
    """The cell, and an empty one for each further column that it spans."""
    match = re.match(r"\s*\\multicolumn\s*\{\s*(\d{1,3})\s*\}", cell)
    yield cell
    yield from [""] * (min(int(match[1]), MAX_SPAN) - 1 if match else 0)

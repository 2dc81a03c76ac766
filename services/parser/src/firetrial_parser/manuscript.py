"""The body of a LaTeX paper, read in one go: sections, paragraphs, floats, numbers and references to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

from firetrial_parser.assembling import Captioned, Cells, Heading, Paragraph, Piece, Reference
from firetrial_parser.bibliography import bibitems
from firetrial_parser.floats import FLOATS, TABULARS, Float, environment, read_float, rows_of, tabulars
from firetrial_parser.tex import argument, optional, plain

_LEVELS = {"part": 1, "chapter": 1, "section": 1, "subsection": 2, "subsubsection": 3}
_MARK = re.compile(
    r"\\(?P<cut>part|chapter|section|subsection|subsubsection)\b(?P<star>\*?)(?=\s*[\[{])"
    r"|\\begin\s*\{(?P<begin>[A-Za-z]+)\*?\}"
    r"|\\end\s*\{(?P<end>[A-Za-z]+)\*?\}"
    r"|\\(?P<bib>bibliography|printbibliography)\b"
    r"|\\(?P<label>label)\s*\{(?P<key>[^{}]{1,200})\}"
    r"|\\(?P<word>appendix|item|par|paragraph|subparagraph|maketitle)\b"
    r"|(?P<blank>\n[ \t]*\n\s*)"
)
_REFERENCE = re.compile(
    r"\\(ref|eqref|cref|Cref|autoref|Autoref|pageref|nameref|vref|subref|labelcref)\b\*?\s*\{([^{}]{1,500})\}"
    r"|\\hyperref\s*\[[^\]]{0,200}\]"
)
_DROPPED = frozenset(
    [
        "tikzpicture",
        "pgfpicture",
        "algorithm",
        "algorithmic",
        "CCSXML",
        "icmlauthorlist",
        "filecontents",
        "keywords",
    ]
)
_VERBATIM = frozenset(["verbatim", "Verbatim", "lstlisting", "minted", "alltt"])
_EQUATIONS = frozenset(["equation", "align", "gather", "multline", "eqnarray", "alignat"])
_WIDTHS = {"minipage": 1, "multicols": 1, "adjustwidth": 2, "adjustbox": 1, "list": 2}


@dataclass(frozen=True, slots=True)
class _Verbatim(Paragraph):
    """Text that is no TeX."""


class Manuscript:
    """Reads a body; `bibliography` is what stands where the paper asks for it."""

    def __init__(self, bibliography: Sequence[str] = ()) -> None:
        self._bibliography = list(bibliography)
        self._raw: list[Piece] = []
        self._text: list[str] = []
        self._numbers = {"figure": 0, "table": 0, "equation": 0}
        self._section = [0, 0, 0]
        self._appendix = False
        self._current = ("section", "")
        self._keys: dict[str, tuple[str, str]] = {}

    def read(self, body: str) -> None:
        """Take in a body, or a part of one."""
        at = 0
        while (match := _MARK.search(body, at)) is not None:
            self._text.append(body[at : match.start()])
            at = self._marked(match, body)
        self._text.append(body[at:])
        self._end_paragraph()
        self._cite()

    def pieces(self) -> list[Piece]:
        """What was read, as text: the paper's own numbers stand where it refers to something."""
        return [piece for raw in self._raw if _says_something(piece := self._shown(raw))]

    def _shown(self, piece: Piece) -> Piece:
        match piece:
            case Cells():
                return replace(piece, rows=tuple(tuple(map(self._plain, row)) for row in piece.rows))
            case Reference():
                return piece
            case _Verbatim():
                return Paragraph(piece.text)
            case _:
                return replace(piece, text=self._plain(piece.text))

    def _plain(self, source: str) -> str:
        return plain(_REFERENCE.sub(self._referred, source))

    def _referred(self, match: re.Match[str]) -> str:
        if match[1] is None or match[1] in {"pageref", "nameref"}:
            return ""
        found = [self._keys.get(key.strip(), ("", "")) for key in match[2].split(",")]
        if match[1] == "eqref":
            return ", ".join(f"({number})" for _, number in found if number)
        named = match[1].lower() in {"cref", "autoref"}
        return " and ".join(f"{kind.title()} {n}" if named else n for kind, n in found if n)

    # ---- what the marks mean

    def _marked(self, match: re.Match[str], body: str) -> int:
        """Do what a mark says; where the body goes on."""
        if match["cut"]:
            return self._cut(match["cut"], starred=bool(match["star"]), body=body, at=match.end())
        if match["begin"]:
            return self._begin(match, body)
        if match["label"]:
            self._keys.setdefault(match["key"].strip(), self._current)
            return match.end()
        if match["end"] in _EQUATIONS:
            return match.end()
        self._end_paragraph()
        if match["bib"]:
            self._cite()
            return argument(body, match.end())[1] if match["bib"] == "bibliography" else match.end()
        if match["word"] == "appendix":
            self._appendix, self._section = True, [0, 0, 0]
        if match["word"] in {"paragraph", "subparagraph"}:
            self._text.append(" ")
        return match.end()

    def _cut(self, command: str, *, starred: bool, body: str, at: int) -> int:
        self._end_paragraph()
        title, at = argument(body, optional(body, at)[1])
        level = _LEVELS[command]
        number = "" if starred or command in {"part", "chapter"} else self._numbered(level)
        self._raw.append(Heading(level, f"{number} {title}" if number else title))
        return at

    def _numbered(self, level: int) -> str:
        self._section[level - 1] += 1
        self._section[level:] = [0] * (3 - level)
        top = chr(ord("A") + min(self._section[0], 26) - 1) if self._appendix and self._section[0] else None
        parts = [top or str(self._section[0]), *map(str, self._section[1:level])]
        self._current = ("appendix" if self._appendix else "section", ".".join(parts))
        return ".".join(parts)

    def _begin(self, match: re.Match[str], body: str) -> int:
        name, at = match["begin"], match.end()
        starred = body[match.start() : at].rstrip("}").endswith("*")
        if name in _EQUATIONS:
            if not starred:
                self._numbers["equation"] += 1
                self._current = ("equation", str(self._numbers["equation"]))
            return at
        self._end_paragraph()
        full = f"{name}*" if starred else name
        if name in FLOATS or name in TABULARS or name in _DROPPED | _VERBATIM | {"thebibliography"}:
            content, at = environment(body, full, at)
            self._whole(name, content, body[match.start() : match.end()])
            return at
        if name == "abstract":
            self._raw.append(Heading(1, "Abstract"))
        at = optional(body, at)[1]
        for _ in range(_WIDTHS.get(name, 0)):
            at = argument(body, at)[1]
        return at

    def _whole(self, name: str, content: str, begin: str) -> None:
        """Take in an environment that is read in one piece."""
        if name == "thebibliography":
            self._bibliography = list(bibitems(content))
            self._cite()
        elif name in _VERBATIM:
            self._raw.append(_Verbatim(content.strip()))
        elif name in FLOATS:
            whole = name in TABULARS
            self._float(name, read_float(f"{begin}{content}\\end{{{name}}}" if whole else content))
        elif name in TABULARS:
            self._tables(list(tabulars(f"{begin}{content}\\end{{{name}}}")), [])

    def _float(self, name: str, found: Float) -> None:
        labels: list[str] = []
        for n, caption in enumerate(found.captions):
            kind = caption.kind or FLOATS[name]
            self._numbers[kind] += 1
            number = str(self._numbers[kind])
            labels.append(f"{kind.title()} {number}")
            self._raw.append(Captioned(labels[-1], kind, caption.text))
            self._keys.update(dict.fromkeys(caption.keys, (kind, number)))
            if n == 0:
                letters = (chr(ord("a") + min(i, 25)) for i in count())
                parts = zip(found.parts, letters, strict=False)
                self._keys.update({key: (kind, number + letter) for key, letter in parts})
        self._tables(list(found.tables), [label for label in labels if label.startswith("Table")])

    def _tables(self, tables: Sequence[str], labels: Sequence[str]) -> None:
        for n, table in enumerate(tables):
            rows, heads = rows_of(table)
            label = labels[n] if len(labels) == len(tables) else labels[0] if labels else ""
            if rows:
                self._raw.append(Cells(tuple(map(tuple, rows)), heads, label))

    def _cite(self) -> None:
        if self._bibliography:
            self._raw.append(Heading(1, "References"))
            self._raw += map(Reference, self._bibliography)
        self._bibliography = []

    def _end_paragraph(self) -> None:
        text, self._text = "".join(self._text), []
        if text.strip():
            self._raw.append(Paragraph(text))


def _says_something(piece: Piece) -> bool:
    return not isinstance(piece, Paragraph) or any(map(str.isalnum, piece.text))

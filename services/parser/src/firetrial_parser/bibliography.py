"""The entries of a paper's bibliography, from what BibTeX or biber made of it, or from its own file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from firetrial_parser.macros import without_comments
from firetrial_parser.tex import argument, optional, plain

_ITEM = re.compile(r"\\bibitem\b")
_ENTRY = re.compile(r"\\entry\s*\{")
_BIBER_FIELD = re.compile(r"\\field\{(title|journaltitle|booktitle|year)\}\{")
_FAMILY = re.compile(r"\bfamily=\{([^{}]*)\}")
_BIB_ENTRY = re.compile(r"@(\w+)\s*\{\s*([^,\s{}]+)\s*,")
_BIB_FIELD = re.compile(r"\b(author|title|journal|booktitle|year)\s*=\s*(?=[{\"\d])", re.IGNORECASE)
_CITED = re.compile(r"\\[A-Za-z]*cite[A-Za-z]*\*?(?:\[[^\]]{0,200}\])*\{([^{}]{1,2000})\}")
MAX_ENTRIES = 5_000


def entries(main: str, files: Mapping[str, str], body: str) -> tuple[str, ...]:
    """The bibliography as text: of the main file's .bbl, of the only one there is, or of the .bib files."""
    made = [name for name in files if name.endswith(".bbl")]
    own = str(PurePosixPath(main).with_suffix(".bbl"))
    chosen = own if own in files else made[0] if len(made) == 1 else ""
    if chosen:
        text = without_comments(files[chosen])
        found = bibitems(text) or tuple(_biber(text))
    else:
        found = tuple(_bibtex(files, body))
    return found[:MAX_ENTRIES]


def bibitems(source: str) -> tuple[str, ...]:
    r"""The text of each \bibitem."""
    found = []
    for part in _ITEM.split(source)[1:]:
        text = part[argument(part, optional(part, 0)[1])[1] :].partition(r"\end{thebibliography}")[0]
        found.append(plain(re.sub(r"\\newblock\b", " ", text)))
    return tuple(filter(None, found))


def _biber(source: str) -> Iterator[str]:
    for part in _ENTRY.split(source)[1:]:
        fields = {m[1]: argument(part, m.end() - 1)[0] for m in _BIBER_FIELD.finditer(part)}
        yield _sentence(", ".join(_FAMILY.findall(part)), fields)


def _bibtex(files: Mapping[str, str], body: str) -> Iterator[str]:
    cited = {key.strip() for match in _CITED.finditer(body) for key in match[1].split(",")}
    for name, text in files.items():
        if not name.endswith(".bib"):
            continue
        marks = list(_BIB_ENTRY.finditer(text))
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        for mark, end in zip(marks, ends, strict=True):
            if mark[2] in cited:
                part = text[mark.end() : end]
                fields = {m[1].lower(): _value(part, m.end()) for m in _BIB_FIELD.finditer(part)}
                yield _sentence(fields.get("author", "").replace(" and ", ", "), fields)


def _value(part: str, at: int) -> str:
    if part[at] == '"':
        return part[at + 1 :].partition('"')[0]
    return argument(part, at)[0] if part[at] == "{" else part[at : at + 4]


def _sentence(authors: str, fields: Mapping[str, str]) -> str:
    place = fields.get("journaltitle") or fields.get("booktitle") or fields.get("journal") or ""
    parts = [authors, fields.get("title", ""), place, fields.get("year", "")]
    return ". ".join(filter(None, map(plain, parts)))

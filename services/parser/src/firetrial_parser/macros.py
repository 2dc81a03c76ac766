"""TeX sources made one: comments left out, files put in, the author's own commands expanded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from firetrial_parser.intake import MAX_TEXT, refuse
from firetrial_parser.tex import argument, optional

DEEPEST_INPUT = 20  # files in files
DEEPEST_MACRO = 30  # commands in what commands stand for
MAX_EXPANSIONS = 50_000
MAX_INPUTS = 1_000

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*(?:\n[ \t]*)?")
_BORDERS = ((r"\begin{comment}", r"\end{comment}"), (r"\iffalse", r"\fi"))
_INPUT = re.compile(
    r"\\(?:input|include|subfile)\s*(?:\{([^{}]{1,200})\}|([\w./-]{1,200}))"
    r"|\\(?:sub)?import\*?\{([^{}]{0,200})\}\{([^{}]{1,200})\}"
)


def without_comments(source: str) -> str:
    """The source without comments; a comment ends the line that it stands in, as in TeX."""
    text = _COMMENT.sub(r"\1", source)
    for begin, end in _BORDERS:
        text = _without(text, begin, end)
    return text


def _without(text: str, begin: str, end: str) -> str:
    out: list[str] = []
    at = 0
    while (start := text.find(begin, at)) >= 0 and (stop := text.find(end, start)) >= 0:
        out.append(text[at:start])
        at = stop + len(end)
    return "".join([*out, text[at:]])


def whole(main: str, files: Mapping[str, str]) -> str:
    """The main file with all that it puts in, from the archive only. Raises INVALID for endless sources."""
    inputs = _Inputs(files)
    inputs.take(main, ())
    return "".join(inputs.text)


class _Inputs:
    """Files put into files, counted while it goes on."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.text: list[str] = []
        self._files = files
        self._inputs = self._length = 0

    def take(self, name: str, above: tuple[str, ...]) -> None:
        text, at = without_comments(self._files[name]), 0
        self._inputs += 1
        self._length += len(text)
        if self._inputs > MAX_INPUTS or self._length > MAX_TEXT:
            raise refuse("file", name, "its files put in each other without end; give the PDF")
        for match in _INPUT.finditer(text):
            self.text.append(text[at : match.start()])
            at = match.end()
            wanted = f"{match[3]}/{match[4]}" if match[4] else match[1] or match[2]
            inner = _resolved(wanted.strip(), name, self._files)
            if inner is not None and inner not in (*above, name) and len(above) < DEEPEST_INPUT:
                self.take(inner, (*above, name))
        self.text.append(text[at:])


def _resolved(wanted: str, by: str, files: Mapping[str, str]) -> str | None:
    """The file that is meant, looked for beside the main files and beside the one that asks."""
    for folder in (PurePosixPath(), PurePosixPath(by).parent):
        for name in (wanted, f"{wanted}.tex"):
            path = str(PurePosixPath(folder, name))
            if path in files:
                return path
    return None


# ---- the author's own commands


@dataclass(frozen=True, slots=True)
class Macro:
    """What a command stands for; `default` is that of its first argument where that is optional."""

    arguments: int
    body: str
    default: str | None = None


_DEFINITION = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand)\b\*?\s*"
    r"(?:\{\s*\\([A-Za-z@]+)\s*\}|\\([A-Za-z@]+))"
    r"|\\[gex]?def\s*\\([A-Za-z@]+)((?:\s*#\d)*)\s*(?=\{)"
    r"|\\DeclareMathOperator\b\*?\s*\{\s*\\([A-Za-z@]+)\s*\}"
)
_COMMAND = re.compile(r"\\([A-Za-z@]+)\*?")
# Commands that later steps look for; a paper that redefines them does not change what they mean.
_KEPT = frozenset(
    """section subsection subsubsection paragraph caption label ref cite citep citet begin end item title
    author bibitem footnote includegraphics par hline toprule midrule bottomrule""".split()  # noqa: SIM905 - legible
)


def expand(source: str) -> str:
    """The source without the author's simple commands: what they stand for is in their place.

    Raises INVALID for commands that expand without end.
    """
    macros, text = _definitions(source)
    return _expanded(text, macros) if macros else text


def _definitions(source: str) -> tuple[dict[str, Macro], str]:
    macros: dict[str, Macro] = {}
    out: list[str] = []
    at = 0
    while (match := _DEFINITION.search(source, at)) is not None:
        out.append(source[at : match.start()])
        name, macro, at = _defined(match, source)
        if name not in _KEPT:
            macros[name] = macro
    out.append(source[at:])
    return macros, "".join(out)


def _defined(match: re.Match[str], source: str) -> tuple[str, Macro, int]:
    at = match.end()
    if match[3]:
        body, at = argument(source, at)
        return match[3], Macro(match[4].count("#"), body), at
    if match[5]:
        body, at = argument(source, at)
        return match[5], Macro(0, body), at
    count, at = optional(source, at)
    default, at = optional(source, at)
    body, at = argument(source, at)
    number = int(count) if count is not None and count.strip() in set("123456789") else 0
    return match[1] or match[2], Macro(number, body, default), at


@dataclass(slots=True)
class _Frame:
    """A text that is being read; `names` are the commands that it came out of."""

    text: str
    names: frozenset[str] = frozenset()
    at: int = 0


def _expanded(source: str, macros: Mapping[str, Macro]) -> str:
    out: list[str] = []
    frames = [_Frame(source)]
    expansions = length = 0
    while frames:
        frame = frames[-1]
        match = _COMMAND.search(frame.text, frame.at)
        out.append(frame.text[frame.at : match.start() if match else len(frame.text)])
        if match is None:
            frames.pop()
            continue
        frame.at = match.end()
        macro = macros.get(match[1])
        if macro is None or match[1] in frame.names or len(frame.names) >= DEEPEST_MACRO:
            out.append(match[0])
            continue
        _joined(frames, macro)
        given = _given(macro, frames[-1])
        expansions += 1
        length += len(macro.body) + sum(macro.body.count(f"#{n}") * len(a) for n, a in enumerate(given, 1))
        if expansions > MAX_EXPANSIONS or length > MAX_TEXT:
            raise refuse("file", match[0], "expands without end; give the PDF, or the source without it")
        frames.append(_Frame(_filled(macro.body, given), frame.names | {match[1]}))
    return "".join(out)


def _joined(frames: list[_Frame], macro: Macro) -> None:
    """Let a command at the very end of what another stands for find its arguments behind that."""
    while macro.arguments and len(frames) > 1 and not frames[-1].text[frames[-1].at :].strip():
        frames.pop()


def _given(macro: Macro, frame: _Frame) -> list[str]:
    """The arguments that follow a command in the text."""
    given: list[str] = []
    if macro.default is not None:
        first, frame.at = optional(frame.text, frame.at)
        given.append(macro.default if first is None else first)
    while len(given) < macro.arguments:
        value, frame.at = argument(frame.text, frame.at)
        given.append(value)
    if not macro.arguments and frame.text[frame.at : frame.at + 2] == "{}":
        frame.at += 2
    return given


def _filled(body: str, given: Sequence[str]) -> str:
    values = dict(enumerate(given, 1))
    return re.sub(r"#([1-9])", lambda match: values.get(int(match[1]), ""), body)

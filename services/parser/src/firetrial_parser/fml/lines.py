"""A command line of FML-bench taken apart without a shell: files that are put in place, then one program.

    cp ../../../ml_tasks/A/train.py ./ && python train.py --split val

What needs a shell, more than one program, or files that only a run makes is no command of ours: the fault
says which part that is.
"""

from __future__ import annotations

import posixpath
import shlex
from dataclasses import dataclass
from itertools import groupby

MAX_LINE = 20_000
_OPERATORS = frozenset("();<>|&")
_EXPANDED = frozenset("$`*?[~#!{")
_AND = "&&"
# What a shell does itself or what changes files while it runs.
_NO_PROGRAM = frozenset(
    {"cd", "export", "true", "false", ":", "mv", "rm", "mkdir", "ln", "chmod", "source", "."}
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A file of the layout, by its path there, and where below the repository it is put."""

    origin: str
    path: str


@dataclass(frozen=True, slots=True)
class Line:
    """What a line comes to. With faults there is no command."""

    placed: tuple[Placed, ...] = ()
    command: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def take_apart(line: str, repository: str) -> Line:
    """`repository` is the folder that the line is run in, relative to the root of the layout."""
    try:
        segments = _segments(line)
    except ValueError as error:
        return Line(faults=(str(error),))
    placed: list[Placed] = []
    programs: list[tuple[str, ...]] = []
    faults: list[str] = []
    for segment in segments:
        if segment[:1] == ["cp"]:
            found = _copied(segment, repository)
            if isinstance(found, Placed):
                placed.append(found)
            else:
                faults.append(found)
        elif segment[0] in _NO_PROGRAM:
            faults.append(f"`{shlex.join(segment)}` changes files while it runs")
        else:
            programs.append(tuple(segment))
    if len(programs) != 1:
        faults.append(f"it runs {len(programs)} programs")
    elif segments[-1] != [*programs[0]]:
        faults.append("it puts files in place after its program")
    return Line(tuple(placed), () if faults else programs[0], tuple(faults))


def _segments(line: str) -> list[list[str]]:
    """The commands between `&&`. Raises ValueError for what only a shell can do."""
    if len(line) > MAX_LINE:
        raise ValueError(f"it has {len(line)} characters; at most {MAX_LINE} are read")
    expanded = sorted(_EXPANDED & {*line})
    if expanded or "\n" in line:
        raise ValueError(f"it needs a shell for {' '.join(expanded) or 'several lines'}")
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    operators = sorted({word for word in words if word != _AND and {*word} <= _OPERATORS})
    if operators:
        raise ValueError(f"it needs a shell for {' '.join(f'`{operator}`' for operator in operators)}")
    return [list(part) for between, part in groupby(words, lambda word: word == _AND) if not between]


def _copied(segment: list[str], repository: str) -> Placed | str:
    """What a `cp` puts in place, or why that is not known before the run."""
    told = f"`{shlex.join(segment)}`"
    if len(segment) != 3 or any(word.startswith("-") for word in segment):
        return f"{told} copies more than one file"
    _, source, target = segment
    origin = posixpath.normpath(posixpath.join(repository, source))
    if origin.startswith(("../", "/")) or not origin.startswith("ml_tasks/"):
        return f"{told} copies what is not of the task's own files"
    if target in {".", ".."} or target.endswith("/"):
        target = posixpath.join(target, posixpath.basename(origin))
    path = posixpath.normpath(target)
    if path.startswith(("../", "/")) or path in {".", ".."}:
        return f"{told} writes outside of the repository"
    return Placed(origin, path)

"""The record of a run: what was executed, and what programs printed under which names.

What an agent says or writes is no part of it, nor is a command that only prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from firetrial_analyzer.integrity.papers import plain
from firetrial_analyzer.integrity.passages import passages
from firetrial_analyzer.taxonomy.actions import Action, Kind
from firetrial_analyzer.taxonomy.steps import Citation, cite

MOST_LINES = 20_000
"""Printed lines that are kept, of those with a name that the paper uses."""
_MOST_COMMANDS = 5_000
_MOST_TEXT = 4_000
_MOST_VALUES = 1_000
_NAMED = re.compile(
    r"([A-Za-z_](?<![\w.-][A-Za-z_])[\w-]{0,40})[\"']?\s{0,2}[=:]\s{0,2}[\"']?([^\s,;\"'|}\])]{1,40})"
)
_OPTION = re.compile(r"--?([A-Za-z][\w-]{0,40})[ =]([^\s;&|]{1,40})")
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w{0,40})\s{0,2}=\s{0,2}(\d{1,12}(?:\.\d{1,12})?)\b")
_IMPORTS = re.compile(r"\b(?:from|import)\s+([\w.]{1,80})|([\w-]{1,80})\.(?:py|sh|R|jl|ipynb)\b")
# Commands that run nothing of one's own.
_ONLY_PRINTS = re.compile(
    r"\s*(?:echo|printf|cat|tee|ls|head|tail|grep|sed\s+-n|less|wc|cp|mv|touch|mkdir)\b"
)


@dataclass(frozen=True, slots=True)
class Printed:
    """A line that a program printed, its named values by plain name, and where it is."""

    text: str
    values: dict[str, str]
    citation: Citation


@dataclass
class Record:
    """Takes actions as they come. `names` are those that the paper uses, in plain form."""

    names: frozenset[str]
    words: frozenset[str]
    lines: list[Printed] = field(default_factory=list)
    values: dict[str, dict[str, Citation]] = field(default_factory=dict)
    """Plain name → value → where it was printed or asked for."""
    asked: dict[str, set[str]] = field(default_factory=dict)
    """Plain name → values that commands were called with."""
    counts: dict[str, int] = field(default_factory=dict)
    """Plain name → how many printed lines have it."""
    commands: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """Those of `words` that programs were called with or printed."""
    in_code: dict[str, set[str]] = field(default_factory=dict)
    used: dict[str, set[str]] = field(default_factory=dict)
    """A program's name without its ending → what its text names and imports."""
    full: bool = False

    def see(self, action: Action, concluded: str) -> None:
        """Take the next action; lines of output that `concluded` has word for word prove nothing."""
        if action.kind is Kind.RUN and not _ONLY_PRINTS.match(action.text):
            self._run(action)
        if action.kind is Kind.EDIT:
            self.code(action.target, action.text)
        for passage in passages([action], concluded):
            if not passage.code:
                for line in passage.lines:
                    self._print(line.step, line.text[:_MOST_TEXT])

    def _run(self, action: Action) -> None:
        text = action.text[:_MOST_TEXT]
        if not action.failed and len(self.commands) < _MOST_COMMANDS:
            self.commands.append(text)
        for name, value in _OPTION.findall(text):
            self._value(plain(name), value, cite(action.step, text))
            if plain(name) in self.names:
                self.asked.setdefault(plain(name), set()).add(value)
        self._note(text)

    def _print(self, step: int, text: str) -> None:
        found = {plain(name): value for name, value in _NAMED.findall(text)}
        self._note(text)
        if not self.names & found.keys():
            return
        if len(self.lines) >= MOST_LINES:
            self.full = True
            return
        citation = cite(step, text)
        self.lines.append(Printed(text.lower(), found, citation))
        for name, value in found.items():
            self._value(name, value, citation)
            if name in self.names:
                self.counts[name] = self.counts.get(name, 0) + 1

    def _value(self, name: str, value: str, citation: Citation) -> None:
        values = self.values.setdefault(name, {}) if name in self.names else None
        if values is not None and len(values) < _MOST_VALUES:
            values.setdefault(value, citation)

    def _note(self, text: str) -> None:
        if open_ := self.words - self.seen:
            lower = text.lower()
            self.seen.update(word for word in open_ if word in lower)

    def code(self, name: str, text: str) -> None:
        """Take a file of code, written in the run or left by it."""
        for given, value in _ASSIGNED.findall(text):
            if plain(given) in self.names:
                self.in_code.setdefault(plain(given), set()).add(value)
        named = (one or other for one, other in _IMPORTS.findall(text))
        stem = PurePosixPath(name).stem
        self.used.setdefault("make" if stem.lower() == "makefile" else stem, set()).update(
            part for n in named for part in n.split(".")
        )

    def ran(self) -> set[str]:
        """The names without ending of the programs that ran, by a command or by another program that ran."""
        waiting = {stem for stem in self.used if any(_calls(command, stem) for command in self.commands)}
        found: set[str] = set()
        while waiting:
            stem = waiting.pop()
            found.add(stem)
            waiting |= (self.used[stem] & self.used.keys()) - found
        return found

    def values_of(self, name: str) -> Iterator[str]:
        """All values that a name has, printed, asked for, or in code."""
        yield from self.values.get(name, ())
        yield from self.in_code.get(name, ())


def _calls(command: str, stem: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(stem)}(?![\w-])", command) is not None


def named(texts: Iterable[str]) -> frozenset[str]:
    """Names in plain form."""
    return frozenset(filter(None, map(plain, texts)))

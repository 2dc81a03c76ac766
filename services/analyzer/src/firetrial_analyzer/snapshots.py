"""The agent's code as it stood after each edit, as far as its trajectory tells."""

from __future__ import annotations

import re
from collections.abc import Iterator

from firetrial_analyzer.taxonomy.actions import Action, Kind

MAX_FILES = 200
MAX_CHARACTERS = 256 * 1024
"""Of one file."""
_CODE = re.compile(r"\.(?:py|sh|R|r|jl|ipynb|js|ts|c|cc|cpp|h|java|go|rs|sql|toml|ya?ml|cfg|ini)$")
_HERE = re.compile(
    r"(?:cat|tee)\s*(?:-a\s*)?(?P<how>>{0,2})\s*(?P<path>[\w./-]{1,300})\s*<<-?\s*(?P<quote>['\"]?)(?P<end>\w{1,40})"
    r"(?P=quote)[^\n]{0,200}\n(?P<body>.*?)\n\s*(?P=end)\b",
    re.DOTALL,
)
_PATCHED = re.compile(r"^\*\*\* (?P<what>Add|Update|Delete) File: (?P<path>\S+)$", re.MULTILINE)
_MARKS = "+- @\\"


class Workspace:
    """Files of code by path. An edit that cannot be placed is added at the end of its file."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}

    @property
    def code(self) -> str:
        """All files, in the order of their paths."""
        return "\n".join(f"# {path}\n{text}" for path, text in sorted(self._files.items()))

    def see(self, action: Action) -> bool:
        """Take the next action; whether it edits code."""
        edits = [(path, text) for path, text in _edits(action) if _CODE.search(path)]
        for path, text in edits:
            self._edit(path, text)
        return bool(edits)

    def _edit(self, path: str, text: str) -> None:
        if path not in self._files and len(self._files) >= MAX_FILES:
            return
        known = self._files.get(path, "")
        for old, new in _hunks(text) if _is_diff(text) else [("", text)]:
            known = _replaced(known, old, new)
        self._files[path] = known[:MAX_CHARACTERS]


def _edits(action: Action) -> Iterator[tuple[str, str]]:
    """(path, whole new text or diff) of what an action writes."""
    if action.kind is Kind.EDIT:
        yield action.target, action.text
    elif action.kind is Kind.RUN:
        text = action.text[:MAX_CHARACTERS]
        for found in _HERE.finditer(text):
            yield found["path"], found["body"]
        for patch in _PATCHED.finditer(text):
            if patch["what"] != "Delete":
                end = text.find("\n*** ", patch.end())
                yield patch["path"], text[patch.end() + 1 : len(text) if end < 0 else end]


def _is_diff(text: str) -> bool:
    lines = [line for line in text.splitlines() if line and not line.startswith("***")]
    return bool(lines) and all(line[0] in _MARKS for line in lines) and any(line[0] in "+-" for line in lines)


def _hunks(diff: str) -> list[tuple[str, str]]:
    """(old, new) of each stretch of a diff, with the lines around it that it shows.

    Where it shows none, what is taken away after something was added is another stretch.
    """
    lines = diff.splitlines()
    bare = not any(line.startswith((" ", "@@")) for line in lines)
    hunks: list[tuple[list[str], list[str]]] = [([], [])]
    for line in lines:
        heads = line.startswith(("@@", "--- ", "+++ ", "***", "\\"))
        if heads or (bare and line.startswith("-") and hunks[-1][1]):
            hunks.append(([], []))
        for side, mark in zip(hunks[-1], "-+", strict=True):
            if not heads and line[:1] in (mark, " ", ""):
                side.append(line[1:])
    return [("\n".join(old), "\n".join(new)) for old, new in hunks if old or new]


def _replaced(text: str, old: str, new: str) -> str:
    if not old:  # a whole file
        return new
    return text.replace(old, new, 1) if old in text else f"{text}\n{new}"

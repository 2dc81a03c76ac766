"""What an agent concluded: a file in its workspace, else the end of what it wrote to standard output."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from firetrial_runner.archive import open_regular
from firetrial_runner.trajectory import Kind, Step

FILES = ("conclusion.md", "conclusion.txt")
MAX_BYTES = 1024 * 1024
MARK = "FINAL CONCLUSION:"

# The mark at the start of a line, perhaps as a heading or in bold.
_MARKED = re.compile(r"[\s#*_>]*FINAL CONCLUSION\s*:[*_]*\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The text, where it was found, and how many bytes or characters of it were cut off."""

    text: str
    source: str
    cut: int = 0


class Scanner:
    """Finds the last block of standard output that follows a line `FINAL CONCLUSION:` and is not empty."""

    def __init__(self) -> None:
        self._line_begins = True
        self._inside = False
        self._block: list[str] = []
        self._size = 0
        self._cut = 0
        self._last: Conclusion | None = None

    def see(self, step: Step) -> None:
        """Take the next step of the run."""
        if step.stream != "stdout" or step.kind not in {None, Kind.OUTPUT}:
            return
        marked = _MARKED.fullmatch(step.text) if self._line_begins else None
        if marked:
            self._last = self.found()
            self._block, self._size, self._cut = [], 0, 0
            self._inside = True
        self._take((marked[1] if marked else step.text) + ("" if step.continued else "\n"))
        self._line_begins = not step.continued

    def found(self) -> Conclusion | None:
        """The conclusion in what was seen so far."""
        text = "".join(self._block).strip()
        return Conclusion(text, "standard output", self._cut) if text else self._last

    def _take(self, text: str) -> None:
        if not self._inside:
            return
        kept = text[: max(0, MAX_BYTES - self._size)]
        self._block.append(kept)
        self._size += len(kept)
        self._cut += len(text) - len(kept)


def in_workspace(folder: Path) -> Conclusion | None:
    """The first conclusion file that holds text. Links and special files are not followed or opened."""
    for name in FILES:
        try:
            opened = open_regular(folder / name)
        except OSError:
            continue
        if opened is None:
            continue
        with opened as file:
            size = os.fstat(file.fileno()).st_size
            text = file.read(MAX_BYTES).decode(errors="replace").strip()
        if text:
            return Conclusion(text, name, max(0, size - MAX_BYTES))
    return None

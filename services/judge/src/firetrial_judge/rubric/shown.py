"""What a judge is shown for some questions: all files where they are short, else what bears on them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from firetrial_judge.rubric.retrieval import Index, Passage, admitted, merged
from firetrial_judge.rubric.submission import File, Submission
from firetrial_judge.rubric.tree import Deliverable, Node, Rubric

_LISTED = 200  # files named in one request
_LISTED_CHARS = 12_000  # and characters of their names
_NUMBER = 8  # characters that a line's number takes, about
_EVIDENCE = re.compile(r"(.+?):(\d{1,9})(?:-(\d{1,9}))?")
_MAX_EVIDENCE = 10
# Where a requirement names no deliverables, its category says where the answer has to be.
_KINDS = {
    "Code Development": (Deliverable.CODE,),
    "Code Execution": (Deliverable.CODE, Deliverable.LOGS),
    "Result Analysis": (Deliverable.LOGS, Deliverable.PAPER),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much goes into one request: questions, passages for each, and characters of passages in all."""

    questions: int = 8
    passages: int = 4
    chars: int = 24_000


@dataclass(frozen=True, slots=True)
class Shown:
    """Passages as a text, and their labels: "file:first-last"."""

    text: str
    reading: tuple[str, ...]
    spans: tuple[tuple[str, int, int], ...]

    def named(self, evidence: Sequence[object]) -> tuple[str, ...]:
        """What a judge named, within what it was shown; the rest it made up."""
        found: dict[str, None] = {}
        for given in evidence[:100]:
            match = _EVIDENCE.fullmatch(given.strip()) if isinstance(given, str) else None
            if match:
                first, last = int(match[2]), int(match[3] or match[2])
                found |= dict.fromkeys(self._within(match[1], first, last))
        return tuple(found)[:_MAX_EVIDENCE]

    def _within(self, name: str, first: int, last: int) -> Iterator[str]:
        for file, start, end in self.spans:
            if file == name and max(first, start) <= min(last, end):
                yield f"{file}:{max(first, start)}-{min(last, end)}"


class Reader:
    """Reads a submission for questions. Making one takes about a second and 50 MiB for 3 MiB of text."""

    def __init__(self, submission: Submission, limits: Limits) -> None:
        self._files = submission.files
        self._limits = limits
        self._index = Index(submission.files)
        self._sizes = [sum(len(line) + _NUMBER for line in file.lines) for file in submission.files]
        self.in_part = sum(self._sizes) > limits.chars
        self.listing = _listing(submission.files)

    def show(self, rubric: Rubric, leaves: Sequence[Node]) -> Shown:
        """What is shown for these questions in one request."""
        passages = merged(self._whole(leaves) or self._chosen(rubric, leaves))
        spans = tuple((self._files[p.file].name, p.first, p.last) for p in passages)
        reading = tuple(f"{name}:{first}-{last}" for name, first, last in spans)
        parts = [self._part(label, passage) for label, passage in zip(reading, passages, strict=True)]
        return Shown("\n\n".join(parts) or "(nothing found that bears on the questions)", reading, spans)

    def _whole(self, leaves: Sequence[Node]) -> list[Passage]:
        """All files that the questions admit, where they fit; else nothing."""
        wanted = [
            n
            for n, file in enumerate(self._files)
            if file.lines and any(admitted(file, kinds_of(leaf)) for leaf in leaves)
        ]
        if sum(self._sizes[n] for n in wanted) > self._limits.chars:
            return []
        return [Passage(n, 1, len(self._files[n].lines)) for n in wanted]

    def _chosen(self, rubric: Rubric, leaves: Sequence[Node]) -> list[Passage]:
        """Each question's best passage, then each one's second, until there is no more room."""
        found = [
            self._index.find(_query(rubric, leaf), kinds_of(leaf), self._limits.passages) for leaf in leaves
        ]
        chosen: dict[Passage, None] = {}
        room = self._limits.chars
        for rank in range(self._limits.passages):
            for passages in found:
                passage = passages[rank] if rank < len(passages) else None
                if passage and passage not in chosen and (size := self._size(passage)) <= room:
                    chosen[passage] = None
                    room -= size
        return list(chosen)

    def _size(self, passage: Passage) -> int:
        lines = self._files[passage.file].lines[passage.first - 1 : passage.last]
        return sum(len(line) + _NUMBER for line in lines)

    def _part(self, label: str, passage: Passage) -> str:
        lines = self._files[passage.file].lines[passage.first - 1 : passage.last]
        numbered = (f"{n}| {line}" for n, line in enumerate(lines, passage.first))
        return "\n".join([f"### {label}", *numbered])


class SharedReader:
    """The reader of a submission, made once: when the first of several judges needs it."""

    def __init__(self, submission: Submission, limits: Limits) -> None:
        self._submission, self._limits = submission, limits
        self._making: asyncio.Task[Reader] | None = None

    async def get(self) -> Reader:
        if self._making is None:
            making = asyncio.to_thread(Reader, self._submission, self._limits)
            self._making = asyncio.create_task(making)
        return await asyncio.shield(self._making)


def kinds_of(leaf: Node) -> Collection[Deliverable]:
    """Where the answer has to be; empty for anywhere."""
    return leaf.deliverables or _KINDS.get(leaf.category, ())


def _query(rubric: Rubric, leaf: Node) -> str:
    """The question, and the group that it belongs to, without which many say too little."""
    return " ".join([leaf.question, *(node.question for node in rubric.above(leaf)[:1])])


def _listing(files: Sequence[File]) -> str:
    lines = [f"{f.name} ({len(f.lines)} lines)" if f.lines else f"{f.name} ({f.size} bytes)" for f in files]
    size, shown = 0, 0
    while shown < min(len(lines), _LISTED) and (size := size + len(lines[shown])) <= _LISTED_CHARS:
        shown += 1
    more = len(lines) - shown
    return "\n".join(lines[:shown] + ([f"and {more} more"] if more else []))

"""A follow-up submission as it is graded: paper and code as the agent left them, and the runner's own log.

All of it is hostile. Nothing that the agent wrote lies under logs/ here: its own logs are no evidence.
"""

from __future__ import annotations

import io
import json
import tarfile
import zlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import IO, Any

from firetrial_judge.rubric.submission import Submission, from_tar
from firetrial_kit import tars

LOG = "logs/trajectory.log"
_DELIVERABLES = ("paper", "code")
_MAX_FILE = 8 * 1024 * 1024
_PIECE = 256 * 1024  # a tar is read warily: no more at once than a header may have
_MAX_FILES = 64 * 1024 * 1024  # bytes of all
_MAX_LOG = 2 * 1024 * 1024  # characters of its beginning, and of its end
_MAX_CHUNK = 4 * 1024 * 1024
_MAX_TEXT = 64 * 1024  # characters of one step
_MAX_PATH = 300
_MARKS = {
    "command": "$ ",
    "thought": "says: ",
    "conclusion": "concludes: ",
    "event": "event: ",
    "edit": "edits: ",
}
_WROTE = "| "
"""Before what programs wrote, and all else: it must not look like a command, or like another step."""


@dataclass
class Log:
    """The trajectory as text, fed chunk by chunk; of a long one its beginning and its end."""

    head: list[str] = field(default_factory=list)
    tail: deque[str] = field(default_factory=deque)
    cut: int = 0
    _head: int = 0
    _tail: int = 0

    def feed(self, chunk: bytes) -> None:
        """Take a gzipped chunk of JSON lines; of a damaged one what is whole."""
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            data = unpacker.decompress(chunk, _MAX_CHUNK)
        except zlib.error:
            data = b""
        for line in data.decode("utf-8", "replace").splitlines():
            for text in _told(line):
                self._add(text)

    def _add(self, text: str) -> None:
        if self._head < _MAX_LOG and not self.tail:
            self.head.append(text)
            self._head += len(text) + 1
            return
        self.tail.append(text)
        self._tail += len(text) + 1
        while self._tail > _MAX_LOG:
            self._tail -= len(self.tail.popleft()) + 1
            self.cut += 1

    def text(self) -> str:
        gap = [f"[{self.cut} steps are left out here]"] if self.cut else []
        return "\n".join([*self.head, *gap, *self.tail]) + "\n"


def _told(line: str) -> Iterator[str]:
    """A step as it is graded: each line says of which step and kind it is, for a text may imitate both."""
    try:
        step: Any = json.loads(line)
        number, kind, text = int(step["step"]), str(step["kind"]), str(step["text"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return
    shown = text.removesuffix("\n") if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]} …"
    if kind == "edit":
        shown = f"{' '.join(str(step.get('path', '')).split())[:_MAX_PATH]}\n{shown}"
    begins = f"[step {number}] {_MARKS.get(kind, _WROTE)}"
    yield "\n".join(begins + part for part in shown.split("\n"))


def submission(artifacts: IO[bytes] | None, log: Log) -> Submission:
    """Put both together. Raises INVALID where the artifacts are no tar."""
    left_out: Counter[str] = Counter()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as made:
        for name, data in _files(artifacts, left_out):
            _add(made, name, data)
        _add(made, LOG, log.text().encode())
    found = from_tar(buffer.getvalue())
    return replace(found, notes=(*found.notes, *_notes(left_out, log)))


def _files(artifacts: IO[bytes] | None, left_out: Counter[str]) -> Iterator[tuple[str, bytes]]:
    if artifacts is None:
        return
    room = _MAX_FILES
    try:
        with tars.reading(artifacts) as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if name.partition("/")[0] not in _DELIVERABLES:
                    left_out[name.partition("/")[0]] += member.isreg()
                    continue
                content = tar.extractfile(member) if member.isreg() and not member.issparse() else None
                if content is None or member.size > min(_MAX_FILE, room):
                    left_out["paper/ and code/, too large or no plain file"] += not member.isdir()
                    continue
                room -= member.size
                yield name, b"".join(iter(partial(content.read, _PIECE), b""))
    except tars.BROKEN:
        left_out["paper/ and code/, behind a damaged place of the archive"] += 1


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def _notes(left_out: Counter[str], log: Log) -> Iterable[str]:
    if count := left_out.pop("logs", 0):
        yield f"logs/ was written by the agent: {count} files of it were not graded, for they are no evidence"
    yield from (
        f"not graded, for it is no deliverable: {count} files of {name[:100]!r}"
        for name, count in sorted(left_out.items())[:20]
        if count
    )
    if log.cut:
        yield f"{LOG} lacks {log.cut} steps in the middle: it is too long"

"""`firetrial integrity check`: the integrity of a run from files, without a service."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from firetrial_analyzer.integrity.checking import Check
from firetrial_analyzer.integrity.contact import Source
from firetrial_analyzer.integrity.findings import Integrity, Trace
from firetrial_analyzer.taxonomy.evidence import asked_of, gather
from firetrial_analyzer.taxonomy.signals import signals
from firetrial_analyzer.trajectory import Keeper
from firetrial_kit.errors import Fault, check, invalid

_MAX_TEXT = 1024 * 1024
_PIECE = 1024 * 1024
_MAX_LINE = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Given:
    """Paths of what is checked, and what is known of the source paper."""

    conclusion: str
    trajectory: str
    files: str | None = None
    instruction: str | None = None
    paper_title: str = ""
    paper_arxiv: str = ""


def checked(given: Given) -> Integrity:
    """Reads the files, whatever their size, and checks. Raises INVALID with every path that is not there."""
    paths = {
        "--conclusion": given.conclusion,
        "--trajectory": given.trajectory,
        "--files": given.files,
        "--instruction": given.instruction,
    }
    check("the call", [
        Fault(name, path, "must be a file that exists" + (", or a folder" if name == "--files" else ""))
        for name, path in paths.items()
        if path and not (Path(path).is_file() or (name == "--files" and Path(path).is_dir()))
    ])  # fmt: skip
    conclusion = _text(given.conclusion)
    instruction = _text(given.instruction) if given.instruction else ""
    looking = Check(conclusion, instruction, source=Source(given.paper_title, given.paper_arxiv))
    keeper = Keeper(seen=looking.step)
    try:
        for n, piece in enumerate(_pieces(given.trajectory)):
            keeper.feed(f"piece {n}", piece)
    except (OSError, EOFError, zlib.error) as error:
        keeper.lost("the rest of the trajectory", str(error))
    trajectory = keeper.close()
    looking.end_of_steps()
    looking.not_read(trajectory.lost)
    if given.files:
        _files(looking, Path(given.files))
    asked = asked_of(instruction)
    return looking.result(signals(gather(trajectory.steps, conclusion, asked, whole=trajectory.whole)))


def lines(found: Integrity) -> list[str]:
    """For people: the numbers that were not found and the findings."""
    counts = ", ".join(f"{found.count(trace)} {trace.value.replace('_', ' ')}" for trace in Trace)
    told = [f"{len(found.numbers)} numbers: {counts}"]
    told += [f"untraced  {n.text}  at {n.start}" for n in found.numbers if n.trace is Trace.UNTRACED]
    told += [
        f"{finding.name}: {finding.statement}"
        + "".join(f"\n    step {citation.step}: {citation.quote}" for citation in finding.citations)
        for finding in found.findings
    ]
    return told if found.complete else [*told, "Not everything was read."]


def _text(path: str) -> str:
    with Path(path).open("rb") as file:
        data = file.read(_MAX_TEXT + 1)
    if len(data) > _MAX_TEXT:
        raise invalid("the call", [Fault("FILE", path, f"must have at most {_MAX_TEXT} bytes")])
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _files(looking: Check, path: Path) -> None:
    if path.is_dir():
        looking.folder(path)
        return
    with path.open("rb") as archive:
        looking.tar(archive)


def _pieces(path: str) -> Iterator[bytes]:
    """Whole lines, about a MiB at a time; a line that is far longer than steps are comes cut."""
    with _opened(Path(path)) as file:
        held: list[bytes] = []
        size = 0
        while line := file.readline(_MAX_LINE):
            held.append(line)
            size += len(line)
            if size >= _PIECE:
                yield b"".join(held)
                held, size = [], 0
        yield b"".join(held)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else file

"""The official benchmark's repository, read into tasks. Data only: nothing in it is run or imported."""

from __future__ import annotations

import ast
import hashlib
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, cast

from firetrial_kit.errors import Fault, FiretrialError, Reason, check, invalid
from firetrial_parser.defects import Seen, defects
from firetrial_parser.rating import UNRATED, Rating
from firetrial_parser.task import content_version

ORIGIN = "firebench"
TASKS = "benchmark/papers"
TABLES = "eval/RAGChecker/utils.py"
PDFS = "eval/RAGChecker/papers"
MAX_TABLES = 8 * 1024 * 1024
MAX_INSTRUCTION = 256 * 1024
MAX_DATA = 1024**3
MAX_FILES = 20_000
_QUESTION = re.compile(r"(?:[“\"]|Question:\s*)(?P<question>[^“”\"]{15,600}\?)")


@dataclass(frozen=True, slots=True)
class ImportedTask:
    """A task of the benchmark. `name` is its folder, `ground_truth` is secret; `data` is a folder or None.

    `version` hashes all of it, so that a changed file makes another task.
    """

    name: str
    slug: str
    version: str
    question: str
    instruction: str
    ground_truth: str
    data: Path | None
    broken: tuple[str, ...]
    rating: Rating = UNRATED

    @property
    def id(self) -> str:
        """Slug and version, as the parser service names it."""
        return f"{self.slug}-{self.version}"

    @property
    def runnable(self) -> bool:
        """Whether there is an instruction to run it by."""
        return bool(self.instruction)


def read_firebench(path: Path, ratings: Mapping[str, Rating] = MappingProxyType({})) -> list[ImportedTask]:
    """All tasks under the root of a copy of the repository, sorted by name. `ratings` go by a task's folder.

    Raises NOT_FOUND or INVALID for a path that holds no such layout, tables that are no literals, or a rating
    of a task that is not there.
    """
    folders = _folders(path)
    tables = _tables(path / TABLES)
    pdfs = {p.stem for p in (path / PDFS).glob("*.pdf")}
    names = {folder.name for folder in folders}
    strange = [
        Fault(name, "a rating", "must be named as a task's folder") for name in sorted(set(ratings) - names)
    ]
    check("the ratings", strange)
    unclaimed = sorted(pdfs - names)
    return [_task(folder, tables, pdfs, unclaimed, ratings.get(folder.name, UNRATED)) for folder in folders]


def _folders(path: Path) -> list[Path]:
    if not path.is_dir():
        fault = Fault("path", str(path), "must be a folder that exists: the root of a copy of the repository")
        raise FiretrialError(Reason.NOT_FOUND, str(fault), faults=[fault])
    tasks = path / TASKS
    folders = sorted(f for f in tasks.iterdir() if f.is_dir()) if tasks.is_dir() else []
    if not folders:
        cure = f"must be the repository's root: there is no task under {TASKS}/"
        raise invalid("the import", [Fault("path", str(path), cure)])
    return folders


# ---- the two tables


def _tables(file: Path) -> dict[str, dict[str, str]]:
    if not file.is_file():
        cure = f"needs {TABLES} with the tables `query` and `gt`; take them from the repository"
        raise invalid("the import", [Fault("path", str(file), cure)])
    size = file.stat().st_size
    if size > MAX_TABLES:
        raise invalid(
            "the import", [Fault("path", f"{file}: {size} bytes", f"at most {MAX_TABLES} bytes are read")]
        )
    try:
        module = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise invalid(
            "the import", [Fault("path", str(file), f"is no Python that can be read: {error}")]
        ) from error
    found = {name: _table(module, name) for name in ("query", "gt")}
    faults = [
        Fault(f"{TABLES}: {name}", "not found", "must be one dict of literal strings, task → text")
        for name, table in found.items()
        if table is None
    ]
    if faults:
        raise invalid("the import", faults)
    return {name: table for name, table in found.items() if table is not None}


def _table(module: ast.Module, name: str) -> dict[str, str] | None:
    """The dict that is assigned to `name` at the top of the file, or None where that is no literal."""
    for statement in module.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            try:
                value = ast.literal_eval(statement.value)  # type: ignore[attr-defined]
            except (ValueError, TypeError, RecursionError, MemoryError):
                return None
            texts = isinstance(value, dict) and all(
                isinstance(t, str) for pair in value.items() for t in pair
            )
            return value if texts else None
    return None


# ---- one task


def _task(
    folder: Path,
    tables: Mapping[str, Mapping[str, str]],
    pdfs: set[str],
    unclaimed: list[str],
    rating: Rating,
) -> ImportedTask:
    seen = _seen(folder, tables, pdfs, unclaimed)
    data = folder / "data"
    paths = list(data_files(data))
    broken = list(defects(seen))
    kept = data if paths else None
    if kept is not None and sum(p.stat().st_size for p in paths) > MAX_DATA:
        kept = None
        broken.append(f"data/ holds more than {MAX_DATA} bytes and was left out")
    question, instruction, truth = seen.query or seen.asked, seen.instruction, seen.truth
    sha256 = data_digest(kept)[0] if kept else ""
    version = content_version(question, instruction, truth, data_sha256=sha256, source=ORIGIN, rating=rating)
    return ImportedTask(
        seen.name, _slug(seen.name), version, question, instruction, truth, kept, tuple(broken), rating
    )


def _seen(
    folder: Path, tables: Mapping[str, Mapping[str, str]], pdfs: set[str], unclaimed: list[str]
) -> Seen:
    name = folder.name
    files = {f.name: _read(f) for f in sorted((folder / "instruction").glob("*")) if f.is_file()}
    instruction = files.get("instruction.txt") or next((text for text in files.values() if text), "")
    data = folder / "data"
    asked = _QUESTION.search(instruction)
    origin_note = folder / "dataset.txt"
    return Seen(
        name=name,
        instruction=instruction,
        instruction_files=tuple(files),
        query=tables["query"].get(name, ""),
        truth=tables["gt"].get(name, ""),
        asked=asked["question"] if asked else "",
        has_data_folder=data.is_dir(),
        data_files=tuple(p.relative_to(data).as_posix() for p in data_files(data)),
        data_links=tuple(p.relative_to(data).as_posix() for p in data.rglob("*") if p.is_symlink()),
        data_note=_read(origin_note) if origin_note.is_file() else "",
        has_pdf=name in pdfs,
        unclaimed_pdfs=tuple(unclaimed),
    )


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64].strip("-") or "task"


def _read(file: Path) -> str:
    if file.stat().st_size > MAX_INSTRUCTION:
        cure = f"at most {MAX_INSTRUCTION} bytes are read of a text; put data under data/"
        raise invalid("the import", [Fault("path", f"{file}: {file.stat().st_size} bytes", cure)])
    return file.read_bytes().decode("utf-8", errors="replace")


# ---- data


def data_files(folder: Path) -> Iterator[Path]:
    """The files that an agent is given, sorted: no links, no placeholders. At most 20,000."""
    if not folder.is_dir() or folder.is_symlink():
        return
    found = (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink() and p.name != ".gitkeep")
    for n, path in enumerate(sorted(found)):
        if n >= MAX_FILES:
            return
        yield path


class Writable(Protocol):
    """Anything that takes bytes."""

    def write(self, data: bytes, /) -> int: ...


def pack_data(folder: Path, out: Writable) -> None:
    """Write the files under `folder` as a tar that depends on their names and bytes alone."""
    with tarfile.open(fileobj=cast("Any", out), mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for path in data_files(folder):
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                tar.addfile(member, file)


def data_digest(folder: Path) -> tuple[str, int]:
    """sha256 and size in bytes of the tar that `pack_data` writes."""
    sink = _Digest()
    pack_data(folder, sink)
    return sink.sha256.hexdigest(), sink.size


class _Digest:
    """Keeps only the hash and the length of what is written to it."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes, /) -> int:
        self.sha256.update(data)
        self.size += len(data)
        return len(data)

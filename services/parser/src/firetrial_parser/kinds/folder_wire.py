"""A task's folder as it is read without a server: its manifest, its texts, and the hashes of its files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from google.protobuf.json_format import ParseDict, ParseError

from firetrial.parser.v1.parser_service_pb2 import TaskHeader
from firetrial_kit.documents import load
from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid
from firetrial_parser.kinds import repository as repositories
from firetrial_parser.kinds.parcel import FILES, SCORE, SOURCE
from firetrial_parser.kinds.repository import Contents
from firetrial_parser.kinds.repository_wire import repository_to_domain
from firetrial_parser.kinds.rubrics import NAMES
from firetrial_parser.submitting import MAX_TEXT, task_faults

MANIFESTS, INSTRUCTION = ("task.yaml", "task.json"), "instruction.md"
_RUBRICS = ("rubrics/{}.yaml", "rubrics/{}.json")


def read(folder: Path) -> TaskHeader:
    """The task's header. Raises NOT_FOUND where there is no manifest, and INVALID."""
    manifest = _one_of(folder, MANIFESTS)
    if manifest is None:
        cure = f"must hold {' or '.join(MANIFESTS)}; `firetrial tasks new` makes such a folder"
        fault = Fault("DIR", str(folder), cure)
        raise FiretrialError(Reason.NOT_FOUND, str(fault), faults=[fault])
    try:
        header = ParseDict(load(_text(manifest).encode(), manifest.name), TaskHeader())
    except (FiretrialError, ParseError, AttributeError, TypeError) as error:
        # ParseDict looks for the fields of what is no object.
        cure = f"must be a task in JSON or YAML, as `firetrial tasks new` makes it: {error}"
        raise invalid("the task", [Fault(manifest.name, "no task", cure)]) from error
    for name in NAMES:
        if rubric := _one_of(folder, [form.format(name) for form in _RUBRICS]):
            setattr(header.rubrics, name, _text(rubric))
    if (folder / INSTRUCTION).is_file():
        header.instruction = _text(folder / INSTRUCTION)
    header.data_size = sum(1 for _ in _files(folder / "source"))  # whether there is any
    return header


def faults(folder: Path, header: TaskHeader) -> Iterator[Fault]:
    """All that the parser service would find wrong with the task in `folder`."""
    yield from (_in_file(folder, fault) for fault in task_faults(header))
    told = repository_to_domain(header)
    if told is not None and header.data_size:
        yield from repositories.content_faults(told, contents(folder))


def _in_file(folder: Path, fault: Fault) -> Fault:
    """The fault with the file that it is in."""
    place, _, rest = fault.field.partition(", ")
    name = place.removeprefix("header.rubrics.")
    if name in NAMES:
        file = _one_of(folder, [form.format(name) for form in _RUBRICS]) or folder / _RUBRICS[0].format(name)
        return replace(fault, field=", ".join(filter(None, (file.relative_to(folder).as_posix(), rest))))
    manifest = _one_of(folder, MANIFESTS) or folder / MANIFESTS[0]
    return replace(fault, field=f"{manifest.name}, {fault.field.removeprefix('header.')}")


def _one_of(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def contents(folder: Path) -> Contents:
    """What would be uploaded, by part."""
    return Contents(*(dict(_hashed(folder / part)) for part in (SOURCE, FILES, SCORE)))


def _hashed(folder: Path) -> Iterator[tuple[str, str]]:
    for path in _files(folder):
        with path.open("rb") as file:
            yield path.relative_to(folder).as_posix(), hashlib.file_digest(file, "sha256").hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    """What Python compiled is not uploaded."""
    found = sorted(folder.rglob("*")) if folder.is_dir() else []
    return (path for path in found if path.is_file() and path.parent.name != "__pycache__")


def _text(path: Path) -> str:
    if path.stat().st_size > 4 * MAX_TEXT:
        raise invalid(
            "the task", [Fault(path.name, f"{path.stat().st_size} bytes", f"at most {MAX_TEXT} characters")]
        )
    return path.read_bytes().decode("utf-8", errors="replace")

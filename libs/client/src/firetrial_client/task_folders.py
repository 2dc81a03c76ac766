"""A task as it lies in a folder: `task.json`, its longer texts, and the files that are uploaded.

`task.json` is a `firetrial.parser.v1.TaskHeader` in proto3 JSON; docs/repository-tasks.md describes such a
folder. What a task says is checked by the parser, where it is handed in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from google.protobuf.json_format import ParseDict, ParseError

from firetrial.parser.v1.parser_service_pb2 import TaskHeader
from firetrial_client.errors import Fault, FiretrialError, Reason, invalid
from firetrial_client.uploads import pack

MANIFEST = "task.json"
TEXTS = {
    "instruction.md": "instruction",
    "rubrics/direction.json": "rubrics.direction",
    "rubrics/integrity.json": "rubrics.integrity",
}
"""File → the field of the header that it holds."""
PARTS = ("source", "sealed")
"""Folders that are uploaded, as they lie in the task's."""
_MOST = 4 * 1024 * 1024


def read(folder: Path) -> TaskHeader:
    """What the folder says of its task. Raises NOT_FOUND where there is no `task.json`, and INVALID."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        raise FiretrialError(
            Reason.NOT_FOUND, f"{manifest} does not exist: make a task's folder with `firetrial tasks new`"
        )
    try:
        header = ParseDict(json.loads(_text(manifest)), TaskHeader())
    except (ValueError, RecursionError, ParseError, AttributeError) as error:
        # ParseDict looks for the fields of what is no object.
        cure = f"must be a task in JSON, as `firetrial tasks new` makes it: {error}"
        raise invalid("the task", [Fault(MANIFEST, cure)]) from error
    for name, field in TEXTS.items():
        if (folder / name).is_file():
            *above, last = field.split(".")
            setattr(getattr(header, above[0]) if above else header, last, _text(folder / name))
    return header


@contextmanager
def packed(folder: Path) -> Iterator[Path | None]:
    """The files of the task as a tar on disk; None where it has none."""
    parts = [folder / part for part in PARTS if (folder / part).is_dir()]
    if not parts:
        yield None
        return
    with TemporaryDirectory(prefix="firetrial-task-") as made:
        tar = Path(made) / "parts.tar"
        with tar.open("wb") as file:
            pack(folder, parts, file)
        yield tar


def _text(path: Path) -> str:
    """Raises INVALID for what is no text of at most 4 MiB."""
    try:
        data = path.read_bytes() if path.stat().st_size <= _MOST else None
        if data is not None:
            return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise invalid("the task", [Fault(path.name, f"must be a text in UTF-8: {error}")]) from error
    raise invalid("the task", [Fault(path.name, f"has more than {_MOST} bytes")])

"""A task as it lies in a folder: its manifest, its longer texts, and the files that are uploaded.

The manifest is a `firetrial.parser.v1.TaskHeader` in proto3 JSON, or the same in YAML;
docs/repository-tasks.md and docs/follow-up-tasks.md describe such folders. What a task says is checked by the
parser, where it is handed in.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError

from firetrial.parser.v1.parser_service_pb2 import TaskHeader
from firetrial_client.errors import Fault, FiretrialError, Reason, invalid
from firetrial_client.uploads import pack

MANIFESTS = ("task.yaml", "task.json")
TEXTS = {
    "instruction.md": "instruction",
    **{
        f"rubrics/{name}.{form}": f"rubrics.{name}"
        for name in ("direction", "integrity")
        for form in ("json", "yaml")
    },
}
"""File → the field of the header that it holds."""
PARTS = ("source", "sealed")
"""Folders that are uploaded, as they lie in the task's."""
_MOST = 4 * 1024 * 1024


def read(folder: Path) -> TaskHeader:
    """What the folder says of its task. Raises NOT_FOUND where there is no manifest, and INVALID."""
    manifest = next((folder / name for name in MANIFESTS if (folder / name).is_file()), None)
    if manifest is None:
        names = " nor ".join(MANIFESTS)
        raise FiretrialError(
            Reason.NOT_FOUND,
            f"{folder} has neither {names}: make a task's folder with `firetrial tasks new`",
        )
    try:
        header = ParseDict(_values(manifest), TaskHeader())
    except (ValueError, RecursionError, ParseError, AttributeError, TypeError) as error:
        # ParseDict looks for the fields of what is no object.
        cure = f"must be a task in JSON or YAML, as `firetrial tasks new` makes it: {error}"
        raise invalid("the task", [Fault(manifest.name, cure)]) from error
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


def _values(manifest: Path) -> Any:
    """Raises ValueError for what is neither JSON nor YAML."""
    if manifest.suffix == ".json":
        return json.loads(_text(manifest))
    yaml = importlib.import_module("yaml")  # ships no types
    try:
        return yaml.safe_load(_text(manifest))
    except yaml.YAMLError as error:
        raise ValueError(error) from error


def _text(path: Path) -> str:
    """Raises INVALID for what is no text of at most 4 MiB."""
    try:
        data = path.read_bytes() if path.stat().st_size <= _MOST else None
        if data is not None:
            return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise invalid("the task", [Fault(path.name, f"must be a text in UTF-8: {error}")]) from error
    raise invalid("the task", [Fault(path.name, f"has more than {_MOST} bytes")])

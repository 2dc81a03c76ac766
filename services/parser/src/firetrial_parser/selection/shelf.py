"""Where screenings and edited trees lie in the object store: in the bucket of papers, one function a key."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.ids import sha256
from firetrial_kit.objects import ObjectRef, Objects
from firetrial_parser.selection.candidates import Format
from firetrial_parser.selection.editing import Change
from firetrial_parser.selection.screening import Screened

_BUCKET = "papers"
_JSON = "application/json"
_MEDIA_TYPES: dict[Format, str] = {"jsonl": "application/jsonl", "csv": "text/csv"}
_PART: TypeAdapter[tuple[Screened, ...]] = TypeAdapter(tuple[Screened, ...])


@dataclass(frozen=True, slots=True)
class Note:
    """What changed from the version before, and what the validation finds in this one."""

    changes: tuple[Change, ...] = ()
    faults: tuple[Fault, ...] = ()


_NOTE: TypeAdapter[Note] = TypeAdapter(Note)


class Shelf:
    """Items of batches, what screening made of them part by part, and the notes of tree versions."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def put_items(self, screening_id: str, file: Path, form: Format) -> ObjectRef:
        """Store a batch as it came."""
        return await self._objects.put_file(
            _BUCKET, f"screenings/{screening_id}/items", file, _MEDIA_TYPES[form]
        )

    async def fetch_items(self, ref: ObjectRef, to: Path) -> None:
        """Write a batch to a file, piece by piece."""
        with to.open("wb") as file:
            async for piece in self._objects.stream(ref.uri):
                await asyncio.to_thread(file.write, piece)

    async def put_part(self, screening_id: str, number: int, screened: Sequence[Screened]) -> None:
        """Store one part of the results."""
        data = await asyncio.to_thread(_PART.dump_json, tuple(screened))
        await self._objects.put(_BUCKET, _part_key(screening_id, number), data, _JSON)

    async def part(self, screening_id: str, number: int) -> tuple[Screened, ...]:
        """One part of the results; empty where it is not there, or was cut short."""
        try:
            data = await self._objects.get(f"{_BUCKET}/{_part_key(screening_id, number)}")
            return await asyncio.to_thread(_PART.validate_json, data)
        except FiretrialError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
        except ValidationError:
            pass  # written by another version: what it held is looked at again, from the cache
        return ()

    async def put_note(self, paper_id: str, note: Note) -> ObjectRef:
        """Store the note of a version, under the hash of its content."""
        data = _NOTE.dump_json(note)
        return await self._objects.put(_BUCKET, f"{paper_id}/notes/{sha256(data)}.json", data, _JSON)

    async def note(self, ref: ObjectRef) -> Note:
        """The note of a version."""
        return _NOTE.validate_json(await self._objects.get(ref.uri, sha256=ref.sha256))


def _part_key(screening_id: str, number: int) -> str:
    return f"screenings/{screening_id}/parts/{number:06}.json"

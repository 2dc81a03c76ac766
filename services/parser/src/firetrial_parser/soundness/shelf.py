"""Where proposals and what was said of them lie in the object store; one function a key.

The texts lie in the bucket of papers: what is extracted from a paper tells of its methods, which runners must
not read. In the bucket of runs lies a mark, by which a runner knows that a proposal exists.
"""

from __future__ import annotations

import json

from pydantic import TypeAdapter

from firetrial_kit.objects import ObjectRef, Objects
from firetrial_parser.soundness.record import Kept, Said, Source

_BUCKET = "papers"
_JSON = "application/json"
_KEPT: TypeAdapter[Kept] = TypeAdapter(Kept)
_SAID: TypeAdapter[Said] = TypeAdapter(Said)


class Shelf:
    """Proposals, assessments, and the marks that runners see."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def put_kept(self, id_: str, kept: Kept) -> ObjectRef:
        """Store a proposal."""
        return await self._objects.put(
            _BUCKET, f"proposals/{id_}/proposal.json", _KEPT.dump_json(kept), _JSON
        )

    async def kept(self, ref: ObjectRef) -> Kept:
        """A proposal."""
        return _KEPT.validate_json(await self._objects.get(ref.uri, sha256=ref.sha256))

    async def put_said(self, id_: str, said: Said) -> ObjectRef:
        """Store what was said of a proposal."""
        return await self._objects.put(_BUCKET, f"proposals/{id_}/said.json", _SAID.dump_json(said), _JSON)

    async def said(self, ref: ObjectRef) -> Said:
        """What was said of a proposal."""
        return _SAID.validate_json(await self._objects.get(ref.uri, sha256=ref.sha256))

    async def mark(self, id_: str, source: Source) -> None:
        """Let runners know that there is such a proposal, whose it is and for which task."""
        told = {"id": id_, "agent_id": source.agent_id, "task_id": source.task_id}
        await self._objects.put("runs", f"proposals/{id_}.json", json.dumps(told).encode(), _JSON)

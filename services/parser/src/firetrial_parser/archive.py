"""Where the parser's objects lie and what is in them. One function a key."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from google.protobuf.json_format import MessageToJson, Parse
from google.protobuf.message import Message

from firetrial.parser.v1 import paper_pb2, task_pb2
from firetrial_kit.ids import sha256
from firetrial_kit.objects import ObjectRef, Objects
from firetrial_parser.document import Document
from firetrial_parser.tree import Tree
from firetrial_parser.wire import tree_to_domain, tree_to_wire

JSON = "application/json"
TAR = "application/x-tar"
MEDIA_TYPES = {
    ".pdf": "application/pdf", ".html": "text/html", ".htm": "text/html", ".xhtml": "application/xhtml+xml",
    ".tex": "text/x-tex", ".zip": "application/zip", ".tar": "application/x-tar", ".gz": "application/gzip",
    ".tgz": "application/gzip", ".md": "text/markdown", ".markdown": "text/markdown",
    ".json": "application/json",
}  # fmt: skip


class Archive:
    """Papers, trees, tasks and ground truths in the object store. Ground truths go in and never come out."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def put_source(self, paper_id: str, file: Path, filename: str) -> ObjectRef:
        """Store a paper's bytes."""
        media_type = MEDIA_TYPES.get(Path(filename).suffix.lower(), "text/plain")
        return await self._objects.put_file("papers", f"{paper_id}/source", file, media_type)

    async def source(self, ref: ObjectRef, limit: int) -> bytes:
        """A paper's bytes, at most `limit` of them."""
        return await self._objects.get(ref.uri, sha256=ref.sha256, max_size=limit)

    async def put_document(self, paper_id: str, document: Document) -> ObjectRef:
        """Store the structured text."""
        data = await asyncio.to_thread(json.dumps, document.to_json(), ensure_ascii=False)
        return await self._objects.put("papers", f"{paper_id}/document.json", data.encode(), JSON)

    async def document(self, ref: ObjectRef) -> Document:
        """The structured text."""
        data = await self._objects.get(ref.uri, sha256=ref.sha256, max_size=4 * 64 * 1024 * 1024)
        return Document.from_json(await asyncio.to_thread(json.loads, data))

    async def put_tree(self, paper_id: str, tree: Tree) -> ObjectRef:
        """Store the tree."""
        return await self._put_message("papers", f"{paper_id}/tree.json", tree_to_wire(tree))

    async def put_tree_version(self, paper_id: str, tree: Tree) -> ObjectRef:
        """Store a tree that people have looked at, beside all others of the paper."""
        message = tree_to_wire(tree)
        hash_ = sha256(message.SerializeToString(deterministic=True))
        return await self._put_message("papers", f"{paper_id}/trees/{hash_}.json", message)

    async def tree_message(self, ref: ObjectRef) -> paper_pb2.Tree:
        """The tree as it travels."""
        data = await self._objects.get(ref.uri, sha256=ref.sha256)
        tree = Parse(data, paper_pb2.Tree(), ignore_unknown_fields=True)
        if not tree.HasField("root"):  # kept as its root alone, by an earlier version
            tree.root.CopyFrom(Parse(data, paper_pb2.Node(), ignore_unknown_fields=True))
        return tree

    async def tree(self, ref: ObjectRef) -> Tree:
        """The tree."""
        return tree_to_domain(await self.tree_message(ref))

    async def put_truth(self, truth: task_pb2.GroundTruth) -> ObjectRef:
        """Store a ground truth where only the judge can read it."""
        return await self._put_message("truth", f"tasks/{truth.task_id}/truth.json", truth)

    async def put_data(self, task_id: str, tar: Path) -> ObjectRef:
        """Store the files that an agent is given."""
        return await self._objects.put_file("runs", f"tasks/{task_id}/data.tar", tar, TAR)

    async def put_repository(self, task_id: str, tar: Path) -> ObjectRef:
        """Store the pinned source of a repository task."""
        return await self._objects.put_file("runs", f"tasks/{task_id}/source.tar", tar, TAR)

    async def put_sealed(self, task_id: str, name: str, tar: Path) -> ObjectRef:
        """Store a sealed part of a task where only the judge can read it."""
        return await self._objects.put_file("truth", f"tasks/{task_id}/{name}.tar", tar, TAR)

    async def put_task(self, task: task_pb2.Task) -> ObjectRef:
        """Store a task's public part."""
        return await self._put_message("runs", f"tasks/{task.id}/task.json", task)

    async def put_blocked(self, task: task_pb2.Task) -> ObjectRef:
        """Store the public part of a task that nobody may run: where runners cannot read."""
        return await self._put_message("papers", f"tasks/{task.id}/task.json", task)

    async def task(self, ref: ObjectRef) -> task_pb2.Task:
        """A task's public part."""
        data = await self._objects.get(ref.uri, sha256=ref.sha256)
        return Parse(data, task_pb2.Task(), ignore_unknown_fields=True)

    async def _put_message(self, bucket: str, key: str, message: Message) -> ObjectRef:
        data = MessageToJson(message, preserving_proto_field_name=True, ensure_ascii=False)
        return await self._objects.put(bucket, key, data.encode(), JSON)

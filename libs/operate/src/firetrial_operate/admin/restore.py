"""A backup put into an empty installation.

Objects come first, then facts and work, then state: what refers to something comes after it. A mark in the
target names the backup from the beginning, so that a restore that was cut off is finished by the next one,
and nothing else is put into a half-filled target.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import nats.errors
from nats.js.api import ConsumerConfig

from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.jetstream import found, reach
from firetrial_kit.objects import BUCKETS
from firetrial_operate.access import Access
from firetrial_operate.admin import broker
from firetrial_operate.admin.backup import FORMAT, Folder, hash_of
from firetrial_operate.admin.services import SERVICES, installation, stewards
from firetrial_operate.admin.snapshots import take_back
from firetrial_operate.progress import Part

_MARK = "restored/from.json"
_JSON = "application/json"
_AT_ONCE = 8
_BATCH = 256


class Restoring:
    """Puts the backup in a folder into an installation; `replicas` of each stream, or as there were for 0."""

    def __init__(self, access: Access, source: Path, replicas: int = 0) -> None:
        self._access, self._folder, self._replicas = access, Folder(source), replicas
        self._streams: dict[str, Any] = {}

    async def check(self) -> dict[str, Any]:
        """The manifest, once everything in the folder is what it says. Raises CORRUPT naming what is not."""
        if not self._folder.manifest.exists():
            raise FiretrialError(
                Reason.CORRUPT,
                f"{self._folder.path} holds no whole backup: there is no manifest.json in it",
            )
        return await asyncio.to_thread(self._checked)

    async def restore(self, manifest: dict[str, Any]) -> list[str]:
        """Put everything into the target, and what follows from it; gives remarks.

        Raises PRECONDITION for a target that is not empty, or whose services run.
        """
        self._streams = json.loads(self._folder.streams.read_text())
        await self._take(manifest)
        if manifest["objects"] == "copied":
            with self._access.progress.of("objects put", manifest["count"]) as part:
                await self._objects(part)
        else:
            with self._access.progress.of("objects looked for", manifest["count"]) as part:
                await self._look(part)
        with self._access.progress.of("streams put", len(self._streams)) as part:
            for name in sorted(self._streams, key=lambda name: name.startswith("KV_")):
                await part.after(self._stream(name, part))
        remarks = []
        with self._access.progress.of("services completed", len(SERVICES)) as part:
            for one in stewards(*SERVICES):
                remarks += await part.after(one.complete(await installation(self._access, one.service)))
        await self._mark({"backup": manifest["sha256"], "done": True})
        return remarks

    def _checked(self) -> dict[str, Any]:
        manifest: dict[str, Any] = json.loads(self._folder.manifest.read_text())
        if manifest.get("format") != FORMAT:
            raise FiretrialError(Reason.CORRUPT, f"the format is {manifest.get('format')}, not {FORMAT}")
        faults = list(self._faults(manifest))
        if faults:
            told = "; ".join(str(fault) for fault in faults[:5])
            raise FiretrialError(Reason.CORRUPT, f"the backup is damaged: {told}", faults=faults)
        return manifest

    def _faults(self, manifest: dict[str, Any]) -> Iterator[Fault]:
        for file in (self._folder.streams, self._folder.listing):
            if not file.exists() or hash_of(file) != manifest["sha256"][file.name]:
                yield Fault(file.name, "its sha256", f"must be {manifest['sha256'][file.name]}")
                return
        for name, told in json.loads(self._folder.streams.read_text()).items():
            yield from _fault(name, self._folder.stream(name), told["sha256"])
        if manifest["objects"] == "copied":
            with self._access.progress.of("objects checked", manifest["count"]) as part:
                for one in self._listed():
                    yield from _fault(one["uri"], self._folder.object(one["uri"]), one["sha256"])
                    part.step(size=one["size"])

    def _listed(self) -> Iterator[dict[str, Any]]:
        with self._folder.listing.open() as file:
            yield from map(json.loads, file)

    async def _take(self, manifest: dict[str, Any]) -> None:
        """Mark the target as this backup's, where it is empty or was marked before."""
        mark = await self._marked()
        if mark == {"backup": manifest["sha256"], "done": False}:
            return
        objects, copied = self._access.objects, manifest["objects"] == "copied"
        filled = [bucket for bucket in BUCKETS if copied and await objects.keys(bucket, "")]
        for info in await broker.stream_infos(self._access.js):
            name = str(info.config.name)
            if info.state.messages:
                filled.append(name)
            if any(reader.waiting for reader in await broker.readers(self._access.js, name)):
                raise FiretrialError(Reason.PRECONDITION, f"services run on {name}: end them first")
        if filled or mark:
            told = f"{', '.join(filled)} hold something" if filled else f"it was restored from {mark}"
            raise FiretrialError(Reason.PRECONDITION, f"the target is not empty: {told}")
        await self._mark({"backup": manifest["sha256"], "done": False})

    async def _marked(self) -> dict[str, Any]:
        try:
            mark: dict[str, Any] = json.loads(await self._access.objects.get(f"results/{_MARK}"))
        except FiretrialError as error:
            if error.reason is Reason.NOT_FOUND:
                return {}
            raise
        return mark

    async def _mark(self, told: dict[str, Any]) -> None:
        await self._access.objects.put("results", _MARK, json.dumps(told).encode(), _JSON)

    async def _objects(self, part: Part) -> None:
        listed = (one for one in self._listed() if one["uri"] != f"results/{_MARK}")
        while some := list(islice(listed, _AT_ONCE)):
            await asyncio.gather(*map(self._object, some))
            part.step(len(some), sum(one["size"] for one in some))

    async def _object(self, one: dict[str, Any]) -> None:
        objects, uri = self._access.objects, one["uri"]
        there = await objects.stat(uri)
        if there is None or (there.sha256, there.size) != (one["sha256"], one["size"]):
            bucket, _, key = uri.partition("/")
            await objects.put_file(bucket, key, self._folder.object(uri), one["media_type"])

    async def _look(self, part: Part) -> None:
        """Of a backup that only names its objects: they must lie in the target."""
        faults = []
        for one in self._listed():
            there = await self._access.objects.stat(one["uri"])
            if there is None or there.size < 0:
                faults.append(Fault("object", one["uri"], "must lie in the target's store"))
            part.step()
        if faults:
            raise FiretrialError(
                Reason.PRECONDITION, f"the target's store lacks {len(faults)} objects", faults=faults[:20]
            )

    async def _stream(self, name: str, part: Part) -> None:
        told, js = self._streams[name], self._access.js
        there = await found(name, js.stream_info(name))
        if there is not None and there.state.last_seq != told["state"]["last_seq"]:
            await reach(name, js.delete_stream(name))  # empty, as was seen
            there = None
        if self._replicas:
            told["config"]["num_replicas"] = self._replicas
        if there is None:
            await take_back(self._access.client, name, told, self._folder.stream(name), part)
        for consumer in told["consumers"]:
            await self._consumer(name, consumer)

    async def _consumer(self, stream: str, told: dict[str, Any]) -> None:
        """Make a consumer that has settled what it had settled: its place cannot be set, only reached."""
        js, config = self._access.js, ConsumerConfig.from_response(dict(told["config"]))
        info = await reach(stream, js.add_consumer(stream, config))
        floor = info.ack_floor.stream_seq if info.ack_floor else 0
        pull = await js.pull_subscribe_bind(durable=str(config.durable_name), stream=stream)
        try:
            left = (info.num_pending or 0) + (info.num_ack_pending or 0)
            while floor < told["settled"] and left:
                try:
                    batch = await reach(stream, pull.fetch(min(_BATCH, left), timeout=5))
                except (TimeoutError, nats.errors.TimeoutError):
                    break
                for message in batch:
                    place = message.metadata.sequence.stream
                    floor, left = max(floor, place), message.metadata.num_pending
                    await (message.ack() if place <= told["settled"] else message.nak())
        finally:
            await pull.unsubscribe()


def _fault(name: str, path: Path, sha256: str) -> Iterator[Fault]:
    if not path.exists():
        yield Fault(name, "", "is missing in the folder")
    elif hash_of(path) != sha256:
        yield Fault(name, "its sha256", f"must be {sha256}")

"""A backup: what the broker keeps, and the objects, in a folder with a manifest that is written last.

What was acknowledged is noted first, then each service's state is written out, then the facts and the work,
then the objects. So whatever the state refers to is in the backup, no fact is missing that came of the state,
and every fact that the state may not know of counts as not handled yet: it is handled again after a restore,
which changes nothing where it was. The runs that were under way meanwhile go on or begin anew.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import hashlib
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nats.js.api import DeliverPolicy, RetentionPolicy

from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.jetstream import reach, said
from firetrial_kit.keeping import NAME
from firetrial_operate.access import Access
from firetrial_operate.admin import broker
from firetrial_operate.admin.snapshots import write_out
from firetrial_operate.progress import Part

FORMAT = "firetrial.backup/1"
_AT_ONCE = 8
_KEPT = ("papers", "truth", "runs", "results")
"""Buckets; what lies in `sealed` is laid out anew for each test."""


@dataclass(frozen=True, slots=True)
class Folder:
    """Names of everything in a backup."""

    path: Path

    @property
    def manifest(self) -> Path:
        """There once the backup is whole."""
        return self.path / "manifest.json"

    @property
    def streams(self) -> Path:
        """There once all streams are written out."""
        return self.path / "streams.json"

    @property
    def listing(self) -> Path:
        """A line for each object: {"uri", "sha256", "size", "media_type"}."""
        return self.path / "objects.jsonl"

    @property
    def lock(self) -> Path:
        """Held by who makes the backup."""
        return self.path / "streams" / "lock"

    def stream(self, name: str) -> Path:
        return self.path / "streams" / f"{name}.snapshot"

    def object(self, uri: str) -> Path:
        # Hashed: keys hold what file systems may not.
        hashed = hashlib.sha256(uri.encode()).hexdigest()
        return self.path / "objects" / hashed[:2] / hashed


async def back_up(access: Access, to: Path, *, copied: bool) -> dict[str, Any]:
    """Make a backup, or finish one that was cut off; gives its manifest. Objects are copied, or only listed.

    Raises ALREADY_EXISTS for a folder with a whole backup, INVALID for one with something else, PRECONDITION
    where another is making one there, UNAVAILABLE where it cannot be written to.
    """
    folder = Folder(to)
    try:
        with _alone(folder):
            return await _backed_up(access, folder, copied=copied)
    except OSError as error:
        room = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise FiretrialError(
            Reason.UNAVAILABLE,
            f"the backup in {to} is not whole: {said(error)}. "
            f"{'Make room' if room else 'Mend that, or name another folder,'} and call it again: "
            "it goes on from where it was",
        ) from error


@contextmanager
def _alone(folder: Folder) -> Iterator[None]:
    """Two at a time would mix two backups. Raises PRECONDITION where another is at it, and OSError."""
    _prepare(folder)
    with folder.lock.open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"another backup is being made in {folder.path}: wait for it, or name another folder"
            raise FiretrialError(Reason.PRECONDITION, message) from None
        _prepare(folder)  # the other may just have finished it
        yield


async def _backed_up(access: Access, folder: Folder, *, copied: bool) -> dict[str, Any]:
    if not folder.streams.exists():
        _write(folder.streams, await _streams(access, folder))
    counts = await _objects(access, folder, copied=copied)
    manifest = {
        "format": FORMAT,
        # What it holds is of then, however much later it was finished.
        "made_at": datetime.fromtimestamp(folder.streams.stat().st_mtime, UTC).isoformat(),
        "version": version("firetrial-operate"),
        "objects": "copied" if copied else "referenced",
        **counts,
        "sha256": {file.name: hash_of(file) for file in (folder.streams, folder.listing)},
    }
    # All is on the disk before the manifest says so.
    await asyncio.to_thread(os.sync)
    _write(folder.manifest, manifest)
    return manifest


def _prepare(folder: Folder) -> None:
    if folder.manifest.exists():
        raise FiretrialError(Reason.ALREADY_EXISTS, f"{folder.path} holds a whole backup: name another")
    own = {"streams", "streams.json", "objects", "objects.jsonl"}
    others = [path.name for path in folder.path.iterdir()] if folder.path.exists() else []
    if strange := sorted(name for name in others if name.partition(".new")[0] not in own):
        fault = Fault("dest", str(folder.path), f"must be empty; it holds {', '.join(strange[:3])}")
        raise FiretrialError(Reason.INVALID, f"{folder.path} is no backup: {fault}", faults=[fault])
    folder.path.parent.mkdir(parents=True, exist_ok=True)
    for path in (folder.path, folder.path / "streams", folder.path / "objects"):
        path.mkdir(exist_ok=True, mode=0o700)


async def _streams(access: Access, folder: Folder) -> dict[str, Any]:
    infos = await broker.stream_infos(access.js)
    names = [str(info.config.name) for info in infos]
    read = {
        str(info.config.name): await _consumers(access, str(info.config.name))
        for info in infos
        if info.config.retention == RetentionPolicy.LIMITS
    }
    written = {}
    with access.progress.of("streams written out", len(names)) as part:
        for name in sorted(names, key=lambda name: not name.startswith("KV_")):
            written[name] = await write_out(access.client, name, folder.stream(name), part)
            written[name]["consumers"] = read.get(name, [])
            part.step()
    return written


async def _consumers(access: Access, stream: str) -> list[dict[str, Any]]:
    """Durable ones, and up to where each has settled everything."""
    found = []
    offset = 0
    while page := await reach(stream, access.js.consumers_info(stream, offset=offset)):
        offset += len(page)
        found += [
            {"config": info.config.as_dict(), "settled": info.ack_floor.stream_seq if info.ack_floor else 0}
            for info in page
            if info.config.durable_name and info.name != NAME
            and info.config.deliver_policy in (None, DeliverPolicy.ALL)
        ]  # fmt: skip
    return found


async def _objects(access: Access, folder: Folder, *, copied: bool) -> dict[str, int]:
    """List all objects, and copy those that are not there yet; gives their number and bytes."""
    count = total = 0
    part = folder.listing.with_suffix(".new")
    with part.open("w") as listing:
        async for one in _each(access, folder, copied=copied):
            listing.write(json.dumps(one) + "\n")
            count, total = count + 1, total + one["size"]
    part.replace(folder.listing)
    return {"count": count, "bytes": total}


async def _each(access: Access, folder: Folder, *, copied: bool) -> AsyncIterator[dict[str, Any]]:
    for bucket in _KEPT:
        uris = [f"{bucket}/{key}" for key in await access.objects.keys(bucket, "")]
        done = f"objects of {bucket} {'copied' if copied else 'listed'}"
        with access.progress.of(done, len(uris)) as part:
            for start in range(0, len(uris), _AT_ONCE):
                some = uris[start : start + _AT_ONCE]
                read = (_one(access, folder, uri, part, copied=copied) for uri in some)
                for one in await asyncio.gather(*read):
                    part.step()
                    if one is not None:
                        yield one


async def _one(
    access: Access, folder: Folder, uri: str, part: Part, *, copied: bool
) -> dict[str, Any] | None:
    """An object as it is listed; None for one that was deleted meanwhile."""
    try:
        ref = await access.objects.stat(uri)
        if ref is None:
            return None
        sha256, size = ref.sha256, ref.size
        if copied:
            sha256, size = await copy(access, uri, folder.object(uri), part)
    except FiretrialError as error:
        if error.reason is Reason.NOT_FOUND:
            return None
        raise
    return {"uri": uri, "sha256": sha256, "size": size, "media_type": ref.media_type}


async def copy(access: Access, uri: str, to: Path, told: Part) -> tuple[str, int]:
    """Copy an object, whole or not at all; gives its sha256 and size. One that was copied before stays."""
    ref = await access.objects.stat(uri)
    if ref and ref.sha256 and await asyncio.to_thread(_hash_if_there, to) == ref.sha256:
        return ref.sha256, ref.size
    hashed, size = hashlib.sha256(), 0
    to.parent.mkdir(exist_ok=True)
    part = to.with_suffix(".new")
    with part.open("wb") as file:
        async for piece in access.objects.stream(uri):
            hashed.update(piece)
            size += len(piece)
            told.step(0, len(piece))
            await asyncio.to_thread(file.write, piece)
    part.replace(to)
    return hashed.hexdigest(), size


def hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hash_if_there(path: Path) -> str:
    return hash_of(path) if path.exists() else ""


def _write(path: Path, value: Any) -> None:
    """Replace the file in one step."""
    part = path.with_suffix(".new")
    with part.open("w") as file:
        json.dump(value, file, default=str)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)

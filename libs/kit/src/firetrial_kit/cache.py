"""Answers of models that were paid for once, by the content of what was asked.

A key is a hash over everything that an answer depends on: the texts asked about, the prompt's version, the
model, its address and parameters. So a changed prompt pays for what it changed and for nothing else. Entries
lie in the object store, where every process of a service finds them, and in a local folder in front of it.
Each tenant has entries of its own: what another asked for can be told neither by the bill nor by the time.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from firetrial_kit import tenants
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import Objects

_JSON = "application/json"
_AT_ONCE = 16
_LOW_WATER = 0.9  # what pruning leaves of the limit, so that it is not done again at the next entry


class Cache(Protocol):
    """Entries by key, a lower-case hex hash. Values are JSON."""

    async def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Those that are there."""
        ...

    async def put(self, entries: Mapping[str, bytes]) -> None:
        """Keep entries. One that cannot be kept is paid for again: no reason to lose the answer at hand."""
        ...


class NoCache:
    """Keeps nothing."""

    async def get(self, keys: Iterable[str]) -> dict[str, bytes]:  # noqa: ARG002 - the port's
        return {}

    async def put(self, entries: Mapping[str, bytes]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class LocalStats:
    """How many entries a folder holds, and their bytes."""

    entries: int
    size: int


class LocalTier:
    """Entries as files under `folder`, at most `limit` bytes of them; those unread for longest go first.

    Several processes may share a folder: each bounds what it adds, and pruning counts what is there.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._size: int | None = None

    async def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        return await asyncio.to_thread(self._read, list(keys))

    async def put(self, entries: Mapping[str, bytes]) -> None:
        with suppress(OSError):  # a full or vanished disk costs speed, not answers
            await asyncio.to_thread(self._write, dict(entries))

    def stats(self) -> LocalStats:
        """What the folder holds now."""
        sizes = [size for _, size, _ in self._files()]
        return LocalStats(len(sizes), sum(sizes))

    def prune(self, limit: int) -> LocalStats:
        """Remove entries, the longest unread first, until at most `limit` bytes are left; what is left."""
        files = sorted(self._files())
        left, size = len(files), sum(size for _, size, _ in files)
        for _, bytes_, path in files:
            if size <= limit:
                break
            path.unlink(missing_ok=True)
            left, size = left - 1, size - bytes_
        self._size = size
        return LocalStats(left, size)

    def _read(self, keys: list[str]) -> dict[str, bytes]:
        found = {}
        for key in keys:
            path = self._path(key)
            with suppress(OSError):
                found[key] = path.read_bytes()
                os.utime(path)
        return found

    def _write(self, entries: dict[str, bytes]) -> None:
        if self._size is None:
            self._size = self.stats().size
        for key, value in entries.items():
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(value)
            Path(file.name).replace(path)
            self._size += len(value)
        if self._size > self._limit:
            self.prune(int(self._limit * _LOW_WATER))

    def _path(self, key: str) -> Path:
        key = tenants.apart(key)
        return self._folder / key[:2] / f"{key}.json"

    def _files(self) -> list[tuple[float, int, Path]]:
        """When each entry was last read, its bytes, and where it lies."""
        found = []
        for path in self._folder.glob("??/*"):
            with suppress(OSError):  # pruned by another just now
                told = path.stat()
                found.append((told.st_mtime, told.st_size, path))
        return found


class StoreTier:
    """Entries in a `bucket` of the object store, under `prefix`."""

    def __init__(self, objects: Objects, bucket: str, prefix: str) -> None:
        self._objects = objects
        self._bucket = bucket
        self._prefix = prefix
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        wanted = list(keys)
        values = await asyncio.gather(*map(self._get, wanted))
        return {key: value for key, value in zip(wanted, values, strict=True) if value is not None}

    async def put(self, entries: Mapping[str, bytes]) -> None:
        await asyncio.gather(*(self._put(key, value) for key, value in entries.items()))

    async def _get(self, key: str) -> bytes | None:
        async with self._turns:
            try:
                return await self._objects.get(f"{self._bucket}/{self._key(key)}")
            except FiretrialError as error:
                # Away for a moment: better to come back later than to pay again.
                if error.reason is Reason.NOT_FOUND or not error.retryable:
                    return None
                raise

    async def _put(self, key: str, value: bytes) -> None:
        async with self._turns:
            with suppress(FiretrialError):
                await self._objects.put(self._bucket, self._key(key), value, _JSON)

    def _key(self, key: str) -> str:
        key = tenants.apart(key)
        return f"{self._prefix}/{key[:2]}/{key}.json"


class Tiers:
    """Caches one behind the other; what a later one has, the earlier ones get."""

    def __init__(self, *tiers: Cache) -> None:
        self._tiers = tiers

    async def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        wanted = list(keys)
        for depth, tier in enumerate(self._tiers):
            missing = [key for key in wanted if key not in found]
            fresh = await tier.get(missing) if missing else {}
            if fresh:
                for nearer in self._tiers[:depth]:
                    await nearer.put(fresh)
            found |= fresh
        return found

    async def put(self, entries: Mapping[str, bytes]) -> None:
        for tier in self._tiers:
            await tier.put(entries)

"""State in a dict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.state import Entry


class InMemoryState:
    """Same promises as the KV bucket, for one process and no longer than it."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._revision = 0
        self._changed = asyncio.Condition()

    async def get(self, key: str) -> Entry | None:
        return self._entries.get(key)

    async def create(self, key: str, value: bytes) -> int:
        if key in self._entries:
            raise FiretrialError(Reason.ALREADY_EXISTS, f"{key} exists")
        return await self._put(key, value)

    async def update(self, key: str, value: bytes, revision: int) -> int:
        current = self._entries.get(key)
        if current is None or current.revision != revision:
            raise FiretrialError(Reason.CONFLICT, f"{key} was changed by another")
        return await self._put(key, value)

    async def delete(self, key: str) -> None:
        self._entries.pop(key, None)

    async def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self._entries if key.startswith(f"{prefix}."))

    async def watch(self, key: str) -> AsyncIterator[Entry]:
        seen: dict[str, int] = {}
        while True:
            fresh = [
                entry
                for name, entry in sorted(self._entries.items(), key=lambda item: item[1].revision)
                if (name == key or (key.endswith(".") and name.startswith(key)))
                and entry.revision > seen.get(name, 0)
            ]
            for entry in fresh:
                seen[entry.key] = entry.revision
                yield entry
            if not fresh:
                async with self._changed:
                    await self._changed.wait()

    async def _put(self, key: str, value: bytes) -> int:
        self._revision += 1
        self._entries[key] = Entry(key, value, self._revision)
        async with self._changed:
            self._changed.notify_all()
        return self._revision

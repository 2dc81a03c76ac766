"""Doing a thing once that several want at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """One at a time for each key: who comes second finds what the first has done."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, key: str) -> AsyncIterator[None]:
        """Inside, nobody else is for the same key."""
        lock, users = self._held.get(key, (asyncio.Lock(), 0))
        self._held[key] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            lock, users = self._held.pop(key)
            if users > 1:
                self._held[key] = lock, users - 1

"""Current state of resources: a small key-value store where a write says which version it replaces."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """One value as it was at `revision`."""

    key: str
    value: bytes
    revision: int


class State(Protocol):
    """Key-value store with compare-and-set. Keys are dot-separated; values are at most 512 KiB."""

    async def get(self, key: str) -> Entry | None:
        """The entry, or None."""
        ...

    async def create(self, key: str, value: bytes) -> int:
        """Store a new key and return its revision. Raises ALREADY_EXISTS."""
        ...

    async def update(self, key: str, value: bytes, revision: int) -> int:
        """Replace what stood at `revision`. Raises CONFLICT where something newer stands there."""
        ...

    async def delete(self, key: str) -> None:
        """Forget a key; harmless where there is none."""
        ...

    async def keys(self, prefix: str) -> list[str]:
        """All keys under `prefix` and a dot, sorted; those that were deleted may be among them."""
        ...

    def watch(self, key: str) -> AsyncIterator[Entry]:
        """The entry at `key`, or those under `key` where it ends in a dot: as they are now, then each change.

        A change that is overtaken by a newer one may be left out. Never ends by itself.
        """
        ...

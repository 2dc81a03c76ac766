"""Verdicts by claim, those on the same references in one entry of the cache.

An entry for each verdict would cost the store a dozen requests a run; here it is one to look and one to keep.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import TypeAdapter, ValidationError

from firetrial_judge.verdict import Ruling
from firetrial_kit.cache import Cache
from firetrial_kit.once import Turns

_RULINGS: TypeAdapter[dict[str, Ruling]] = TypeAdapter(dict[str, Ruling])


class Shelf:
    """Rulings by the hash of claim and reference, under the key of what they have in common."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._turns = Turns()

    async def find(self, key: str) -> dict[str, Ruling]:
        """What is kept there; nothing where that is of an older form."""
        kept = (await self._cache.get([key])).get(key)
        try:
            return {} if kept is None else _RULINGS.validate_json(kept)
        except ValidationError:
            return {}

    async def add(self, key: str, rulings: Mapping[str, Ruling]) -> None:
        """Keep these, too. Another process that adds at the same moment may win: its loss is paid again."""
        if not rulings:
            return
        async with self._turns.of(key):
            merged = {**await self.find(key), **rulings}
            await self._cache.put({key: _RULINGS.dump_json(merged)})

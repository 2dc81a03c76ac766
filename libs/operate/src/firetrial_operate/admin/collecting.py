"""What nothing refers to any more, found by looking twice."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from firetrial_kit.attendance import KIND, attendants
from firetrial_kit.jetstream import reach
from firetrial_kit.kv import encode
from firetrial_operate.access import Access
from firetrial_operate.admin.deleting import measured
from firetrial_operate.admin.services import SERVICES, installation, stewards

_GONE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Unused:
    """Objects by uri, their bytes, and the names of runners that have said nothing for a day."""

    objects: tuple[str, ...]
    size: int
    runners: tuple[str, ...]

    async def remove(self, access: Access) -> None:
        for uri in self.objects:
            await access.objects.delete(uri)
        for name in self.runners:
            subject = f"$KV.ft_runner.{encode(f'{KIND}.{name}')}"
            await reach(subject, access.js.purge_stream("KV_ft_runner", subject=subject))


async def collect(access: Access, grace: float) -> Unused:
    """What was unused at a first look, and still is `grace` seconds later."""
    first = await _unused(access)
    if first:
        await asyncio.sleep(grace)
        first &= await _unused(access)
    sizes = [await measured(access.objects, uri) for uri in sorted(first)]
    return Unused(tuple(sorted(first)), sum(size[1] for size in sizes if size), await _gone(access))


async def _unused(access: Access) -> set[str]:
    found: set[str] = set()
    for one in stewards(*SERVICES):
        found |= {*await one.unused(await installation(access, one.service))}
    return found


async def _gone(access: Access) -> tuple[str, ...]:
    state = (await installation(access, "runner")).state
    now, records = datetime.now(UTC), attendants(state)
    known = {id_: await records.find(id_) for id_ in await records.ids()}
    # None: it took leave, which left a mark in its place.
    return tuple(id_ for id_, one in known.items() if one is None or now - one.seen_at > _GONE)

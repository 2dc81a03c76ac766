"""What nothing refers to any more, found by looking twice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from firetrial_kit.attendance import KIND
from firetrial_kit.jetstream import reach
from firetrial_kit.kv import decode
from firetrial_operate.access import Access
from firetrial_operate.admin.deleting import measured
from firetrial_operate.admin.runners import BUCKET
from firetrial_operate.admin.services import SERVICES, installation, stewards
from firetrial_operate.admin.stored import Stored, messages

_GONE = timedelta(days=1)
_STREAM = f"KV_{BUCKET}"


@dataclass(frozen=True, slots=True)
class Unused:
    """Objects by uri, their bytes, and the last words of runners that were silent for a day, by name."""

    objects: tuple[str, ...]
    size: int
    runners: Mapping[str, Stored]

    async def remove(self, access: Access) -> None:
        with access.progress.of("objects removed", len(self.objects)) as part:
            for uri in self.objects:
                await part.after(access.objects.delete(uri))
        for word in self.runners.values():
            # Up to the word that was seen: one that has come back has a newer one. A broker that is killed
            # may come back with an older one, by which nobody is there; the next collection takes it.
            await reach(
                word.subject,
                access.js.purge_stream(_STREAM, seq=word.sequence + 1, subject=word.subject),
            )


async def collect(access: Access, grace: float) -> Unused:
    """What was unused at a first look, and still is `grace` seconds later."""
    first = await _unused(access)
    if first:
        await asyncio.sleep(grace)
        first &= await _unused(access)
    with access.progress.of("objects measured", len(first)) as part:
        sizes = [await part.after(measured(access.objects, uri)) for uri in sorted(first)]
    return Unused(
        tuple(sorted(first)),
        sum(size[1] for size in sizes if size),
        await gone(access, datetime.now(UTC) - _GONE),
    )


async def _unused(access: Access) -> set[str]:
    found: set[str] = set()
    with access.progress.of("services asked", len(SERVICES)) as part:
        for one in stewards(*SERVICES):
            found |= {*await part.after(one.unused(await installation(access, one.service)))}
    return found


async def gone(access: Access, before: datetime) -> dict[str, Stored]:
    """The last words of runners that have said nothing since `before`, by the broker's clock."""
    prefix = f"$KV.{BUCKET}.{KIND}."
    return {
        decode(word.subject.removeprefix(prefix)): word
        async for word in messages(access.js, _STREAM, f"{prefix}>", headers_only=True)
        if word.at < before
    }

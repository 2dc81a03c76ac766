"""What the installed distributions look at themselves: the entry points `firetrial.doctor`.

Each is a function without arguments that gives (name, ok, detail, cure) of each thing that it looked at,
where ok is None for what works and should be seen to. It may block.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from firetrial_operate.doctor.apart import FAULTS, apart
from firetrial_operate.doctor.checks import Finding, State

GROUP = "firetrial.doctor"
_STATES = {True: State.OK, False: State.FAIL, None: State.WARN}
Look = Callable[[], list[tuple[str, bool | None, str, str]]]


async def findings(limit_s: float) -> list[Finding]:
    """Of all of them, each within the limit."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    found = await asyncio.gather(*(_within(point, limit_s) for point in points))
    return [finding for each in found for finding in each]


async def _within(point: EntryPoint, limit_s: float) -> list[Finding]:
    try:
        async with asyncio.timeout(limit_s):
            return await apart(lambda: _looked(point))
    except TimeoutError:
        detail, cure = f"no answer within {limit_s:.0f} s", "see whether what it asks hangs"
    except FAULTS as error:
        detail = f"its own check failed: {type(error).__name__}: {error}"
        cure = f"install {point.module.partition('.')[0]} anew, or tell its authors"
    return [Finding(point.name, State.FAIL, detail, cure)]


def _looked(point: EntryPoint) -> list[Finding]:
    look: Look = point.load()
    return [Finding(name, _STATES[ok], detail, cure) for name, ok, detail, cure in look()]

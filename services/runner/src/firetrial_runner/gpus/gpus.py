"""The GPUs that one runner gives to its runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from firetrial_runner.gpus.claims import Claims
from firetrial_runner.gpus.device import Demand, Gpu, choose, listed, visible
from firetrial_runner.gpus.inventory import Inventory, Reading, Sight
from firetrial_runner.gpus.tally import GpuUsage, Tally

T = TypeVar("T")
_EVERY_S = 2.0
See = Callable[[Mapping[Gpu, Reading]], None]
"""Called with what was read, of each device that runs may be given."""


class Gpus:
    """`wanted` names those that runs may be given (see `visible`); `see` takes every look at them.

    The first look is at once, the others come from `watch`.
    """

    def __init__(
        self,
        inventory: Inventory,
        claims: Claims,
        wanted: str | None = None,
        see: See | None = None,
        *,
        every_s: float = _EVERY_S,
    ) -> None:
        self._inventory = inventory
        self._claims = claims
        self._wanted = wanted
        self._see = see
        self._every_s = every_s
        self._tallies: dict[str, Tally] = {}
        self._readings: dict[Gpu, Reading] = {}
        self.why_none = ""
        self.note(inventory.look())

    @property
    def devices(self) -> tuple[Gpu, ...]:
        """What runs may be given, in use or not; what the driver has lost is not among it."""
        return tuple(self._readings)

    @property
    def told(self) -> str:
        """What there is, in words, or why there is nothing."""
        return listed(self.devices) if self.devices else f"none: {self.why_none}"

    def take(self, run_id: str, demand: Demand) -> bool:
        """Give a run what it asks for, to itself until `release`; False where that is not to be had."""
        if not demand.count:
            return True
        if run_id in self._tallies:
            return False
        free = list(self.devices)
        while (chosen := choose(demand, free)) is not None:
            taken = [gpu for gpu in chosen if self._claims.take(gpu.uuid)]
            if len(taken) == len(chosen):
                self._tallies[run_id] = Tally(chosen)
                return True
            for gpu in taken:
                self._claims.release(gpu.uuid)
            free = [gpu for gpu in free if gpu not in chosen or gpu in taken]
        return False

    def given(self, run_id: str) -> tuple[Gpu, ...]:
        """What the run has."""
        tally = self._tallies.get(run_id)
        return tally.gpus if tally else ()

    def used(self, run_id: str, wall_s: float) -> GpuUsage:
        """What the run's devices did in the seconds of its process."""
        return self._tallies.get(run_id, Tally(())).used(wall_s)

    def release(self, run_id: str) -> None:
        """Take back what the run has, once nothing of it is left; harmless where it has nothing."""
        for gpu in self.given(run_id):
            self._claims.release(gpu.uuid)
        self._tallies.pop(run_id, None)

    async def watch(self) -> None:
        """Look every so often, until cancelled. Where there is none at the start, nobody looks again."""
        if not self._readings:
            await asyncio.Event().wait()
        while True:
            await asyncio.sleep(self._every_s)
            self.note(await _in_daemon(self._inventory.look))

    def note(self, sight: Sight) -> None:
        """Take in a look."""
        mine = visible(sight.gpus, self._wanted)
        self._readings = {gpu: sight.gpus[gpu] for gpu in mine}
        self.why_none = sight.why_none or ("" if mine else f"none of those here is named by {self._wanted!r}")
        for tally in self._tallies.values():
            tally.add(self._readings)
        if self._see is not None:
            self._see(self._readings)


async def _in_daemon(call: Callable[[], T]) -> T:
    """The call's result, in a thread that a driver which hangs cannot hold up the program's end with."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T) -> None:
        if not future.done():
            future.set_result(result)

    def run() -> None:
        result = call()
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result)

    threading.Thread(target=run, daemon=True).start()
    return await future

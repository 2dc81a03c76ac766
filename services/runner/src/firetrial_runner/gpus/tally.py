"""What GPUs did for one run, out of readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from firetrial_runner.gpus.device import Gpu
from firetrial_runner.gpus.inventory import Reading


@dataclass(frozen=True, slots=True)
class GpuUsage:
    """gpu_s: devices times seconds. utilisation: mean over them and the time, 0 to 1. None is unknown."""

    gpu_s: float
    utilisation: float | None = None
    max_memory_bytes: int | None = None


@dataclass(slots=True)
class Tally:
    """Of the devices that a run has for itself, so that all they do is done for it."""

    gpus: tuple[Gpu, ...]
    _shares: list[float] = field(default_factory=lambda: [0.0, 0.0])  # their sum, their number
    _most: int | None = None

    def add(self, readings: Mapping[Gpu, Reading]) -> None:
        """Take in what was read at one moment."""
        mine = [readings[gpu] for gpu in self.gpus if gpu in readings]
        for reading in mine:
            if reading.utilisation is not None:
                self._shares[0] += reading.utilisation
                self._shares[1] += 1
        memory = [reading.memory_bytes for reading in mine if reading.memory_bytes is not None]
        if memory:
            self._most = max(self._most or 0, sum(memory))

    def used(self, wall_s: float) -> GpuUsage:
        """What a run of so many seconds comes to."""
        total, count = self._shares
        return GpuUsage(len(self.gpus) * wall_s, total / count if count else None, self._most)

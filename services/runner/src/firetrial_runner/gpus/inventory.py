"""The port to the driver: which GPUs there are, and what each does at this moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from firetrial_runner.gpus.device import Gpu


@dataclass(frozen=True, slots=True)
class Reading:
    """utilisation: share of the last moments in which it computed, 0 to 1. None is unknown."""

    utilisation: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Sight:
    """What is there. `why_none` says in words why there is nothing, "" where there is."""

    gpus: dict[Gpu, Reading] = field(default_factory=dict)
    why_none: str = ""


class Inventory(Protocol):
    def look(self) -> Sight:
        """Blocks for moments, and raises nothing: what does not answer is not there."""


class FakeInventory:
    """GPUs that are what they are told to be. Public, and held to the port's contract."""

    def __init__(self, *gpus: Gpu, why_none: str = "no GPU was put here") -> None:
        self.readings: dict[Gpu, Reading] = dict.fromkeys(gpus, Reading(0.0, 0))
        self._why_none = why_none

    def look(self) -> Sight:
        return Sight(dict(self.readings), "" if self.readings else self._why_none)

"""GPUs that come with a job's place: nothing is known of them here but how many one run may have."""

from __future__ import annotations

from firetrial_runner.gpus.claims import Claims
from firetrial_runner.gpus.device import Demand
from firetrial_runner.gpus.gpus import Gpus
from firetrial_runner.gpus.inventory import FakeInventory


class LentGpus(Gpus):
    """The scheduler shares them out, so nobody here claims any."""

    def __init__(self, claims: Claims, most: int) -> None:
        super().__init__(FakeInventory(why_none="they are the scheduler's"), claims)
        self._most = most

    @property
    def told(self) -> str:
        return f"the scheduler's, {self._most} for one run at most"

    def take(self, run_id: str, demand: Demand) -> bool:  # noqa: ARG002 -- nothing is held for the run
        return demand.count <= self._most

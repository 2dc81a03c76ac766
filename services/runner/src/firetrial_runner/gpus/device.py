"""A GPU, what a run asks of one, and which are given to whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from firetrial_kit.errors import Fault

GIB = 1024**3
MOST = 64
"""GPUs that one run may ask for."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """What can be given to one run: a whole GPU, or a slice of one that is partitioned (MIG).

    index is the driver's number of the GPU, memory_bytes what the driver says it has in all. nodes are the
    device files that lead to it, and to no other.
    """

    uuid: str
    index: int
    model: str
    memory_bytes: int
    is_slice: bool = False
    nodes: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        return f"{self.model} of {_gib(self.memory_bytes)}"


@dataclass(frozen=True, slots=True)
class Demand:
    """What a run asks for: how many GPUs, and the memory that each has at least. Nothing by default."""

    count: int = 0
    memory_bytes: int = 0

    @property
    def told(self) -> str:
        """In words, for example "2 GPUs of 80 GiB"."""
        least = f" of {_gib(self.memory_bytes)}" if self.memory_bytes else ""
        return f"{self.count} GPU{'s' if self.count > 1 else ''}{least}"

    def as_parts(self) -> dict[str, object]:
        """Its part in a run's id: nothing where nothing is asked for."""
        return {"gpus": self.count, "gpu_memory_bytes": self.memory_bytes} if self.count else {}

    def faults(self, path: str) -> Iterator[Fault]:
        if not 0 <= self.count <= MOST:
            yield Fault(f"{path}.gpus", str(self.count), f"must be 0 (none) to {MOST}")
        if not 0 <= self.memory_bytes <= 2**53:
            yield Fault(f"{path}.gpu_memory_bytes", str(self.memory_bytes), "must be 0 (any) to 2^53")
        elif self.memory_bytes and not self.count:
            yield Fault(f"{path}.gpu_memory_bytes", str(self.memory_bytes), "must be 0 where gpus is 0")

    def gres(self, kind: str = "") -> str:
        """The value of Slurm's --gres for it, which counts GPUs of a `kind` and knows no memory."""
        return ":".join(filter(None, ("gpu", kind, str(self.count))))


NOTHING = Demand()


def choose(demand: Demand, free: Iterable[Gpu]) -> tuple[Gpu, ...] | None:
    """Of what is free, the smallest that will do, the same whatever their order; None where that is too few.

    Slices go only to a run that asks for one: a CUDA program sees one slice at most.
    """
    fitting = sorted(
        (gpu for gpu in free if _fits(demand, gpu)), key=lambda gpu: (gpu.memory_bytes, gpu.index, gpu.uuid)
    )
    return tuple(fitting[: demand.count]) if len(fitting) >= demand.count else None


def _fits(demand: Demand, gpu: Gpu) -> bool:
    return gpu.memory_bytes >= demand.memory_bytes and (demand.count == 1 or not gpu.is_slice)


def visible(gpus: Iterable[Gpu], wanted: str | None) -> tuple[Gpu, ...]:
    """Those that `wanted` names, written as CUDA_VISIBLE_DEVICES is, or "all" or "none"; None is all.

    An index names the GPU, or all slices of it; a UUID may be cut short.
    """
    if wanted is None or wanted.strip() == "all":
        return tuple(gpus)
    names = [name.strip() for name in wanted.split(",")]
    return tuple(gpu for gpu in gpus if any(_named(gpu, name) for name in names))


def _named(gpu: Gpu, name: str) -> bool:
    return name == str(gpu.index) or (name.startswith(("GPU-", "MIG-")) and gpu.uuid.startswith(name))


def listed(gpus: Iterable[Gpu]) -> str:
    """In words, for example "2 × NVIDIA L4 of 22.5 GiB"; "none"."""
    counted = Counter(f"{gpu.told}{' (a slice)' if gpu.is_slice else ''}" for gpu in gpus)
    return ", ".join(f"{count} × {told}" for told, count in sorted(counted.items())) or "none"


def _gib(size: int) -> str:
    return f"{round(size / GIB, 1):g} GiB"

"""What a plan asks for a run, and what the runner gives: defaults for what is left open, and a most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from firetrial_kit.errors import Fault
from firetrial_runner.gpus.device import NOTHING, Demand
from firetrial_runner.sandbox.port import GIB, MIB, Limits

_MOST_CALLS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ModelCaps:
    """What a run may use of models through the gateway.

    tokens: prompt and completion together, 0 for no cap. calls: by the model's name, "*" for each model
    that is not named; no entry for no cap.
    """

    tokens: int = 0
    cost_usd: float | None = None
    calls: Mapping[str, int] = field(default_factory=dict)

    def as_parts(self) -> dict[str, object]:
        """Its part in a run's id: nothing where nothing is capped."""
        told = {"model_tokens": self.tokens, "model_cost_usd": self.cost_usd, "model_calls": dict(self.calls)}
        return {name: value for name, value in told.items() if value not in (0, None, {})}

    def faults(self, path: str) -> Iterator[Fault]:
        if not 0 <= self.tokens <= 2**53:
            yield Fault(f"{path}.model_tokens", str(self.tokens), "must be 0 (no cap) to 2^53")
        if self.cost_usd is not None and not 0 <= self.cost_usd <= 1e9:
            yield Fault(f"{path}.model_cost_usd", f"{self.cost_usd:g}", "must be unset (no cap) or 0 to 1e9")
        for model, calls in self.calls.items():
            if not model or not 0 <= calls <= _MOST_CALLS:
                yield Fault(
                    f"{path}.model_calls[{model!r}]", str(calls), "must be 0 or more, of a named model"
                )


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is asked for; 0 leaves it to the runner. Seconds from the start of the process, bytes, cores."""

    wall_s: float = 0
    memory_bytes: int = 0
    cpus: float = 0
    processes: int = 0
    output_bytes: int = 0
    disk_bytes: int = 0
    models: ModelCaps = field(default_factory=ModelCaps)
    gpus: Demand = NOTHING

    def as_parts(self) -> dict[str, object]:
        """Its part in a run's id."""
        machine: dict[str, object] = {name: float(getattr(self, name)) for name in _MACHINE}
        return machine | self.models.as_parts() | self.gpus.as_parts()

    def faults(self, most: Allowance, path: str) -> Iterator[Fault]:
        """What is below 0 or over what the runner gives at most."""
        for name in _MACHINE:
            value, cap = getattr(self, name), getattr(most, name)
            if not 0 <= value <= cap:
                yield Fault(f"{path}.{name}", f"{value:g}", f"must be 0 (the default) to {cap:g}")
        yield from self.models.faults(path)
        yield from self.gpus.faults(path)

    def limits(self, default: Allowance) -> Limits:
        """The limits for a sandbox: what is asked for, else `default`, which has no 0 in it."""
        given = {name: getattr(self, name) or getattr(default, name) for name in _MACHINE}
        return Limits(**given, file_bytes=given["disk_bytes"])


_MACHINE = tuple(part.name for part in fields(Allowance) if part.name not in {"models", "gpus"})
"""What is used of the machine by measure."""

DEFAULT = Allowance(
    wall_s=3600, memory_bytes=2 * GIB, cpus=1, processes=256, output_bytes=64 * MIB, disk_bytes=4 * GIB
)
MOST = Allowance(
    wall_s=7 * 86400,
    memory_bytes=512 * GIB,
    cpus=256,
    processes=32_768,
    output_bytes=4 * GIB,
    disk_bytes=1024 * GIB,
)

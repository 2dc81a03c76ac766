"""What a plan asks for a run, and what the runner gives: defaults for what is left open, and a most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

from firetrial_kit.errors import Fault
from firetrial_runner.sandbox.port import GIB, MIB, Limits


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is asked for; 0 leaves it to the runner. Seconds from the start of the process, bytes, cores."""

    wall_s: float = 0
    memory_bytes: int = 0
    cpus: float = 0
    processes: int = 0
    output_bytes: int = 0
    disk_bytes: int = 0

    def as_parts(self) -> dict[str, float]:
        """Its part in a run's id."""
        return {name: float(value) for name, value in asdict(self).items()}

    def faults(self, most: Allowance, path: str) -> Iterator[Fault]:
        """What is below 0 or over what the runner gives at most."""
        for field in fields(self):
            value, cap = getattr(self, field.name), getattr(most, field.name)
            if not 0 <= value <= cap:
                yield Fault(f"{path}.{field.name}", f"{value:g}", f"must be 0 (the default) to {cap:g}")

    def limits(self, default: Allowance) -> Limits:
        """The limits for a sandbox: what is asked for, else `default`, which has no 0 in it."""
        given = {f.name: getattr(self, f.name) or getattr(default, f.name) for f in fields(self)}
        return Limits(**given, file_bytes=given["disk_bytes"])


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

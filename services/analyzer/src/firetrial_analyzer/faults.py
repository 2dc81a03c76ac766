"""What a caller can fix: which field, what it was, what would be right."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    field: str
    value: str
    cure: str

    def __str__(self) -> str:
        return f"{self.field}={self.value}: {self.cure}"


class InputError(ValueError):
    """Input that cannot be analysed; `faults` holds every fault found, not only the first."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(str, self.faults)))

"""What is wrong with an input, said so that the caller can put it right."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: the field's path, the value it has, and what would be right."""

    field: str
    value: str
    cure: str

    def __str__(self) -> str:
        return f"{self.field}={self.value}: {self.cure}"


class InputError(ValueError):
    """An input was refused; `faults` lists everything that is wrong with it, not only the first."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(str, self.faults)))


def refuse(faults: Iterable[Fault]) -> None:
    """Raise InputError when there is any fault."""
    found = tuple(faults)
    if found:
        raise InputError(found)

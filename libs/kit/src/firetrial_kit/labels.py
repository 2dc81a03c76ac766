"""Labels whose values come from users: as many as a monitor can bear, then "other"."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
OTHER = "other"
_MOST, _TOGETHER, _LENGTH = 100, 1000, 80


class Bounded:
    """Values of one or several labels: the first `most` of each, in at most `together` combinations."""

    def __init__(self, most: int = _MOST, together: int = _TOGETHER) -> None:
        self._most, self._together = most, together
        self._known: dict[int, set[str]] = {}
        self._combined: set[tuple[str, ...]] = set()

    def of(self, *values: str) -> tuple[str, ...]:
        """The labels that speak for these values; the same ones always for the same."""
        found = tuple(self._one(place, value) for place, value in enumerate(values))
        if _room(self._combined, found, self._together):
            return found
        return (OTHER,) * len(values)

    def _one(self, place: int, value: str) -> str:
        label = clean(value)
        return label if _room(self._known.setdefault(place, set()), label, self._most) else OTHER


def clean(value: str) -> str:
    """A value that every page of metrics can carry: printable, at most 80 characters."""
    shown = value[:_LENGTH].encode("utf-8", "replace").decode()
    return "".join(character if character.isprintable() else "?" for character in shown)


def _room(known: set[T], value: T, most: int) -> bool:
    if value in known:
        return True
    if len(known) >= most:
        return False
    known.add(value)
    return True

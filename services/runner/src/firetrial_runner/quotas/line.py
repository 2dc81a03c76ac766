"""Who waits for a place among a tenant's runs: in a line, outside of the pools, and back in them by turns.

A record of the runner's state beside `Use`, changed by compare-and-set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

_HELD = 1_000
"""Runs of a tenant that stand in its line; more wait in their pools."""


class Stage(StrEnum):
    """Where a run that waits for a place is."""

    OUTSIDE = "outside"  # of its pool
    MAY_GO = "may_go"  # to be put back there
    BACK = "back"


@dataclass(frozen=True, slots=True)
class Held:
    """A run that found no place, and has none yet; the GPUs that it asks for."""

    pool: str
    gpus: int
    stage: Stage = Stage.OUTSIDE


@dataclass(frozen=True, slots=True)
class Line:
    """Runs in their order."""

    held: Mapping[str, Held] = field(default_factory=dict)

    def at(self, stage: Stage) -> tuple[str, ...]:
        """The runs that wait there."""
        return tuple(id_ for id_, one in self.held.items() if one.stage is stage)

    def holding(self, run_id: str, pool: str, gpus: int) -> Line | None:
        """With a run that waits outside of its pool, in the place that it has in the line if it has one.

        None where it does so already, or too many do. One that is only known to may go was back, and has been
        looked at, before that could be written down.
        """
        known = self.held.get(run_id)
        if (known and known.stage is Stage.OUTSIDE) or (not known and len(self.held) >= _HELD):
            return None
        return Line({**self.held, run_id: Held(pool, gpus)})

    def letting_go(self, free: tuple[float, float]) -> Line | None:
        """With those told to go that may: of each pool as many as there is room for, had it all of it.

        free: (runs, GPUs). None where nobody may.
        """
        room: dict[str, tuple[float, float]] = {}
        for one in self.held.values():
            if one.stage is not Stage.OUTSIDE:
                room[one.pool] = _taken(room.get(one.pool, free), one)
        go = {}
        for id_, one in self.held.items():
            runs, gpus = room.get(one.pool, free)
            if one.stage is Stage.OUTSIDE and runs >= 1 and one.gpus <= gpus:
                room[one.pool] = _taken((runs, gpus), one)
                go[id_] = replace(one, stage=Stage.MAY_GO)
        return Line({**self.held, **go}) if go else None

    def back(self, run_ids: Iterable[str]) -> Line | None:
        """With runs put back into their pools; None where all are."""
        ids = {*run_ids} & {*self.at(Stage.MAY_GO)}
        told = {id_: replace(self.held[id_], stage=Stage.BACK) for id_ in ids}
        return Line({**self.held, **told}) if told else None

    def without(self, run_ids: Iterable[str]) -> Line | None:
        """Without these runs; None where none of them waits."""
        gone = {*run_ids}
        rest = {id_: one for id_, one in self.held.items() if id_ not in gone}
        return None if len(rest) == len(self.held) else Line(rest)


def _taken(room: tuple[float, float], by: Held) -> tuple[float, float]:
    return room[0] - 1, room[1] - by.gpus

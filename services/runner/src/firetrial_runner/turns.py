"""Whose turn it is among the runs of one experiment."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Turns:
    """`going` have their turn and have not ended; of these, `untold` may not have been put into their pool.

    `passed` counts the slots, in the experiment's order, that have had a first turn.
    """

    going: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    passed: int = 0

    def let_go(self, run_id: str, at_once: int | None) -> Turns | None:
        """With the next slot's run; None where no turn is free. None at once is without bound."""
        if at_once is not None and len(self.going) >= at_once:
            return None
        return Turns((*self.going, run_id), (*self.untold, run_id), self.passed + 1)

    def handed_on(self, before: str, after: str) -> Turns | None:
        """With the attempt after one in its place; None where it had that already, and may be over too."""
        told = self.ended(before)
        return told and replace(told, going=(*told.going, after), untold=(*told.untold, after))

    def told(self, run_id: str) -> Turns:
        """With a run that was put into its pool."""
        return replace(self, untold=tuple(id_ for id_ in self.untold if id_ != run_id))

    def ended(self, run_id: str) -> Turns | None:
        """Without a run; None where it has no turn."""
        if run_id not in self.going:
            return None
        return replace(self.told(run_id), going=tuple(id_ for id_ in self.going if id_ != run_id))

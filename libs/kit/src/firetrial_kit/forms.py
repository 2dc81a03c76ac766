"""In which form an endpoint can be asked for one schema: the strictest that it takes, found out by asking.

Servers refuse a form in many ways: 400, 404, 422 or 501, and some by a 500, which may as well be a fault that
passes. So a form that has never worked is left for a looser one at either; a 500 settles nothing by itself:
only where the looser form is answered twice, one ask after the other, is the strict one given up, and it is
tried again now and then. A form that has worked is kept.
"""

from __future__ import annotations

_REFUSALS = frozenset({400, 404, 422, 501})
_FAULT = 500
_ENOUGH = 2  # asks that a looser form saved from a server's fault before the strict one is given up
_SPARED = 32  # asks for which a form that was given up on faults alone is left in peace


class Forms:
    """What is known of one schema at an endpoint; level 0 is the strictest form, `levels` - 1 the loosest."""

    def __init__(self, levels: int) -> None:
        self.loosest = levels - 1
        self.level = 0
        self.proven = False
        self._saved = 0
        self._since = 0

    def attempt(self) -> Attempt:
        """How to ask now."""
        if self._saved >= _ENOUGH:
            self._since += 1
            if self._since > _SPARED:
                self.level, self.proven, self._saved, self._since = 0, False, _ENOUGH - 1, 0
        return Attempt(self, self.level, self._saved)

    def answered(self, attempt: Attempt) -> None:
        """An attempt was answered in its present form."""
        if attempt.level == self.level:
            self.proven = True
            if self._saved < _ENOUGH:
                self._saved = 0
        elif self.proven or attempt.began != self.level:
            return  # one answer in a looser form says nothing against one that has worked
        elif not attempt.faulted:
            self.level, self.proven = attempt.level, True
        elif attempt.saved == self._saved:  # asks that were under way together count once
            self._saved += 1
            if self._saved >= _ENOUGH:
                self.level, self.proven = attempt.level, True


class Attempt:
    """One ask, in one form after the other."""

    def __init__(self, forms: Forms, level: int, saved: int) -> None:
        self._forms = forms
        self.began = self.level = level
        self.saved = saved
        self.faulted = False

    def loosen(self, status: int) -> bool:
        """Go on in the next looser form where a failure with this HTTP status may mean the form."""
        kept = self._forms.proven and self.level == self._forms.level
        fault = status == _FAULT and not kept
        if self.level >= self._forms.loosest or not (fault or status in _REFUSALS):
            return False
        self.faulted |= fault
        self.level += 1
        return True

    def restart(self) -> None:
        """The endpoint failed in every form, or for a reason of its own: begin again once it may be well."""
        if self.faulted:
            self.level, self.faulted = self.began, False

    def answered(self) -> None:
        """It was answered."""
        self._forms.answered(self)

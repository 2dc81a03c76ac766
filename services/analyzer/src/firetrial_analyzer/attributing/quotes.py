"""Whether what a model cites is there: the step exists, and says word for word what is quoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from firetrial_analyzer.attributing.pieces import shown
from firetrial_analyzer.taxonomy.steps import MAX_QUOTE, Citation, Step, by_number, texts

_LEAST = 8  # characters; shorter quotes are found everywhere


class Quotes:
    """The trajectory, to look citations up in. White space and control codes count for nothing."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps: Mapping[int, Step] = by_number(steps)

    def fault(self, step: int, quote: str) -> str:
        """What is wrong with a citation; empty where it holds."""
        found = self._steps.get(step)
        if found is None:
            return f"there is no step {step}"
        wanted = shown(quote)
        said = [shown(text) for text in texts(found)]
        if len(wanted) < _LEAST and wanted not in said:
            return f"the quote {wanted!r} is shorter than {_LEAST} characters and not a whole line"
        if not any(wanted in text for text in said):
            return f"step {step} does not say {wanted[:MAX_QUOTE]!r}"
        return ""

    def checked(self, told: Sequence[Mapping[str, Any]]) -> tuple[tuple[Citation, ...], list[str]]:
        """The citations that hold, each once, and the faults of the others."""
        citations: dict[Citation, None] = {}
        faults = []
        for item in told:
            step, quote = int(item["step"]), str(item["quote"])
            if fault := self.fault(step, quote):
                faults.append(fault)
            else:
                citations[Citation(step, shown(quote)[:MAX_QUOTE].rstrip())] = None
        return tuple(citations), faults

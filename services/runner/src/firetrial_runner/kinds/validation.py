"""A step's validation: its texts over the pinned source, in fresh sandboxes, again where one is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from firetrial_runner.kinds import guard
from firetrial_runner.kinds.pinned import Pinned
from firetrial_runner.kinds.proving import LostError, Place, Proof, Proved, Stage, laid_over, prove, well
from firetrial_runner.kinds.repository import Repository, Results, results
from firetrial_runner.sandbox.port import Exit, SandboxError, Termination

TRIES = 3
_PAUSE_S = 0.3


@dataclass(frozen=True, slots=True)
class Validated:
    """What a validation came to: results, or the reason why there are none. `lost` counts repeated ones.

    `void`: something was done to what measures, so that the results say nothing.
    """

    results: Results | None
    reason: str
    end: Exit
    output: str
    findings: tuple[str, ...]
    lost: int
    void: bool = False


@dataclass(frozen=True, slots=True)
class Validator:
    """`stopped` is entered while something lost is repeated: the run's clock stands still meanwhile."""

    repository: Repository
    pinned: Pinned
    place: Place
    stopped: Callable[[], AbstractContextManager[None]]

    def look(self, texts: Mapping[str, str]) -> guard.Seen:
        """What the texts do that the pinned ones do not and that no honest change needs. See `guard`."""
        results_file = self.repository.metric.results_file
        seen = [guard.look(path, text, self.pinned.text(path), results_file) for path, text in texts.items()]
        findings = tuple(found for one in seen for found in one.findings)
        return guard.Seen(findings, next((one.unread for one in seen if one.unread), ""))

    @property
    def scores_apart(self) -> bool:
        """Whether no code of the agent runs where its results are made."""
        return bool(self.repository.score_command)

    async def validate(self, key: str, texts: Mapping[str, str]) -> Validated:
        """Raises LostError once infrastructure has failed it too often."""
        proof, lost = self._proof(texts), 0
        with ExitStack() as stack:
            while True:
                try:
                    proved = await prove(self.place, f"{key}-{lost + 1}", proof)
                    return self._told(proved, lost)
                except (LostError, SandboxError, OSError) as error:
                    lost += 1
                    if lost == TRIES:
                        raise LostError(str(error)) from error
                if lost == 1:
                    stack.enter_context(self.stopped())
                await asyncio.sleep(_PAUSE_S * lost)

    def _proof(self, texts: Mapping[str, str]) -> Proof:
        source, wanted = self.pinned.folder, self.repository
        written = (wanted.metric.results_file, *wanted.outputs)
        first = Stage(wanted.command, lambda folder: laid_over(source, folder, texts, written))
        if not self.scores_apart:
            return Proof(first, wanted.metric.results_file, watched=self._changed)
        score = Stage(wanted.score_command, lambda folder: laid_over(source, folder, {}, written))
        return Proof(first, wanted.metric.results_file, score, wanted.outputs, self._changed)

    def _changed(self, folder: Path) -> list[str]:
        return [found.replace("in the workspace", "while it ran") for found in self.pinned.tampered(folder)]

    def _told(self, proved: Proved, lost: int) -> Validated:
        output = proved.output.decode(errors="replace")
        found, reason = self._read(proved)
        findings = (*proved.findings, *_excess(proved.end))
        void = bool(proved.findings) and not self.scores_apart
        if void:
            found, reason = None, proved.findings[0]
        return Validated(found, reason, proved.end, output, findings, lost, void)

    def _read(self, proved: Proved) -> tuple[Results | None, str]:
        if not well(proved.end):
            return None, how(proved.end)
        if proved.results is None:
            return None, f"it left no {self.repository.metric.results_file}"
        found = results(self.repository.metric, proved.results)
        return (None, found) if isinstance(found, str) else (found, "")


def _excess(end: Exit) -> tuple[str, ...]:
    wrote = end.termination in {Termination.OUTPUT_LIMIT, Termination.DISK_LIMIT}
    return (f"the validation wrote more than it may: {end.detail}",) if wrote else ()


def how(end: Exit) -> str:
    """How a command ended that did not end well."""
    if end.termination is not Termination.EXITED:
        return f"{end.termination.replace('_', ' ')}{f': {end.detail}' if end.detail else ''}"
    return f"it was ended by signal {end.signal}" if end.signal else f"it exited with {end.code}"

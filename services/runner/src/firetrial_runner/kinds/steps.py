"""The steps of a repository run: taken one at a time, validated, recorded, and answered."""

from __future__ import annotations

import asyncio
import difflib
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from firetrial_kit.ids import digest, sha256
from firetrial_runner.kinds import repository as repositories
from firetrial_runner.kinds.proving import LostError
from firetrial_runner.kinds.repository import HandIn, Refused, Repository
from firetrial_runner.kinds.validation import Validated, Validator
from firetrial_runner.sandbox.port import Exit
from firetrial_runner.stoppable import in_thread

MAX_DIFF = 64 * 1024
_MAX_LINES = 4000
"""Lines of a text that is still compared: finding what changed takes the square of them at worst."""
_TAIL = 4000
_MAX_FINDINGS, _MAX_FINDING = 20, 300
"""Findings of one step that are told, and characters of each."""
LOST = "lost"


class State(StrEnum):
    VALID = "valid"
    FAILED = "failed"
    VOID = "void"  # tampered with: not validated, and never tested


@dataclass(frozen=True, slots=True)
class Made:
    """A step as it is kept. `files` are sha256 by path of the target files that were handed in.

    offset_s and took_s are seconds: from the start of the agent's process to the hand-in, and from there on.
    tokens are those since the step before; None where they are unknown.
    """

    number: int
    idea: str
    state: State
    files: Mapping[str, str]
    offset_s: float
    took_s: float
    metric: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    tokens: int | None = None
    reason: str = ""
    findings: tuple[str, ...] = ()
    end: Exit | None = None
    lost: int = 0
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the agent is told of a step. `output` is the end of what a validation wrote that failed."""

    made: Made
    output: str
    steps_left: int

    def told(self) -> dict[str, object]:
        """JSON-ready."""
        made = self.made
        return {
            "step": made.number,
            "state": str(made.state),
            "metric": made.metric,
            "metrics": dict(made.metrics),
            "reason": made.reason,
            "findings": list(made.findings),
            "output": self.output,
            "seconds": round(made.took_s, 3),
            "steps_left": self.steps_left,
        }


@dataclass(frozen=True, slots=True)
class Keeping:
    """How steps are kept: texts by their sha256, all steps so far, and one more for the trajectory.

    `count` is told the state of each, LOST for one that could not be validated, and the seconds that it took.
    """

    text: Callable[[str, bytes], Awaitable[None]]
    steps: Callable[[list[Made]], Awaitable[None]]
    tell: Callable[[str, Mapping[str, object] | None], Awaitable[None]]
    count: Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class _Trial:
    """A step as it is tried. `grave` findings make it void; `begun` is when it was handed in.

    `unread` says why it was not let near the grader, where that is no finding; `changed` are the lines that
    came and that went since the step before.
    """

    number: int
    idea: str
    texts: Mapping[str, str]
    begun: float
    grave: list[str]
    light: list[str]
    validated: Validated | None = None
    unread: str = ""
    changed: tuple[int, int] = (0, 0)

    @property
    def void(self) -> bool:
        return bool(self.grave) or (self.validated is not None and self.validated.void)

    @property
    def state(self) -> State:
        if self.void:
            return State.VOID
        return State.VALID if self.validated and self.validated.results else State.FAILED

    @property
    def findings(self) -> tuple[str, ...]:
        told = [*self.grave, *(self.validated.findings if self.validated else ()), *self.light]
        few = tuple(dict.fromkeys(line[:_MAX_FINDING] for line in told))
        more = len(few) - _MAX_FINDINGS
        return (*few[:_MAX_FINDINGS], f"and {more} more") if more > 0 else few


class Steps:
    """`copy` is the agent's own copy of the source, `tokens` what its calls have used so far."""

    def __init__(
        self,
        run_id: str,
        validator: Validator,
        copy: Path,
        keeping: Keeping,
        *,
        tokens: Callable[[], int | None],
        offset: Callable[[], float],
    ) -> None:
        self.made: list[Made] = []
        self._run_id, self._validator, self._copy = run_id, validator, copy
        self._keeping, self._tokens, self._offset = keeping, tokens, offset
        self._turn = asyncio.Lock()
        self._stored: set[str] = set()
        self._before: Mapping[str, str] = {}
        self._used: int | None = 0

    @property
    def repository(self) -> Repository:
        return self._validator.repository

    @property
    def left(self) -> int:
        return max(0, self.repository.max_steps - len(self.made))

    async def take(self, handed: HandIn) -> Answer:
        """Validate what is handed in, when those before are done. Raises Refused."""
        async with self._turn:
            if not self.left:
                raise Refused(409, f"all {self.repository.max_steps} steps are made")
            begun, number = self._offset(), len(self.made) + 1
            try:
                answer = await self._take(handed)
            except Refused:
                self._keeping.count(LOST, self._offset() - begun)
                raise
            except asyncio.CancelledError:
                if len(self.made) < number:
                    told = f"step {number} was under way when the run ended, and does not count"
                    await asyncio.shield(self._keeping.tell(told, None))
                raise
            self._keeping.count(str(answer.made.state), answer.made.took_s)
            return answer

    def summary(self) -> str:
        """What the run came to, in words; "" without any step."""
        if not self.made:
            return ""
        valid = sum(made.state is State.VALID for made in self.made)
        told = [f"{len(self.made)} steps, {valid} of them valid."]
        told += [f"Step {m.number}: {m.state}, {self._outcome(m)}: {m.idea}"[:300] for m in self.made[-50:]]
        return "\n".join(told)

    async def _take(self, handed: HandIn) -> Answer:
        begun, number = self._offset(), len(self.made) + 1
        texts = {path: text for path, text in handed.files.items() if path in self.repository.targets}
        grave = [*repositories.findings(self.repository, handed), *await self._tampered()]
        seen = await asyncio.to_thread(self._validator.look, texts)
        light = [*seen.findings]
        unread = ""
        if not self._validator.scores_apart:
            grave, light, unread = [*grave, *light], [], seen.unread
        validated: Validated | None = None
        if not grave and not unread:
            validated = await self._validated(number, texts)
            grave += await self._tampered()
        light += await in_thread(lambda _: self._validator.pinned.planted(self._copy))
        changed = await asyncio.to_thread(self._changed, texts)
        made = self._step(_Trial(number, handed.idea, texts, begun, grave, light, validated, unread, changed))
        await _whole(self._keep(made, texts))
        output = validated.output[-_TAIL:] if validated and made.state is State.FAILED else ""
        return Answer(made, output, self.left)

    async def _tampered(self) -> list[str]:
        return await in_thread(lambda go_on: self._validator.pinned.tampered(self._copy, go_on))

    async def _validated(self, number: int, texts: Mapping[str, str]) -> Validated:
        try:
            return await self._validator.validate(f"s{number}-{digest(self._run_id, length=20)}", texts)
        except LostError as error:
            told = f"step {number} could not be validated, by no fault of the agent: {error}"
            await self._keeping.tell(told, None)
            raise Refused(503, f"{told}. It does not count: hand it in again") from error

    def _step(self, trial: _Trial) -> Made:
        validated, texts = trial.validated, trial.texts
        found = validated.results if validated and not trial.void else None
        why = trial.grave[0] if trial.grave else validated.reason if validated else trial.unread
        return Made(
            number=trial.number,
            idea=trial.idea,
            state=trial.state,
            files={path: sha256(text.encode()) for path, text in texts.items()},
            offset_s=trial.begun,
            took_s=self._offset() - trial.begun,
            metric=found.metric if found else None,
            metrics=found.metrics if found else {},
            tokens=self._spent(),
            reason=why[:500],
            findings=trial.findings,
            end=validated.end if validated else None,
            lost=validated.lost if validated else 0,
            added=trial.changed[0],
            removed=trial.changed[1],
        )

    def _changed(self, texts: Mapping[str, str]) -> tuple[int, int]:
        added = removed = 0
        for path in self.repository.targets:
            pinned = self._validator.pinned.text(path)
            old, new = (Counter(files.get(path, pinned).splitlines()) for files in (self._before, texts))
            added += (new - old).total()
            removed += (old - new).total()
        return added, removed

    def _spent(self) -> int | None:
        total, before = self._tokens(), self._used
        self._used = total
        return None if total is None or before is None else total - before

    async def _keep(self, made: Made, texts: Mapping[str, str]) -> None:
        for path, text in texts.items():
            if (name := made.files[path]) not in self._stored:
                await self._keeping.text(name, text.encode())
                self._stored.add(name)
        diff = await asyncio.to_thread(self._diff, texts)
        await self._keeping.steps([*self.made, made])
        self.made.append(made)
        self._before = texts
        head = f"step {made.number}: {made.state}, {self._outcome(made)}"
        await self._keeping.tell(f"{head}\n{made.idea}".rstrip(), self._full(made, diff))

    def _outcome(self, made: Made) -> str:
        return f"{self.repository.metric.key} {made.metric:g}" if made.metric is not None else made.reason

    def _full(self, made: Made, diff: str) -> dict[str, object]:
        """A step as the trajectory tells it: with its diff against the step before, or the pinned source."""
        return {
            "step": made.number,
            "idea": made.idea,
            "state": str(made.state),
            "diff": diff,
            "command": list(self.repository.command),
            "exit_code": made.end.code if made.end else None,
            "metric": made.metric,
            "metrics": dict(made.metrics),
            "tokens": made.tokens,
            "seconds": round(made.took_s, 3),
            "reason": made.reason,
            "findings": list(made.findings),
            "files": dict(made.files),
            "lost": made.lost,
        }

    def _diff(self, texts: Mapping[str, str]) -> str:
        told: list[str] = []
        for path in self.repository.targets:
            pinned = self._validator.pinned.text(path)
            old, new = (files.get(path, pinned).splitlines() for files in (self._before, texts))
            if old == new:
                continue
            if max(len(old), len(new)) > _MAX_LINES:
                told.append(f"{path}: {len(old)} lines became {len(new)}")
            else:
                told += difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="")
        return "\n".join(told)[:MAX_DIFF]


async def _whole(keeping: Coroutine[object, object, None]) -> None:
    """Keep a step to the end, or what is stored and what is told of it would differ."""
    task = asyncio.ensure_future(keeping)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise

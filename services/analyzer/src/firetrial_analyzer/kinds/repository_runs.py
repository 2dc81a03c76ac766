"""From what a repository run left in the store to what it came to."""

from __future__ import annotations

import asyncio
import tempfile
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np

from firetrial_analyzer.embedding import Embedder, HashedEmbedder
from firetrial_analyzer.kinds.repository import (
    NOT_JUDGED,
    Explored,
    Improvement,
    RecordedStep,
    RepositoryTask,
    Sealed,
    Spent,
    code,
    improvement,
)
from firetrial_analyzer.kinds.repository_wire import steps_to_domain, task_to_domain
from firetrial_analyzer.process import Matrix
from firetrial_kit import tars
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import ObjectRef, Objects

_MAX_STEPS = 64 * 1024 * 1024
_MAX_TEXT = 4 * 1024 * 1024
_MAX_SOURCE = 4 * 1024**3
_SOURCES = 8
"""Pinned sources whose target files are kept in memory."""
_TASKS = 1_000
"""Tasks of which it is kept in memory what they are: they never change."""


@dataclass(frozen=True, slots=True)
class Known:
    """A repository task, and where its pinned source lies."""

    task: RepositoryTask
    source: ObjectRef | None


class RepositoryRuns:
    """Reads the steps of runs and the texts handed in. What cannot be read makes a figure unknown."""

    def __init__(self, objects: Objects, embedder: Embedder | None = None) -> None:
        self._objects = objects
        self._embedder = embedder or HashedEmbedder()
        self._pinned: OrderedDict[str, Mapping[str, str]] = OrderedDict()
        self._known: OrderedDict[str, Known | None] = OrderedDict()

    async def known(self, task_id: str) -> Known | None:
        """None for a task of another kind, and for one that cannot be read."""
        if task_id in self._known:
            return self._known[task_id]
        data = await self._read(f"runs/tasks/{task_id}/task.json", _MAX_TEXT)
        if data is None:
            return None
        told = task_to_domain(data)
        known = self._known[task_id] = Known(*told) if told else None
        if len(self._known) > _TASKS:
            self._known.popitem(last=False)
        return known

    async def improvement(
        self, known: Known, run_id: str, sealed: Sealed | None, spent: Spent
    ) -> Improvement:
        """What a run of the task came to; `sealed` is None for one that was not judged.

        Raises what the store raises where asking again may help, and CORRUPT for steps that are none.
        """
        data = await self._read(f"runs/runs/{run_id}/steps.jsonl", _MAX_STEPS)
        steps = steps_to_domain(data) if data is not None else []
        explored = await self._explored(known, run_id, [step for step in steps if not step.void])
        return await asyncio.to_thread(improvement, known.task, steps, sealed or NOT_JUDGED, spent, explored)

    async def _explored(self, known: Known, run_id: str, steps: Sequence[RecordedStep]) -> Explored:
        pinned = await self._targets(known)
        vectors: dict[tuple[tuple[str, str], ...], Matrix] = {}
        for step in steps:
            key = tuple(sorted(step.files.items()))
            if key not in vectors:
                texts = {path: await self._text(run_id, sha256) for path, sha256 in key}
                vectors[key] = await asyncio.to_thread(self._embed, code(known.task, texts, pinned))
        rows = [vectors[tuple(sorted(step.files.items()))] for step in steps]
        baseline = await asyncio.to_thread(self._embed, code(known.task, {}, pinned)) if pinned else None
        return Explored.of(np.array(rows) if rows else None, baseline, self._embedder.name)

    def _embed(self, text: str) -> Matrix:
        (vector,) = self._embedder.embed([text])
        return np.asarray(vector, dtype=np.float64)

    async def _text(self, run_id: str, sha256: str) -> str:
        data = await self._read(f"runs/runs/{run_id}/targets/{sha256}", _MAX_TEXT, sha256)
        return (data or b"").decode("utf-8", "replace")

    async def _targets(self, known: Known) -> Mapping[str, str]:
        """The pinned texts of the target files; empty where the source cannot be read."""
        if known.source is None or known.source.size > _MAX_SOURCE:
            return {}
        held = self._pinned.get(known.source.sha256)
        if held is None:
            held = await self._unpacked(known.source, known.task.targets)
            self._pinned[known.source.sha256] = held
            if len(self._pinned) > _SOURCES:
                self._pinned.popitem(last=False)
        return held

    async def _unpacked(self, source: ObjectRef, targets: Sequence[str]) -> Mapping[str, str]:
        with tempfile.TemporaryFile() as file:
            try:
                async for piece in self._objects.stream(source.uri):
                    await asyncio.to_thread(file.write, piece)
                return await asyncio.to_thread(_texts, file, frozenset(targets))
            except FiretrialError as error:
                if error.retryable:
                    raise
            except tars.BROKEN:
                pass
        return {}

    async def _read(self, uri: str, most: int, sha256: str = "") -> bytes | None:
        """None for what is not there, too large, or not what it should be."""
        try:
            return await self._objects.get(uri, sha256=sha256, max_size=most)
        except FiretrialError as error:
            if error.reason in {Reason.NOT_FOUND, Reason.TOO_LARGE, Reason.CORRUPT}:
                return None
            raise


def _texts(file: IO[bytes], targets: frozenset[str]) -> Mapping[str, str]:
    file.seek(0)
    found = {}
    with tars.reading(file) as tar:
        for member in tar:
            body = tar.extractfile(member) if member.isreg() and member.name in targets else None
            if body is not None:
                found[member.name] = body.read(_MAX_TEXT).decode("utf-8", "replace")
    return found

"""What others take away: leaderboards, and runs with their rewards."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import polars as pl

from firetrial_analyzer import episodes, table
from firetrial_analyzer.archive import Archive
from firetrial_analyzer.leaderboard import leaderboard
from firetrial_analyzer.ledger import Ledger
from firetrial_analyzer.record import ReportRecord
from firetrial_analyzer.releases import Releases
from firetrial_kit.objects import Objects

_PIECE = 1024 * 1024


class Exports:
    """Made anew from the rows whenever they are asked for; the same rows give the same bytes."""

    def __init__(self, ledger: Ledger, releases: Releases, archive: Archive, objects: Objects) -> None:
        self._ledger = ledger
        self._releases = releases
        self._archive = archive
        self._objects = objects

    async def of_experiment(self, experiment: str) -> bytes:
        """The leaderboard of one experiment. Raises NOT_FOUND where no run of it has ended."""
        record = await self._ledger.records.get(experiment)
        rows = await self._ledger.rows(record)
        tasks = rows["task"].unique().sort().to_list()
        found = await asyncio.to_thread(
            leaderboard, {experiment: rows}, probe=_probes(record), tasks=tasks, repeats=record.plan.repeats
        )
        return found.to_json()

    async def of_release(self, name: str) -> bytes:
        """The leaderboard over all experiments of a release. Raises NOT_FOUND for a release that is none, and
        INVALID where no run of it has ended.
        """
        release = (await self._releases.records.get(name)).frozen
        rows: dict[str, pl.DataFrame] = {}
        probes: list[str] = []
        for experiment in await self._ledger.records.ids():
            record = await self._ledger.records.find(experiment)
            if record is not None and record.plan.release == name and record.ended:
                rows[experiment] = await self._ledger.rows(record)
                probes += _probes(record)
        return (await asyncio.to_thread(leaderboard, rows, release, probe=probes)).to_json()

    async def json_lines(self, experiment: str) -> AsyncIterator[bytes]:
        """Episodes, a line each, in pieces. Raises NOT_FOUND where no run has ended."""
        record = await self._ledger.records.get(experiment)
        ended = table.latest(table.attempts(await self._ledger.rows(record)))
        for run in episodes.rewarded(ended):
            task = await self._archive.task(run["task"])
            instruction = (await self._archive.briefing(run["task"])).instruction
            keys = await self._objects.keys("runs", f"runs/{run['run_id']}/trajectory/")
            async for piece in episodes.line(run, task, instruction, keys, self._chunk):
                yield piece

    async def parquet(self, experiment: str) -> AsyncIterator[bytes]:
        """The same as a Parquet file, in pieces; made on disk, since it may be large."""
        with tempfile.TemporaryDirectory(prefix="firetrial-episodes-") as folder:
            lines, made = Path(folder) / "lines", Path(folder) / "parquet"
            with lines.open("wb") as file:
                async for piece in self.json_lines(experiment):
                    await asyncio.to_thread(file.write, piece)
            await asyncio.to_thread(episodes.write_parquet, lines, made)
            with made.open("rb") as file:
                while piece := await asyncio.to_thread(file.read, _PIECE):
                    yield piece

    async def _chunk(self, key: str) -> bytes:
        return await self._objects.get(f"runs/{key}")


def _probes(record: ReportRecord) -> list[str]:
    return [record.plan.probe] if record.plan.probe else []

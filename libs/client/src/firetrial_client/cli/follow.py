"""Following an experiment from a paper or its tasks to the end of its report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import click

from firetrial.analyzer.v1.analysis_pb2 import Report
from firetrial.parser.v1.paper_pb2 import (
    PAPER_STATE_CANCELLED,
    PAPER_STATE_FAILED,
    PAPER_STATE_READY,
    PaperState,
)
from firetrial.parser.v1.task_pb2 import TASK_STATE_BLOCKED
from firetrial.runner.v1.run_pb2 import Run
from firetrial_client.aio import AsyncFiretrial
from firetrial_client.cli.board import Board
from firetrial_client.cli.display import Show
from firetrial_client.cli.output import word
from firetrial_client.cli.text import safe
from firetrial_client.errors import EXIT_FAILED, FiretrialError, Reason

# Events carry an experiment from one service to the next; it may take so many seconds to be known there.
APPEAR = 60.0


class Failed(click.ClickException):
    """The run or the experiment failed, which is not the command's fault."""

    exit_code = EXIT_FAILED


class Follower:
    """Waits for one experiment. `timeout` seconds bound everything; None is no bound."""

    def __init__(
        self, client: AsyncFiretrial, board: Board, show: Show, *, timeout: float | None = None
    ) -> None:
        self._client = client
        self._board = board
        self._show = show
        self._until = None if timeout is None else time.monotonic() + timeout

    async def paper(self, paper_id: str) -> None:
        """Until the paper's tasks exist. Raises Failed where there will be none."""
        async for paper in self._client.watch_paper(paper_id, timeout=self._left()):
            self._board.stage = f"paper {word(PaperState, paper.state)}"
            self._show()
            if paper.state == PAPER_STATE_FAILED:
                raise Failed(f"the paper cannot be used: {safe(paper.failure)}")
            if paper.state == PAPER_STATE_CANCELLED:
                raise Failed("the paper was cancelled")
            if paper.state == PAPER_STATE_READY:
                await self._check_published(paper.task_ids)

    async def _check_published(self, task_ids: Sequence[str]) -> None:
        """Raises Failed where every task is blocked: nothing begins before somebody overrules that."""
        found = [await self._client.get_task(task_id) for task_id in task_ids]
        if found and all(task.state == TASK_STATE_BLOCKED for task in found):
            raise Failed(
                f"the task {found[0].id} is blocked, because it gives something away: see `firetrial tasks "
                f"show {found[0].id}`, and `firetrial tasks overrule` to publish it all the same"
            )

    async def experiment(self, appear: float, seen: Callable[[Run], None] = lambda _: None) -> Report:
        """Until every run has ended and the report covers them all. Raises Failed where it never will."""
        known = await self._runs(appear, seen)
        if known:
            self._show()
        report: Report | None = None
        watching = self._client.watch_report(
            self._board.experiment, timeout=self._left(), appear=APPEAR if known else appear
        )
        async for changed in watching:
            report = changed
            self._show()
        if report is None:
            raise FiretrialError(Reason.INTERNAL, "the analyzer ended the watch without a word")
        if report.failure:
            raise Failed(f"the experiment failed: {safe(report.failure)}")
        return report

    async def _runs(self, appear: float, seen: Callable[[Run], None]) -> bool:
        """Whether there was any run."""
        known = False
        try:
            async for run in self._client.watch_runs(
                self._board.experiment, timeout=self._left(), appear=appear
            ):
                if not known:
                    known = True
                    await self._expect()
                self._board.update(run)
                seen(run)
                self._show()
        except FiretrialError as error:
            # An experiment that failed before it came to runs is known to the analyzer alone.
            if known or error.reason != Reason.NOT_FOUND:
                raise
        return known

    async def _expect(self) -> None:
        experiment = await self._client.get_experiment(self._board.experiment)
        self._board.expected = experiment.expected_runs
        self._board.agents = list(experiment.plan.agents) or self._board.agents
        if experiment.ended:
            self._board.stage = "ended before; --request-id gives another experiment with the same plan"

    def _left(self) -> float | None:
        return None if self._until is None else max(self._until - time.monotonic(), 0.001)

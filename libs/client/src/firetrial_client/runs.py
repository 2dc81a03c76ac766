"""Agents, experiments and runs: what the runner owns."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firetrial.plan.v1.plan_pb2 import Plan, Slip
from firetrial.runner.v1 import runner_service_pb2 as pb
from firetrial.runner.v1.run_pb2 import Agent, Experiment, Run
from firetrial.runner.v1.runner_service_pb2_grpc import RunnerServiceStub
from firetrial_client import bundles
from firetrial_client.calls import Caller
from firetrial_client.errors import FiretrialError, Reason
from firetrial_client.uploads import opened

if TYPE_CHECKING:
    from firetrial.runner.v1.runner_service_pb2_grpc import RunnerServiceAsyncStub


class RunCalls(Caller):
    """Methods on agents, experiments and runs."""

    @property
    def _runner(self) -> RunnerServiceAsyncStub:
        return RunnerServiceStub(self._channels.of("runner"))

    async def submit_agent(
        self,
        folder: Path | None = None,
        *,
        name: str = "",
        command: Sequence[str] = (),
        files: Mapping[str, Path | bytes] | None = None,
        description: str = "",
    ) -> Agent:
        """Register an agent: a `folder` with agent.json, or a name and a command; and `files` under /agent.

        The same agent gives the same id. Raises INVALID.
        """
        if folder is not None:
            bundle = bundles.from_folder(folder, files)
        else:
            bundle = bundles.from_command(name, command, files or {}, description)
        request = pb.SubmitAgentRequest(
            name=bundle.name,
            description=bundle.description,
            command=bundle.command,
            files=[
                pb.AgentFile(path=file.path, content=file.content, executable=file.executable)
                for file in bundle.files
            ],
            program=bundle.program,
            image=bundle.image,
        )
        return (await self._one("runner", lambda: self._runner.SubmitAgent, request)).agent

    async def get_agent(self, agent_id: str) -> Agent:
        """Raises NOT_FOUND."""
        request = pb.GetAgentRequest(id=agent_id)
        return (await self._one("runner", lambda: self._runner.GetAgent, request)).agent

    def list_agents(self) -> AsyncGenerator[Agent, None]:
        """Every agent, page by page."""
        return self._pages("runner", lambda: self._runner.ListAgents, pb.ListAgentsRequest(), "agents")

    async def submit_experiment(
        self, task_ids: Sequence[str], plan: Plan, *, request_id: str = ""
    ) -> Experiment:
        """Start every agent of the plan on every task. Raises INVALID, NOT_FOUND for a task."""
        request = pb.SubmitExperimentRequest(request_id=request_id, task_ids=task_ids, plan=plan)
        return (await self._one("runner", lambda: self._runner.SubmitExperiment, request)).experiment

    async def get_experiment(self, experiment_id: str) -> Experiment:
        """Raises NOT_FOUND."""
        request = pb.GetExperimentRequest(id=experiment_id)
        return (await self._one("runner", lambda: self._runner.GetExperiment, request)).experiment

    def list_experiments(self) -> AsyncGenerator[Experiment, None]:
        """Every experiment, page by page."""
        return self._pages(
            "runner", lambda: self._runner.ListExperiments, pb.ListExperimentsRequest(), "experiments"
        )

    async def cancel_experiment(self, experiment_id: str) -> Experiment:
        """Cancel all its runs that have not ended. Raises NOT_FOUND."""
        request = pb.CancelExperimentRequest(id=experiment_id)
        return (await self._one("runner", lambda: self._runner.CancelExperiment, request)).experiment

    async def get_run(self, run_id: str) -> Run:
        """Raises NOT_FOUND."""
        request = pb.GetRunRequest(id=run_id)
        return (await self._one("runner", lambda: self._runner.GetRun, request)).run

    def list_runs(self, experiment_id: str = "") -> AsyncGenerator[Run, None]:
        """The runs of an experiment, or of all, page by page. Raises NOT_FOUND."""
        request = pb.ListRunsRequest(experiment_id=experiment_id)
        return self._pages("runner", lambda: self._runner.ListRuns, request, "runs")

    def watch_runs(
        self, experiment_id: str, *, timeout: float | None = None, appear: float = 0.0
    ) -> AsyncGenerator[Run, None]:
        """Every run of the experiment now and after each change, until all have ended.

        Goes on over restarts of the service. An experiment that is not known yet is waited for `appear`
        seconds. Raises NOT_FOUND, and DEADLINE after `timeout` seconds.
        """
        request = pb.WatchRunsRequest(experiment_id=experiment_id)
        return self._changes(
            "runner",
            lambda: self._runner.WatchRuns,
            request,
            lambda answer: answer.run,
            timeout=timeout,
            appear=appear,
        )

    async def cancel_run(self, run_id: str) -> Run:
        """A queued run ends at once, a running one within seconds; an ended one stays. Raises NOT_FOUND."""
        request = pb.CancelRunRequest(id=run_id)
        return (await self._one("runner", lambda: self._runner.CancelRun, request)).run

    async def trajectory(
        self, run_id: str, *, follow: bool = False, from_step: int = 1, timeout: float | None = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The run's steps in order, from the 1-based `from_step`; with `follow` also those to come.

        Goes on over restarts of the service without losing or repeating a step. Raises NOT_FOUND, CORRUPT
        for a step that is no JSON object, and DEADLINE after `timeout` seconds.
        """
        following = max(from_step, 1)
        if follow:
            await self.get_run(run_id)

        def request() -> pb.StreamTrajectoryRequest:
            return pb.StreamTrajectoryRequest(run_id=run_id, follow=follow, from_step=following)

        watching = self._watch(
            "runner", lambda: self._runner.StreamTrajectory, request, timeout=timeout, silent=follow
        )
        async with aclosing(watching) as answers:
            async for answer in answers:
                for line in answer.lines.splitlines():
                    yield _step(line, run_id, following)
                    following += 1

    async def list_steps(
        self, run_id: str, *, from_step: int = 1, page_size: int = 100
    ) -> pb.ListStepsResponse:
        """A page of the run's steps as JSON lines, from any step on; its `next_step` is 0 on the last.

        Raises NOT_FOUND, INVALID.
        """
        request = pb.ListStepsRequest(run_id=run_id, from_step=from_step, page_size=page_size)
        return await self._one("runner", lambda: self._runner.ListSteps, request)

    async def import_run(
        self, file: Path | bytes, header: pb.ImportedRun, *, slip: Slip | None = None
    ) -> Run:
        """Take in a run that was made elsewhere; with a slip it joins an experiment and is judged.

        The same again gives the same run. Raises INVALID with every fault, NOT_FOUND for a task.
        """
        told = pb.ImportedRun()
        told.CopyFrom(header)
        if slip is not None:
            told.slip.CopyFrom(slip)
        with opened(file, "file") as (body, _):
            answer = await self._upload(
                "runner",
                lambda channel: RunnerServiceStub(channel).ImportRun,
                pb.ImportRunRequest(header=told),
                body,
                lambda chunk: pb.ImportRunRequest(chunk=chunk),
            )
        return answer.run

    async def conclusion(self, run_id: str) -> str:
        """What the agent concluded; bytes that are no UTF-8 become U+FFFD. Raises NOT_FOUND."""
        request = pb.GetRunFileRequest(run_id=run_id, file=pb.RUN_FILE_CONCLUSION)
        answers = self._stream("runner", lambda: self._runner.GetRunFile, request)
        return b"".join([answer.chunk async for answer in answers]).decode("utf-8", "replace")

    async def artifacts(self, run_id: str) -> AsyncGenerator[bytes, None]:
        """The files that the agent left, as a tar in chunks; hostile input. Raises NOT_FOUND."""
        request = pb.GetRunFileRequest(run_id=run_id, file=pb.RUN_FILE_ARTIFACTS)
        async with aclosing(self._stream("runner", lambda: self._runner.GetRunFile, request)) as answers:
            async for answer in answers:
                yield answer.chunk


def _step(line: bytes, run_id: str, number: int) -> dict[str, Any]:
    try:
        step = json.loads(line)
    except ValueError:
        step = None
    if not isinstance(step, dict):
        raise FiretrialError(Reason.CORRUPT, f"step {number} of {run_id} is no JSON object")
    return step

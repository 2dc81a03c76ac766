"""The runner's RPCs: protobuf in, protobuf out."""
# ruff: noqa: N802, ARG002 - names and parameters are the generated class's

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from firetrial.runner.v1 import runner_service_pb2 as pb
from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid
from firetrial_runner.agents import Agents
from firetrial_runner.dispatch import Dispatch
from firetrial_runner.experiment import Experiment
from firetrial_runner.experiments import Experiments
from firetrial_runner.files import Files
from firetrial_runner.importing.intake import Intake
from firetrial_runner.importing_rpcs import ImportingRpcs
from firetrial_runner.records import Books
from firetrial_runner.wire import agent_to_wire, definition_to_domain, experiment_to_wire, run_to_wire


class RunnerServicer(ImportingRpcs):
    """firetrial.runner.v1.RunnerService."""

    def __init__(
        self,
        books: Books,
        agents: Agents,
        experiments: Experiments,
        dispatch: Dispatch,
        *,
        files: Files,
        intake: Intake,
    ) -> None:
        self._books = books
        self._agents = agents
        self._experiments = experiments
        self._dispatch = dispatch
        self._files = files
        self._intake = intake

    async def SubmitAgent(self, request: pb.SubmitAgentRequest, context: Any) -> pb.SubmitAgentResponse:
        agent = await self._agents.submit(definition_to_domain(request))
        return pb.SubmitAgentResponse(agent=agent_to_wire(agent))

    async def GetAgent(self, request: pb.GetAgentRequest, context: Any) -> pb.GetAgentResponse:
        return pb.GetAgentResponse(agent=agent_to_wire(await self._books.agents.get(request.id)))

    async def ListAgents(self, request: pb.ListAgentsRequest, context: Any) -> pb.ListAgentsResponse:
        agents, token = await self._books.agents.page(request.page_size, request.page_token)
        return pb.ListAgentsResponse(agents=map(agent_to_wire, agents), next_page_token=token)

    async def SubmitExperiment(
        self, request: pb.SubmitExperimentRequest, context: Any
    ) -> pb.SubmitExperimentResponse:
        tasks = tuple(request.task_ids)
        experiment = await self._experiments.submit(request.request_id, tasks, request.plan)
        return pb.SubmitExperimentResponse(experiment=await self._told(experiment))

    async def GetExperiment(self, request: pb.GetExperimentRequest, context: Any) -> pb.GetExperimentResponse:
        experiment = await self._books.experiments.get(request.id)
        return pb.GetExperimentResponse(experiment=await self._told(experiment))

    async def ListExperiments(
        self, request: pb.ListExperimentsRequest, context: Any
    ) -> pb.ListExperimentsResponse:
        page, token = await self._books.experiments.page(request.page_size, request.page_token)
        told = await asyncio.gather(*map(self._told, page))
        return pb.ListExperimentsResponse(experiments=told, next_page_token=token)

    async def CancelExperiment(
        self, request: pb.CancelExperimentRequest, context: Any
    ) -> pb.CancelExperimentResponse:
        experiment = await self._experiments.cancel(request.id)
        return pb.CancelExperimentResponse(experiment=await self._told(experiment))

    async def GetRun(self, request: pb.GetRunRequest, context: Any) -> pb.GetRunResponse:
        return pb.GetRunResponse(run=run_to_wire((await self._books.runs.get(request.id)).run))

    async def ListRuns(self, request: pb.ListRunsRequest, context: Any) -> pb.ListRunsResponse:
        ids = None
        if request.experiment_id:
            experiment = await self._books.experiments.get(request.experiment_id)
            ids = await self._experiments.run_ids(experiment)
        records, token = await self._books.runs.page(request.page_size, request.page_token, ids)
        runs = [run_to_wire(record.run) for record in records]
        return pb.ListRunsResponse(runs=runs, next_page_token=token)

    async def WatchRuns(
        self, request: pb.WatchRunsRequest, context: Any
    ) -> AsyncIterator[pb.WatchRunsResponse]:
        async with aclosing(self._experiments.watch(request.experiment_id)) as changes:
            async for run in changes:
                yield pb.WatchRunsResponse(run=run_to_wire(run))

    async def CancelRun(self, request: pb.CancelRunRequest, context: Any) -> pb.CancelRunResponse:
        return pb.CancelRunResponse(run=run_to_wire((await self._dispatch.cancel(request.id)).run))

    async def StreamTrajectory(
        self, request: pb.StreamTrajectoryRequest, context: Any
    ) -> AsyncIterator[pb.StreamTrajectoryResponse]:
        if request.from_step < 0:
            raise invalid("the request", [Fault("from_step", str(request.from_step), "must be 0 or more")])
        steps = self._files.trajectory(request.run_id, max(1, request.from_step), follow=request.follow)
        async with aclosing(steps) as pieces:
            async for lines in pieces:
                yield pb.StreamTrajectoryResponse(lines=lines)

    async def GetRunFile(
        self, request: pb.GetRunFileRequest, context: Any
    ) -> AsyncIterator[pb.GetRunFileResponse]:
        run = (await self._books.runs.get(request.run_id)).run
        files = {pb.RUN_FILE_CONCLUSION: run.conclusion, pb.RUN_FILE_ARTIFACTS: run.artifacts}
        if request.file not in files:
            raise invalid(
                "the request", [Fault("file", str(request.file), "must be CONCLUSION or ARTIFACTS")]
            )
        ref = files[request.file]
        if ref is None:
            raise FiretrialError(
                Reason.NOT_FOUND, f"run {run.id} left no such file: {run.reason or run.state}"
            )
        async for chunk in self._files.stream(ref):
            yield pb.GetRunFileResponse(chunk=chunk)

    async def _told(self, experiment: Experiment) -> Any:
        counts, ended = await self._experiments.counted(experiment)
        return experiment_to_wire(experiment, counts, ended=ended)

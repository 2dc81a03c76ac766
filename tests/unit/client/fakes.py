"""A small Firetrial in this process: real gRPC, the services' own contract, and nothing behind it.

It runs on threads, so that the client's own event loops stay undisturbed.
"""
# ruff: noqa: N802 - methods are named as in the contract

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_status import rpc_status

from firetrial.analyzer.v1 import analysis_pb2, analyzer_service_pb2_grpc
from firetrial.analyzer.v1 import analyzer_service_pb2 as analyzer
from firetrial.judge.v1 import (
    calibration_pb2,
    entailment_pb2,
    judge_service_pb2_grpc,
    judgement_pb2,
    rubric_pb2,
)
from firetrial.judge.v1 import judge_service_pb2 as judge
from firetrial.parser.v1 import paper_pb2, parser_service_pb2_grpc, proposal_pb2, screening_pb2, task_pb2
from firetrial.parser.v1 import parser_service_pb2 as parser
from firetrial.runner.v1 import run_pb2, runner_service_pb2_grpc
from firetrial.runner.v1 import runner_service_pb2 as runner
from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid
from firetrial_kit.ids import sha256
from firetrial_kit.rpc import status_of
from unit.client.fake_attributions import FakeAttributions
from unit.client.fake_choosing import FakeChoosing
from unit.client.fake_imports import FakeImports
from unit.client.fake_proposals import FakeProposals
from unit.client.fake_releases import FakeReleases
from unit.client.fake_tasks import FakeTasks

LIMIT = 64 * 1024 * 1024


def digest(*parts: bytes | str, length: int) -> str:
    """What an id is made of."""
    return sha256(b"\0".join(part.encode() if isinstance(part, str) else part for part in parts))[:length]


def refuse(context: Any, error: FiretrialError) -> Any:
    """End the call as the services do."""
    context.abort_with_status(rpc_status.to_status(status_of(error)))


def not_found(context: Any, what: str, id_: str) -> Any:
    refuse(context, FiretrialError(Reason.NOT_FOUND, f"there is no {what} {id_!r}"))


def page(items: list[Any], request: Any, answer: Any, name: str) -> Any:
    """One page of at most two items; the token is the place to go on from."""
    start, size = int(request.page_token or 0), min(request.page_size, 2)
    getattr(answer, name).extend(items[start : start + size])
    answer.next_page_token = str(start + size) if start + size < len(items) else ""
    return answer


@dataclass
class World:
    """What the fake knows and what was asked of it."""

    papers: dict[str, paper_pb2.Paper] = field(default_factory=dict)
    tasks: dict[str, task_pb2.Task] = field(default_factory=dict)
    proposals: dict[str, proposal_pb2.Proposal] = field(default_factory=dict)
    agents: dict[str, run_pb2.Agent] = field(default_factory=dict)
    experiments: dict[str, run_pb2.Experiment] = field(default_factory=dict)
    runs: dict[str, run_pb2.Run] = field(default_factory=dict)
    reports: dict[str, analysis_pb2.Report] = field(default_factory=dict)
    documents: dict[str, bytes] = field(default_factory=dict)
    steps: dict[str, list[bytes]] = field(default_factory=dict)
    headers: list[Any] = field(default_factory=list)
    uploads: list[bytes] = field(default_factory=list)
    metadata: list[dict[str, str]] = field(default_factory=list)
    deadlines: list[float] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    # Called instead of WatchRuns' own behaviour, with the experiment and the context.
    watch_runs: Callable[[str, Any], Iterator[run_pb2.Run]] | None = None
    # Called in the middle of SubmitExperiment.
    submitting: Callable[[], None] = lambda: None
    get_run: Callable[[str, Any], run_pb2.Run] | None = None
    # An answer in the middle of an upload, after so many bytes.
    answer_after: int | None = None
    # Whether papers stay as they were submitted.
    parsing: bool = False
    # How a screening ends.
    screened: screening_pb2.ScreeningState.ValueType = screening_pb2.SCREENING_STATE_FINISHED

    def saw(self, context: Any, call: str) -> None:
        self.calls.append(call)
        self.metadata.append(dict(context.invocation_metadata()))
        self.deadlines.append(context.time_remaining())


class Parser(FakeTasks, FakeChoosing, FakeProposals, parser_service_pb2_grpc.ParserServiceServicer):
    def __init__(self, world: World) -> None:
        self.world = world

    def SubmitPaper(self, request_iterator: Any, context: Any) -> Any:
        self.world.saw(context, "SubmitPaper")
        header = next(request_iterator).header
        self.world.headers.append(header)
        if header.size > LIMIT:
            refuse(context, invalid("the paper", [Fault("size", str(header.size), f"at most {LIMIT} bytes")]))
        body = self._body(request_iterator)
        self.world.uploads.append(body)
        paper = paper_pb2.Paper(id=digest(body, length=64), filename=header.filename, title="A study")
        paper.state = paper_pb2.PAPER_STATE_SUBMITTED if self.world.parsing else paper_pb2.PAPER_STATE_READY
        self.world.papers[paper.id] = paper
        experiment = ""
        if header.HasField("plan"):
            experiment = f"e-{digest(body, header.plan.SerializeToString(), header.request_id, length=16)}"
            _start(self.world, experiment, ["study-1"], header.plan)
        return parser.SubmitPaperResponse(paper=paper, experiment_id=experiment)

    def _body(self, parts: Any) -> bytes:
        body = bytearray()
        for part in parts:
            assert len(part.chunk) <= 1024 * 1024
            body += part.chunk
            if self.world.answer_after is not None and len(body) >= self.world.answer_after:
                break
        return bytes(body)

    def GetPaper(self, request: Any, context: Any) -> Any:
        self.world.saw(context, "GetPaper")
        if request.id not in self.world.papers:
            not_found(context, "paper", request.id)
        return parser.GetPaperResponse(paper=self.world.papers[request.id])

    def ListPapers(self, request: Any, context: Any) -> Any:
        return page(list(self.world.papers.values()), request, parser.ListPapersResponse(), "papers")

    def WatchPaper(self, request: Any, context: Any) -> Any:
        if request.id not in self.world.papers:
            not_found(context, "paper", request.id)
        yield parser.WatchPaperResponse(paper=self.world.papers[request.id])
        while self.world.parsing and context.is_active():
            time.sleep(0.02)

    def CancelPaper(self, request: Any, context: Any) -> Any:
        self.world.cancelled.append(request.id)
        if self.world.parsing:
            self.world.papers[request.id].state = paper_pb2.PAPER_STATE_CANCELLED
        return parser.CancelPaperResponse(paper=self.world.papers[request.id])

    def GetTree(self, request: Any, context: Any) -> Any:
        quote = paper_pb2.Quote(text="it falls", page=2, start=3, end=11, score=1)
        leaf = paper_pb2.Node(
            path="0.0", kind=paper_pb2.NODE_KIND_LEAF, title="accuracy \x1b[31mfalls", evidence="Table 1",
            conclusion="It falls.", quotes=[quote],
        )  # fmt: skip
        root = paper_pb2.Node(path="0", kind=paper_pb2.NODE_KIND_ROOT, title="A study", children=[leaf])
        return parser.GetTreeResponse(
            root=root,
            paper=paper_pb2.PaperFacts(title="A study", authors=["A. Body"], venue="Journal", year=2025),
            extraction="model m, prompt v2",
            grounding=paper_pb2.Grounding(supported=3, statements=4, method="words"),
        )

    def SubmitTask(self, request_iterator: Any, context: Any) -> Any:
        header = next(request_iterator).header
        self.world.headers.append(header)
        body = self._body(request_iterator)
        self.world.uploads.append(body)
        version = digest(header.SerializeToString(), body, length=12)
        task = task_pb2.Task(
            id=f"{header.slug}-{version}",
            version=version,
            question=header.question,
            broken=header.broken,
            origin=header.origin,
            has_truth=bool(header.ground_truth),
        )
        self.world.tasks[task.id] = task
        return parser.SubmitTaskResponse(task=task)

    def GetTask(self, request: Any, context: Any) -> Any:
        if request.id not in self.world.tasks:
            not_found(context, "task", request.id)
        return parser.GetTaskResponse(task=self.world.tasks[request.id])

    def ListTasks(self, request: Any, context: Any) -> Any:
        self.world.saw(context, "ListTasks")
        return page(list(self.world.tasks.values()), request, parser.ListTasksResponse(), "tasks")


def _start(world: World, experiment: str, tasks: list[str], plan: Any) -> run_pb2.Experiment:
    slots = [(t, a, r) for t in tasks for a in plan.agents for r in range(1, max(plan.repeats, 1) + 1)]
    found = run_pb2.Experiment(id=experiment, task_ids=tasks, plan=plan, expected_runs=len(slots))
    found.submitted_at.GetCurrentTime()
    world.experiments[experiment] = found
    for number, (task, agent, repeat) in enumerate(slots):
        run = run_pb2.Run(
            id=f"r-{experiment[2:]}-{number}",
            experiment_id=experiment,
            task_id=task,
            agent_id=agent,
            repeat=repeat,
            attempt=1,
            state=run_pb2.RUN_STATE_ENDED,
            outcome=run_pb2.OUTCOME_SCORED,
        )
        run.usage.wall_time.FromMilliseconds(2500)
        world.runs[run.id] = run
    world.reports[experiment] = analysis_pb2.Report(
        experiment_id=experiment, ended_runs=len(slots), expected_runs=len(slots), complete=True
    )
    return found


class Runner(FakeImports):
    def __init__(self, world: World) -> None:
        self.world = world

    def SubmitAgent(self, request: Any, context: Any) -> Any:
        self.world.headers.append(request)
        id_ = f"{request.name}@{digest(request.SerializeToString(deterministic=True), length=8)}"
        agent = run_pb2.Agent(
            id=id_, name=request.name, command=request.command, description=request.description
        )
        self.world.agents[id_] = agent
        return runner.SubmitAgentResponse(agent=agent)

    def GetAgent(self, request: Any, context: Any) -> Any:
        if request.id not in self.world.agents:
            not_found(context, "agent", request.id)
        return runner.GetAgentResponse(agent=self.world.agents[request.id])

    def ListAgents(self, request: Any, context: Any) -> Any:
        return page(list(self.world.agents.values()), request, runner.ListAgentsResponse(), "agents")

    def SubmitExperiment(self, request: Any, context: Any) -> Any:
        self.world.headers.append(request)
        unknown = [id_ for id_ in request.task_ids if id_ not in self.world.tasks]
        if unknown:
            faults = [Fault(f"task_ids[{i}]", id_, "a task that exists") for i, id_ in enumerate(unknown)]
            refuse(context, FiretrialError(Reason.NOT_FOUND, "there are no such tasks", faults=faults))
        id_ = f"e-{digest(request.SerializeToString(deterministic=True), length=16)}"
        self.world.submitting()
        return runner.SubmitExperimentResponse(
            experiment=_start(self.world, id_, list(request.task_ids), request.plan)
        )

    def GetExperiment(self, request: Any, context: Any) -> Any:
        if request.id not in self.world.experiments:
            not_found(context, "experiment", request.id)
        return runner.GetExperimentResponse(experiment=self.world.experiments[request.id])

    def ListExperiments(self, request: Any, context: Any) -> Any:
        answer = runner.ListExperimentsResponse()
        return page(list(self.world.experiments.values()), request, answer, "experiments")

    def CancelExperiment(self, request: Any, context: Any) -> Any:
        self.world.cancelled.append(request.id)
        if request.id not in self.world.experiments:
            not_found(context, "experiment", request.id)
        return runner.CancelExperimentResponse(experiment=self.world.experiments[request.id])

    def GetRun(self, request: Any, context: Any) -> Any:
        self.world.saw(context, "GetRun")
        if self.world.get_run:
            return runner.GetRunResponse(run=self.world.get_run(request.id, context))
        if request.id not in self.world.runs:
            not_found(context, "run", request.id)
        return runner.GetRunResponse(run=self.world.runs[request.id])

    def _of(self, experiment: str) -> list[run_pb2.Run]:
        return [run for run in self.world.runs.values() if experiment in ("", run.experiment_id)]

    def ListRuns(self, request: Any, context: Any) -> Any:
        return page(self._of(request.experiment_id), request, runner.ListRunsResponse(), "runs")

    def WatchRuns(self, request: Any, context: Any) -> Any:
        self.world.saw(context, "WatchRuns")
        if self.world.watch_runs:
            for run in self.world.watch_runs(request.experiment_id, context):
                yield runner.WatchRunsResponse(run=run)
            return
        if request.experiment_id not in self.world.experiments:
            not_found(context, "experiment", request.experiment_id)
        for run in self._of(request.experiment_id):
            yield runner.WatchRunsResponse(run=run)

    def CancelRun(self, request: Any, context: Any) -> Any:
        self.world.cancelled.append(request.id)
        return runner.CancelRunResponse(run=self.world.runs[request.id])

    def StreamTrajectory(self, request: Any, context: Any) -> Any:
        self.world.saw(context, f"StreamTrajectory from {request.from_step}")
        for line in self.world.steps[request.run_id][max(request.from_step, 1) - 1 :]:
            if line == b"SILENCE":
                self.world.steps[request.run_id].remove(line)
                while context.is_active():
                    time.sleep(0.02)
                return
            if line == b"DIE":
                self.world.steps[request.run_id].remove(line)
                refuse(context, FiretrialError(Reason.UNAVAILABLE, "the service stops"))
            yield runner.StreamTrajectoryResponse(lines=line + b"\n")

    def GetRunFile(self, request: Any, context: Any) -> Any:
        body = (
            b"Noise hurts \xff k = 1.\x1b[2J\n" if request.file == runner.RUN_FILE_CONCLUSION else b"tar" * 9
        )
        for start in range(0, len(body), 10):
            yield runner.GetRunFileResponse(chunk=body[start : start + 10])


class Judge(judge_service_pb2_grpc.JudgeServiceServicer):
    def __init__(self, world: World) -> None:
        self.world = world

    def ScoreText(self, request: Any, context: Any) -> Any:
        scores = judgement_pb2.Scores(precision=1.0, recall=0.5)
        return judge.ScoreTextResponse(
            judgement=judgement_pb2.Judgement(config=request.config, scores=scores)
        )

    def CheckEntailment(self, request: Any, context: Any) -> Any:
        found = [entailment_pb2.Entailment(hypothesis=n, claim=h) for n, h in enumerate(request.hypotheses)]
        return entailment_pb2.CheckEntailmentResponse(entailments=found)

    def GetJudgement(self, request: Any, context: Any) -> Any:
        if request.id or request.run_id not in self.world.runs:
            not_found(context, "judgement", request.id or request.run_id)
        claim = judgement_pb2.ClaimVerdict(
            id="a1", text="Noise hurts.", verdict=judgement_pb2.VERDICT_ENTAILED
        )
        return judge.GetJudgementResponse(
            judgement=judgement_pb2.Judgement(
                id="j-1", run_id=request.run_id, agent_claims=[claim], scores=judgement_pb2.Scores(f1=0.5)
            )
        )

    def JudgeRun(self, request: Any, context: Any) -> Any:
        if request.run_id not in self.world.runs:
            not_found(context, "run", request.run_id)
        return judge.JudgeRunResponse(
            judgement=judgement_pb2.Judgement(id="j-2", run_id=request.run_id, config=request.config)
        )

    def WatchJudgements(self, request: Any, context: Any) -> Any:
        for number in (1, 1, 2):
            yield judge.WatchJudgementsResponse(
                judgement=judgement_pb2.Judgement(id=f"j-{number}", run_id=f"{request.experiment_id}-r")
            )

    def GradeSubmission(self, request: Any, context: Any) -> Any:
        return judge.GradeSubmissionResponse(
            grade=rubric_pb2.Grade(id="g-1", notes=[f"{len(request.rubric)} {len(request.files)}"])
        )

    def Calibrate(self, request: Any, context: Any) -> Any:
        return judge.CalibrateResponse(
            calibration=calibration_pb2.Calibration(
                id="c-1", config=request.config, items=len(request.labels)
            )
        )

    def GetCalibration(self, request: Any, context: Any) -> Any:
        if request.id != "c-1":
            not_found(context, "calibration", request.id)
        return judge.GetCalibrationResponse(calibration=calibration_pb2.Calibration(id="c-1"))

    def ListCalibrations(self, request: Any, context: Any) -> Any:
        found = [calibration_pb2.Calibration(id=f"c-{number}") for number in range(5)]
        return page(found, request, judge.ListCalibrationsResponse(), "calibrations")

    def DescribeJudge(self, request: Any, context: Any) -> Any:
        return judge.DescribeJudgeResponse(config=request.config, config_hash="h", calibration_id="c-1")

    def ListJudgements(self, request: Any, context: Any) -> Any:
        found = [judgement_pb2.Judgement(id=f"j-{number}") for number in range(5)]
        return page(found, request, judge.ListJudgementsResponse(), "judgements")


class Analyzer(FakeAttributions, FakeReleases):
    def __init__(self, world: World) -> None:
        self.world = world

    def _report(self, request: Any, context: Any) -> Any:
        if request.experiment_id not in self.world.reports:
            not_found(context, "report", request.experiment_id)
        return self.world.reports[request.experiment_id]

    def CheckIntegrity(self, request: Any, context: Any) -> Any:
        return analyzer.CheckIntegrityResponse()

    def GetReport(self, request: Any, context: Any) -> Any:
        return analyzer.GetReportResponse(report=self._report(request, context))

    def ListReports(self, request: Any, context: Any) -> Any:
        return page(list(self.world.reports.values()), request, analyzer.ListReportsResponse(), "reports")

    def WatchReport(self, request: Any, context: Any) -> Any:
        yield analyzer.WatchReportResponse(report=self._report(request, context))

    def RenderReport(self, request: Any, context: Any) -> Any:
        self._report(request, context)
        name = analyzer.Format.Name(request.format).removeprefix("FORMAT_").lower()
        beside = f" beside {', '.join(request.compare_with)}" if request.compare_with else ""
        body = self.world.documents.get(name, f"report as {name}{beside}\n".encode())
        for start in range(0, len(body), 1000):
            yield analyzer.RenderReportResponse(chunk=body[start : start + 1000])

    def RenderRun(self, request: Any, context: Any) -> Any:
        if request.run_id == "r-none":
            not_found(context, "analysis", request.run_id)
        body = f"page of {request.run_id}\n".encode() * 300
        for start in range(0, len(body), 1000):
            yield analyzer.RenderRunResponse(chunk=body[start : start + 1000])

    def GetAnalysis(self, request: Any, context: Any) -> Any:
        return analyzer.GetAnalysisResponse(analysis=analysis_pb2.Analysis(run_id=request.run_id))


class Server:
    """The four services behind one port, which stays the same over restarts."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._port = 0
        self._server: grpc.Server | None = None
        self._lock = threading.Lock()
        self.start()

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        with self._lock:
            server = grpc.server(ThreadPoolExecutor(16), options=[("grpc.so_reuseport", 0)])
            parser_service_pb2_grpc.add_ParserServiceServicer_to_server(Parser(self.world), server)
            runner_service_pb2_grpc.add_RunnerServiceServicer_to_server(Runner(self.world), server)
            judge_service_pb2_grpc.add_JudgeServiceServicer_to_server(Judge(self.world), server)
            analyzer_service_pb2_grpc.add_AnalyzerServiceServicer_to_server(Analyzer(self.world), server)
            known = health.HealthServicer()
            for service in ("parser", "runner", "judge", "analyzer"):
                known.set(f"firetrial.{service}.v1.{service.title()}Service", 1)
            health_pb2_grpc.add_HealthServicer_to_server(known, server)
            self._port = server.add_insecure_port(f"127.0.0.1:{self._port}")
            server.start()
            self._server = server

    def stop(self) -> None:
        with self._lock:
            if self._server:
                self._server.stop(None).wait()
                self._server = None

    def restart_after(self, seconds: float) -> None:
        """Stop now, and start again in the background."""
        self.stop()

        def later() -> None:
            time.sleep(seconds)
            self.start()

        threading.Thread(target=later).start()

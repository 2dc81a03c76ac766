"""A client of another version: plain gRPC on stubs of its own (PYTHONPATH), from a paper to the report.

    python plain_client.py ENDPOINTS PAPER REQUEST_ID [--future]

Prints what it saw as JSON. With --future it fills the field of the future in all that it sends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc

from firetrial.analyzer.v1 import analyzer_service_pb2 as analyzer
from firetrial.analyzer.v1.analyzer_service_pb2_grpc import AnalyzerServiceStub
from firetrial.judge.v1 import judge_service_pb2 as judge
from firetrial.judge.v1.judge_service_pb2_grpc import JudgeServiceStub
from firetrial.parser.v1 import parser_service_pb2 as parser
from firetrial.parser.v1.parser_service_pb2_grpc import ParserServiceStub
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2
from firetrial.runner.v1 import runner_service_pb2 as runner
from firetrial.runner.v1.runner_service_pb2_grpc import RunnerServiceStub

LINE = (
    "echo planning; printf '%s' 'Insertion sort is faster than merge sort on arrays below 32 elements. "
    "Merge sort is faster than insertion sort on arrays above 128 elements.' > conclusion.md"
)


def marked(message: Any, mark: str) -> Any:
    """The message with `mark` in the field of the future, at every depth."""
    if mark:
        message.from_the_future = mark
        for field, value in message.ListFields():
            if field.message_type and not field.message_type.full_name.startswith("google."):
                for inner in value if field.is_repeated else [value]:
                    marked(inner, mark)
    return message


def part(paper: bytes, filename: str, request_id: str, plan: Any, mark: str) -> Iterator[Any]:
    header = parser.PaperHeader(filename=filename, size=len(paper), request_id=request_id, plan=plan)
    yield marked(parser.SubmitPaperRequest(header=header), mark)
    yield marked(parser.SubmitPaperRequest(chunk=paper), mark)


def main(endpoints: str, paper: str, request_id: str, mark: str) -> dict[str, Any]:
    """What came of the paper, as every service tells it."""
    channels = {
        name: grpc.insecure_channel(address)
        for name, address in (one.split("=") for one in endpoints.split(","))
    }
    parsing, running = ParserServiceStub(channels["parser"]), RunnerServiceStub(channels["runner"])
    judging, analysing = JudgeServiceStub(channels["judge"]), AnalyzerServiceStub(channels["analyzer"])
    agent = running.SubmitAgent(
        marked(runner.SubmitAgentRequest(name="plain", command=["sh", "-c", LINE]), mark), timeout=30
    ).agent
    config = plan_pb2.JudgeConfig(backend=plan_pb2.JudgeConfig.BACKEND_OFFLINE)
    plan = marked(plan_pb2.Plan(agents=[agent.id], repeats=2, judge=config), mark)
    path = Path(paper)
    submitted = parsing.SubmitPaper(part(path.read_bytes(), path.name, request_id, plan, mark), timeout=60)
    experiment = submitted.experiment_id
    states = [
        answer.paper.state
        for answer in parsing.WatchPaper(parser.WatchPaperRequest(id=submitted.paper.id), timeout=60)
    ]
    report = None
    while report is None:
        try:
            request = analyzer.WatchReportRequest(experiment_id=experiment)
            for answer in analysing.WatchReport(request, timeout=120):
                report = answer.report
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise
    seen = {
        answer.run.id: answer.run.state
        for answer in running.WatchRuns(runner.WatchRunsRequest(experiment_id=experiment), timeout=60)
    }
    runs = running.ListRuns(runner.ListRunsRequest(experiment_id=experiment), timeout=10).runs
    judgements = [
        judging.GetJudgement(judge.GetJudgementRequest(run_id=run.id), timeout=10).judgement for run in runs
    ]
    rendered = analyzer.RenderReportRequest(experiment_id=experiment, format=analyzer.FORMAT_JSON)
    body = b"".join(answer.chunk for answer in analysing.RenderReport(rendered, timeout=30))
    found = running.GetExperiment(runner.GetExperimentRequest(id=experiment), timeout=10).experiment
    return {
        "stubs": sorted(
            {str(Path(str(module.__file__)).parents[3]) for module in (parser, runner, judge, run_pb2)}
        ),
        "experiment": experiment,
        "paper_states": states,
        "complete": report.complete,
        "watched": sorted(set(seen.values())),
        "outcomes": [run_pb2.Outcome.Name(run.outcome) for run in runs],
        "f1": [judgement.scores.f1 for judgement in judgements],
        "agents": len(json.loads(body)["agents"]),
        "plan_repeats": found.plan.repeats,
        "plan_mark": getattr(found.plan, "from_the_future", ""),
    }


if __name__ == "__main__":
    given = sys.argv[1:]
    print(json.dumps(main(given[0], given[1], given[2], "hello" if "--future" in given else "")))

"""The part of the fake parser that makes tasks and publishes blocked ones."""
# ruff: noqa: N802 - names are the contract's

from __future__ import annotations

from typing import Any

import grpc

from firetrial.parser.v1 import candidate_pb2, parser_service_pb2_grpc, task_pb2
from firetrial.parser.v1 import parser_service_pb2 as parser


class FakeTasks(parser_service_pb2_grpc.ParserServiceServicer):
    world: Any

    def ListCandidates(self, request: Any, context: Any) -> Any:
        self.world.saw(context, "ListCandidates")
        rank = candidate_pb2.Candidate.Reason(points=6, why="a main result")
        best = candidate_pb2.Candidate(
            leaf_path="0.0.0", title="Table 1: Scores", evidence="Table 1", rank=1, score=6, reasons=[rank]
        )
        unfit = candidate_pb2.Candidate(leaf_path="0.1.0", title="Figure 2", against=["no finding is stated"])
        return parser.ListCandidatesResponse(candidates=[best, unfit])

    def MakeTask(self, request: Any, context: Any) -> Any:
        self.world.headers.append(request)
        task = task_pb2.Task(id="made-1", variant=request.variant, state=task_pb2.TASK_STATE_PUBLISHED)
        return parser.MakeTaskResponse(task=task, experiment_id="e-1" if request.HasField("plan") else "")

    def OverruleLeak(self, request: Any, context: Any) -> Any:
        if request.task_id not in self.world.tasks:
            context.abort(grpc.StatusCode.NOT_FOUND, f"there is no task {request.task_id!r}")
        task = self.world.tasks[request.task_id]
        task.state = task_pb2.TASK_STATE_PUBLISHED
        task.leak_check.overruling.by = request.by
        task.leak_check.overruling.reason = request.reason
        return parser.OverruleLeakResponse(task=task, experiment_ids=["e-1"])

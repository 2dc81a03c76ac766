"""The part of the fake runner that takes runs made elsewhere and gives steps by the page."""
# ruff: noqa: N802 - methods are named as in the contract

from __future__ import annotations

from typing import Any

from firetrial.runner.v1 import run_pb2, runner_service_pb2, runner_service_pb2_grpc


class FakeImports(runner_service_pb2_grpc.RunnerServiceServicer):
    """Every import is a concluded run named for its task and repeat; `world.uploads` has the files."""

    world: Any

    def ImportRun(self, request_iterator: Any, context: Any) -> Any:
        first, *rest = request_iterator
        header = first.header
        self.world.headers.append(header)
        self.world.uploads.append(b"".join(part.chunk for part in rest))
        run = run_pb2.Run(
            id=f"r-{header.task_id}-{header.agent}-{header.repeat}",
            experiment_id=header.slip.experiment_id,
            task_id=header.task_id,
            agent_id=next(iter(header.slip.plan.agents), ""),
            repeat=header.repeat,
            state=run_pb2.RUN_STATE_CONCLUDED,
            provenance=run_pb2.PROVENANCE_ELSEWHERE,
            lacking=["exit"],
        )
        self.world.runs[run.id] = run
        return runner_service_pb2.ImportRunResponse(run=run)

    def ListSteps(self, request: Any, context: Any) -> Any:
        steps = self.world.steps[request.run_id]
        start = max(request.from_step, 1) - 1
        chosen = steps[start : start + request.page_size]
        following = start + len(chosen) + 1
        return runner_service_pb2.ListStepsResponse(
            lines=b"".join(line + b"\n" for line in chosen),
            total=len(steps),
            next_step=following if following <= len(steps) else 0,
        )

"""ImportRun as it comes over the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2
from firetrial.runner.v1 import runner_service_pb2 as pb
from firetrial_kit.errors import FiretrialError
from unit.runner.world import World


def header(**more: object) -> pb.ImportRunRequest:
    told = {"task_id": "task-1", "agent": "me", "repeat": 1, "format": pb.LOG_FORMAT_CONCLUSION, **more}
    return pb.ImportRunRequest(header=pb.ImportedRun(**told))  # type: ignore[arg-type]


async def sent(world: World, *parts: pb.ImportRunRequest) -> run_pb2.Run:
    async def requests() -> AsyncIterator[pb.ImportRunRequest]:
        for part in parts:
            yield part

    return (await world.servicer.ImportRun(requests(), None)).run


async def test_a_conclusion_alone_joins_an_experiment(world: World) -> None:
    await world.task()
    plan = plan_pb2.Plan(agents=["me@elsewhere"], repeats=1)
    slip = plan_pb2.Slip(experiment_id="e-1", expected_runs=1, plan=plan)
    chunks = [pb.ImportRunRequest(chunk=chunk) for chunk in (b"It ", b"helps.")]
    run = await sent(world, header(slip=slip), *chunks)
    assert run.provenance == run_pb2.PROVENANCE_SELF_REPORTED
    assert (run.state, run.experiment_id) == (run_pb2.RUN_STATE_CONCLUDED, "e-1")
    assert await world.objects.get(run.conclusion.uri) == b"It helps."
    assert "trajectory" in run.lacking
    assert not run.HasField("usage")


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ([], "header"),
        ([pb.ImportRunRequest(chunk=b"x")], "header"),
        ([pb.ImportRunRequest()], "header"),
        ([header(), header()], "header"),
        ([header(format=0)], "header.format"),
        ([header(format=77)], "header.format"),
    ],
)
async def test_a_stream_that_is_none_is_refused(
    world: World, parts: list[pb.ImportRunRequest], field: str
) -> None:
    with pytest.raises(FiretrialError) as caught:
        await sent(world, *parts)
    assert [fault.field for fault in caught.value.faults] == [field]
    assert await world.books.runs.ids() == []

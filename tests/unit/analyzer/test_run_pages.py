"""A run's page and experiments beside each other, by RPC."""

from __future__ import annotations

import gzip
import json

import pytest

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial_kit.errors import FiretrialError, Reason
from unit.analyzer.bench import EXPERIMENT, Bench, run


@pytest.fixture
async def bench() -> Bench:
    """A judged run in each of three experiments."""
    bench = Bench()
    for number, experiment in enumerate((EXPERIMENT, "e-2", "e-3"), start=1):
        made = run(number)
        made.experiment_id = experiment
        await bench.judged(made, expected=1)
        await bench.deliver("run_judged")
    return bench


async def page(bench: Bench, run_id: str) -> bytes:
    answers = bench.servicer.RenderRun(pb.RenderRunRequest(run_id=run_id), None)
    return b"".join([answer.chunk async for answer in answers])


async def beside(bench: Bench, *others: str, form: pb.Format.ValueType = pb.FORMAT_JSON) -> bytes:
    request = pb.RenderReportRequest(experiment_id=EXPERIMENT, format=form, compare_with=others)
    return b"".join([answer.chunk async for answer in bench.servicer.RenderReport(request, None)])


async def test_a_run_is_shown_with_its_trajectory(bench: Bench) -> None:
    id_ = run(1).id
    step = {"step": 1, "offset_s": 0, "kind": "event", "text": "exited with 0"}
    data = gzip.compress(json.dumps(step).encode())
    await bench.everything.put("runs", f"runs/{id_}/trajectory/0000000001.jsonl.gz", data, "application/gzip")
    shown = (await page(bench, id_)).decode()
    assert id_ in shown
    assert "What the agent claimed" in shown
    assert 'id="block-0"' in shown


async def test_a_run_without_steps_is_shown_too(bench: Bench) -> None:
    assert b"No step of this run was recorded." in await page(bench, run(1).id)


async def test_a_run_that_is_none_is_not_found(bench: Bench) -> None:
    with pytest.raises(FiretrialError) as error:
        await page(bench, "r-none")
    assert error.value.reason is Reason.NOT_FOUND


async def test_an_impossible_run_is_refused(bench: Bench) -> None:
    with pytest.raises(FiretrialError) as error:
        await page(bench, "../x")
    assert error.value.faults[0].field == "run_id"


async def test_experiments_are_set_beside_the_first(bench: Bench) -> None:
    told = json.loads(await beside(bench, "e-2", "e-3"))
    assert told["base"]["experiment"] == EXPERIMENT
    assert [against["side"]["experiment"] for against in told["others"]] == ["e-2", "e-3"]
    assert b"Firetrial comparison" in await beside(bench, "e-2", form=pb.FORMAT_HTML)


@pytest.mark.parametrize(
    ("others", "faults"),
    [
        ((EXPERIMENT,), 1),
        (("e-2", "e-2", "e-2"), 2),
        (tuple(f"e-{n}" for n in range(2, 10)), 1),
        (("../x",), 1),
    ],
)
async def test_what_cannot_be_set_beside_is_refused(
    bench: Bench, others: tuple[str, ...], faults: int
) -> None:
    with pytest.raises(FiretrialError) as error:
        await beside(bench, *others)
    assert [fault.field for fault in error.value.faults] == ["compare_with"] * faults


async def test_an_unknown_experiment_cannot_be_set_beside(bench: Bench) -> None:
    with pytest.raises(FiretrialError) as error:
        await beside(bench, "e-none")
    assert error.value.reason is Reason.NOT_FOUND


async def test_a_comparison_has_no_csv(bench: Bench) -> None:
    with pytest.raises(FiretrialError, match="comparison"):
        await beside(bench, "e-2", form=pb.FORMAT_CSV)

"""Repository runs from what they left: hostile or incomplete, and what is then unknown."""

from __future__ import annotations

import gzip

import pytest

from firetrial.parser.v1 import repository_pb2
from firetrial_analyzer.kinds.repository import NOT_JUDGED, Sealed, Spent
from firetrial_analyzer.kinds.repository_runs import Known, RepositoryRuns
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.testing import InMemoryObjects
from unit.analyzer.kinds.repository_store import put_steps, put_task, sha256, step

SPENT = Spent(tokens=9000, seconds=30.0)
TESTED = Sealed(3, 0.8, 0.75, 0.6, 0.5)


def spec(**fields: object) -> repository_pb2.RepositorySpec:
    metric = repository_pb2.Metric(
        key="accuracy", direction=repository_pb2.Metric.DIRECTION_HIGHER, best=1.0, worst=0.5
    )
    return repository_pb2.RepositorySpec(
        target_files=["model.py", "split.json"],
        metric=metric,
        baseline_validation=0.5,
        baseline_test=0.5,
        split=repository_pb2.SplitSettings(file="split.json"),
        max_steps=10,
        **fields,  # type: ignore[arg-type]
    )


async def known(objects: InMemoryObjects) -> tuple[RepositoryRuns, Known]:
    await put_task(objects, "t-1", spec(), {"model.py": "pinned = 1", "split.json": "{}", "other.py": "x"})
    runs = RepositoryRuns(objects)
    found = await runs.known("t-1")
    assert found is not None
    return runs, found


async def test_a_run_with_every_sort_of_step() -> None:
    objects = InMemoryObjects()
    runs, task = await known(objects)
    texts = ["rate = 1", "rate = 1; wide = True"]
    steps = [
        step(1, 0.6, texts[0]),
        step(2, None, void=True),
        step(3, 0.8, texts[1]),
        step(4, None, texts[0]),
    ]
    await put_steps(objects, "r-1", steps, texts)
    found = await runs.improvement(task, "r-1", TESTED, SPENT)
    assert (found.steps, found.valid, found.void, found.assigned) == (4, 2, 1, 10)
    assert found.best_so_far == (0.6, 0.8, 0.8)
    assert found.auc == pytest.approx((0.2 + 0.6 + 0.6) / 3)
    # Steps are told by their own numbers, and the void one took the second.
    assert (found.first_improvement_step, found.best_improvement_step, found.tested_step) == (1, 3, 3)
    assert found.val_test_gap == pytest.approx(0.1)
    assert found.rates.step_success_rate == 0.5
    assert found.rates.step_completion_rate == 0.4
    assert (found.rates.tokens_per_step, found.rates.seconds_per_step) == (2250, 7.5)
    assert found.exploration.exploration_uniqueness == pytest.approx(2 / 3)
    assert (found.exploration.exploration_reach or 0) > 0
    assert found.embedder == "hashed-tokens/1"


async def test_settings_of_the_split_are_no_code() -> None:
    """What is compared is the code alone: another split is no other idea."""
    objects = InMemoryObjects()
    runs, task = await known(objects)
    one, other = step(1, 0.6, "rate = 1"), step(2, 0.7, "rate = 1")
    other.files["split.json"] = sha256('{"seed": 2}')
    await put_steps(objects, "r-1", [one, other], ["rate = 1", '{"seed": 2}'])
    found = await runs.improvement(task, "r-1", TESTED, SPENT)
    assert found.exploration.exploration_spread == 0


async def test_a_run_that_made_no_step() -> None:
    runs, task = await known(InMemoryObjects())
    found = await runs.improvement(task, "r-none", None, Spent())
    assert (found.steps, found.auc, found.rates.step_success_rate) == (0, None, None)
    assert (found.no_credit, found.test, found.test_improvement) == (NOT_JUDGED.no_credit, 0.5, 0.0)
    assert found.exploration.exploration_spread is None


@pytest.mark.parametrize("source", [b"no tar", gzip.compress(bytes(range(256)) * 400)[:200]])
async def test_texts_and_sources_that_are_gone_or_not_what_they_were(source: bytes) -> None:
    objects = InMemoryObjects()
    runs, task = await known(objects)
    await put_steps(
        objects, "r-1", [step(1, 0.6, "kept"), step(2, 0.7, "gone"), step(3, 0.7, "changed")], ["kept"]
    )
    await objects.put("runs", f"runs/r-1/targets/{sha256('changed')}", b"something else", "")
    await objects.put("runs", "tasks/t-1/source.tar", source, "")
    found = await runs.improvement(task, "r-1", TESTED, SPENT)
    assert found.exploration.exploration_reach is None
    assert found.exploration.exploration_uniqueness is not None
    assert found.auc is not None


async def test_steps_that_are_none() -> None:
    objects = InMemoryObjects()
    runs, task = await known(objects)
    await objects.put("runs", "runs/r-1/steps.jsonl", b'{"step": 1}\n{"step": "x"}\n', "")
    with pytest.raises(FiretrialError) as caught:
        await runs.improvement(task, "r-1", TESTED, SPENT)
    assert caught.value.reason is Reason.CORRUPT


async def test_tasks_of_another_kind_are_none_of_these() -> None:
    objects = InMemoryObjects()
    await objects.put("runs", "tasks/t-2/task.json", b'{"id": "t-2", "kind": "TASK_KIND_REDISCOVERY"}', "")
    runs = RepositoryRuns(objects)
    assert await runs.known("t-2") is None
    assert await runs.known("t-none") is None

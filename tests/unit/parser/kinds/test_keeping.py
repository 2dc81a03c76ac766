"""Repository tasks through the servicer: what is public, what is sealed, and who can read which."""

from __future__ import annotations

import json

import pytest
from google.protobuf.json_format import Parse

from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial.parser.v1 import repository_pb2, task_pb2
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import GRANTS
from firetrial_kit.testing import InMemoryObjects
from unit.parser.kinds import made
from unit.parser.world import World


async def submitted(world: World, files: dict[str, bytes] | None = None, **told: object) -> task_pb2.Task:
    data = made.upload(files)
    return (await world.submit_task(made.header(data, {**made.HEADER, **told}), data)).task


async def test_a_task_is_stored_part_by_part() -> None:
    world = World()
    task = await submitted(world)
    assert (task.kind, task.has_truth) == (task_pb2.TASK_KIND_REPOSITORY, True)
    assert not task.HasField("data")
    spec = task.repository
    assert spec.has_test
    assert list(spec.target_files) == ["model.py", "split.json"]
    assert (spec.metric.key, spec.metric.direction) == ("loss_mean", repository_pb2.Metric.DIRECTION_LOWER)
    assert not spec.metric.HasField("worst")
    assert (spec.baseline_validation, spec.baseline_test) == (0.5, 0.6)
    assert spec.step_time.seconds == 20
    assert spec.split.fields[0].most == 99
    source = await world.everything.get(spec.source.uri, sha256=spec.source.sha256)
    assert b"validated" in source
    assert b"scored" not in source


async def test_runners_cannot_read_what_is_sealed() -> None:
    world = World()
    task = await submitted(world)
    truth = Parse(await world.everything.get(task.truth.uri), task_pb2.GroundTruth())
    assert list(truth.test.score_command) == ["python3", "score.py"]
    runner = InMemoryObjects(GRANTS["runner"], sharing=world.everything)
    assert await runner.get(task.repository.source.uri)
    for ref in (task.truth, truth.test.files, truth.test.score_files):
        assert ref.uri.startswith("truth/")
        assert await world.everything.get(ref.uri, sha256=ref.sha256)
        with pytest.raises(FiretrialError) as caught:
            await runner.get(ref.uri)
        assert caught.value.reason is Reason.DENIED
    shown = json.dumps(str(task))
    assert "score.py" not in shown
    assert "--test" not in shown


async def test_the_agent_is_told_how_to_hand_in() -> None:
    task = await submitted(World())
    assert task.instruction.startswith("Improve the loop.\n")
    for said in ("model.py", "step.py --idea", "5 steps", "Lower values", "val_seed", "python3 validate.py"):
        assert said in task.instruction


async def test_an_id_covers_everything() -> None:
    spec = made.HEADER["repository"]
    assert isinstance(spec, dict)
    test = made.HEADER["test"]
    assert isinstance(test, dict)
    changed: list[tuple[dict[str, bytes] | None, dict[str, object]]] = [
        (None, {}),
        ({**made.FILES, "source/model.py": b"RATE = 0.2\n"}, {}),
        ({**made.FILES, "sealed/score/labels.csv": b"5\n"}, {}),
        ({**made.FILES, "sealed/files/data/unseen.csv": b"5\n"}, {}),
        (None, {"repository": {**spec, "max_steps": 6}}),
        (None, {"repository": {**spec, "baseline_test": 0.7}}),
        (None, {"test": {**test, "time": "9s"}}),
        (None, {"instruction": "Improve it."}),
    ]
    world = World()
    ids = [(await submitted(world, files, **told)).id for files, told in changed]
    assert len({*ids}) == len(changed)
    assert (await submitted(world)).id == ids[0]


async def test_faults_of_the_header_come_before_any_file() -> None:
    header = made.header(b"", {**made.HEADER, "ground_truth": "It does."})
    header.data_size = 10_000
    header.repository.source.uri = "runs/somewhere"
    header.test.files.uri = "truth/tasks/another/sealed.tar"
    header.repository.metric.direction = 9  # type: ignore[assignment]
    with pytest.raises(FiretrialError) as caught:
        await World().submit_task(header)
    assert {fault.field for fault in caught.value.faults} == {
        "header.repository.source",
        "header.test.files",
        "header.ground_truth",
        "repository.metric.direction",
    }


async def test_files_that_do_not_fit_are_all_told() -> None:
    files = {name: data for name, data in made.FILES.items() if name != "source/model.py"}
    files |= {"source/results.json": b"{}", "sealed/score/seen.csv": made.FILES["source/data/seen.csv"]}
    with pytest.raises(FiretrialError) as caught:
        await submitted(World(), files)
    assert [fault.field for fault in caught.value.faults] == [
        "repository.target_files",
        "source",
        "sealed/score/seen.csv",
    ]


async def test_a_definition_without_its_repository_says_so() -> None:
    told = {name: value for name, value in made.HEADER.items() if name != "test"}
    with pytest.raises(FiretrialError) as caught:
        await World().submit_task(made.header(b"", told))
    assert [fault.field for fault in caught.value.faults] == ["header.data_size"]
    told["broken"] = ["its repository is not here"]
    task = (await World().submit_task(made.header(b"", told))).task
    assert not task.repository.HasField("source")
    assert not task.has_truth
    assert task.kind == task_pb2.TASK_KIND_REPOSITORY


async def test_a_test_goes_with_a_repository() -> None:
    header = pb.TaskHeader(slug="a", question="q?", instruction="i")
    header.test.results_file = "results.json"
    with pytest.raises(FiretrialError) as caught:
        await World().submit_task(header)
    assert [fault.field for fault in caught.value.faults] == ["header.test"]

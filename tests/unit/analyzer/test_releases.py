"""A release is frozen whole, once, and says what keeps it from being one."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from google.protobuf.json_format import MessageToJson

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.artifact.v1 import artifact_pb2
from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_analyzer.release import Frozen, Release, Wanted
from firetrial_analyzer.release_wire import release_to_json, release_to_wire, wanted_to_domain
from firetrial_analyzer.releases import Releases
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import sha256
from firetrial_kit.objects import GRANTS
from firetrial_kit.records import Records
from firetrial_kit.testing import InMemoryObjects, InMemoryState, ManualClock

HASH = "ab" * 32
JUDGE = plan_pb2.JudgeConfig(model="m", mode=plan_pb2.JudgeConfig.MODE_SET)


class World:
    def __init__(self) -> None:
        self.everything = InMemoryObjects()
        self.objects = InMemoryObjects(GRANTS["analyzer"], sharing=self.everything)
        self.records = Records(InMemoryState(), "release", Release)
        self.releases = Releases(self.records, self.objects, ManualClock())

    async def task(self, name: str, *, truth: bool = True) -> bytes:
        task = task_pb2.Task(id=name, version="v-" + name)
        if truth:
            ref = artifact_pb2.ArtifactRef(uri=f"truth/{name}", sha256=sha256(name.encode()), size=3)
            task.truth.CopyFrom(ref)
        data = MessageToJson(task).encode()
        await self.everything.put("runs", f"tasks/{name}/task.json", data, "application/json")
        return data

    async def create(self, **changed: Any) -> Release:
        asked: dict[str, Any] = {"name": "2026.11", "task_ids": ["b", "a"], "repeats": 3}
        asked |= {"judge_config_hash": HASH, "judge": JUDGE} | changed
        request = pb.CreateReleaseRequest(**asked)
        return await self.releases.create(wanted_to_domain(request))


@pytest.fixture
async def world() -> World:
    world = World()
    for name in "ab":
        await world.task(name)
    return world


async def test_a_release_holds_all_that_makes_scores_comparable(world: World) -> None:
    data = await world.task("a")
    release = (await world.create()).frozen
    first, second = release.tasks
    assert (first.id, first.version, second.id) == ("a", "v-a", "b")
    assert (first.task_sha256, first.truth_sha256) == (sha256(data), sha256(b"a"))
    assert json.loads(release.judge) == {"model": "m", "mode": "MODE_SET"}
    assert release.holds("a")
    assert not release.holds("c")
    assert all(len(value) == 64 for value in (release.taxonomy_sha256, release.cutoffs_sha256))


async def test_the_object_says_the_same_as_the_record(world: World) -> None:
    release = await world.create()
    data = await world.objects.get("results/releases/2026.11.json")
    assert data == release_to_json(release)
    assert json.loads(data)["checksum"] == release.frozen.checksum
    assert release_to_wire(await world.records.get("2026.11")) == release_to_wire(release)


async def test_the_checksum_follows_every_field(world: World) -> None:
    frozen = (await world.create()).frozen
    others = [
        replace(frozen, **{field.name: _other(getattr(frozen, field.name))}) for field in fields(Frozen)
    ]
    assert len({frozen.checksum, *(other.checksum for other in others)}) == len(others) + 1


def _other(value: Any) -> Any:
    return value[:1] if isinstance(value, tuple) else value + 1 if isinstance(value, int) else value + "x"


async def test_the_same_again_changes_nothing_and_another_is_refused(world: World) -> None:
    first = await world.create()
    puts = world.objects.puts
    assert await world.create(task_ids=["a", "b", "a"]) == first
    assert world.objects.puts == puts
    with pytest.raises(FiretrialError) as refused:
        await world.create(repeats=5, task_ids=["a"])
    assert refused.value.reason is Reason.ALREADY_EXISTS
    assert [fault.field for fault in refused.value.faults] == ["tasks", "repeats"]
    assert (await world.records.get("2026.11")) == first


async def test_all_that_is_wrong_is_told_at_once(world: World) -> None:
    await world.task("open", truth=False)
    await world.everything.put("runs", "tasks/torn/task.json", b"{", "application/json")
    with pytest.raises(FiretrialError) as refused:
        await world.create(
            name="No Name",
            repeats=0,
            judge_config_hash="x",
            prices_sha256="y",
            task_ids=["open", "none", "torn"],
        )
    assert {(fault.field, fault.value) for fault in refused.value.faults} == {
        ("name", "No Name"), ("repeats", "0"), ("judge_config_hash", "x"), ("prices_sha256", "y"),
        ("task_ids", "open"), ("task_ids", "none"), ("task_ids", "torn"),
    }  # fmt: skip
    with pytest.raises(FiretrialError) as empty:
        await world.create(task_ids=[])
    assert [fault.value for fault in empty.value.faults] == ["0 tasks"]


async def test_a_crash_after_the_object_leaves_work_that_can_be_done_again(world: World) -> None:
    release = await world.create()
    world.releases = Releases(Records(InMemoryState(), "release", Release), world.objects, ManualClock())
    assert (await world.create()).frozen == release.frozen


def test_what_is_asked_for_is_read_whole() -> None:
    wanted = wanted_to_domain(pb.CreateReleaseRequest(name="n", description="d", calibration_id="c-1"))
    assert wanted == Wanted("n", "d", (), 0, "{}", "", "c-1", "", "")

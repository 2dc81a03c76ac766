"""Follow-up tasks: what is wrong with a specification and its rubrics, and where their parts come to lie."""

from __future__ import annotations

import copy
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import Parse, ParseDict
from hypothesis import given
from hypothesis import strategies as st

from firetrial.parser.v1 import follow_up_pb2, task_pb2
from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial_kit.documents import load
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import GRANTS
from firetrial_kit.testing import InMemoryObjects
from firetrial_parser.kinds import rubrics
from firetrial_parser.kinds.follow_up_wire import follow_up_faults
from firetrial_parser.submitting import task_faults
from unit.parser.world import World

BEGUN = Path(rubrics.__file__).parent / "scaffolds" / "follow-up"
DIRECTION, INTEGRITY = (load((BEGUN / f"rubrics/{name}.yaml").read_bytes()) for name in rubrics.NAMES)
TASK = load((BEGUN / "task.yaml").read_bytes())
Tree = dict[str, Any]


def header(task: Tree = TASK, direction: object = DIRECTION, integrity: object = INTEGRITY) -> pb.TaskHeader:
    told = ParseDict(copy.deepcopy(task), pb.TaskHeader())
    told.rubrics.direction, told.rubrics.integrity = json.dumps(direction), json.dumps(integrity)
    return told


def upload(*parts: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for part in parts or ("source",):
            # Where the package was installed by pip, its scripts are compiled too.
            tar.add(
                BEGUN / "source", part, filter=lambda member: None if "__pycache__" in member.name else member
            )
    return buffer.getvalue()


async def submitted(world: World, told: pb.TaskHeader, data: bytes = b"") -> task_pb2.Task:
    told.data_size = len(data)
    return (await world.submit_task(told, data)).task


def leaves(tree: Tree) -> Iterator[Tree]:
    for child in tree["children"]:
        yield from leaves(child) if "children" in child else [child]


def test_what_ships_is_whole() -> None:
    assert list(task_faults(header())) == []


@pytest.mark.parametrize("name", ["success_conditions", "deliverables", "conduct"])
def test_each_clause_that_has_to_be_asked_about_is(name: str) -> None:
    """Of each list in turn, each clause in turn loses its question."""
    for clause in TASK["follow_up"][name]:
        direction, integrity = copy.deepcopy(DIRECTION), copy.deepcopy(INTEGRITY)
        for leaf in [*leaves(direction), *leaves(integrity)]:
            leaf["asks"] = [id_ for id_ in leaf["asks"] if id_ != clause["id"]]
        told = {fault.field: fault.cure for fault in task_faults(header(TASK, direction, integrity))}
        cure = told[f"header.follow_up.{name}, {clause['id']}"]
        assert f"asks: [{clause['id']}]" in cure


def test_nothing_is_asked_that_is_not_stated() -> None:
    direction = copy.deepcopy(DIRECTION)
    first, second = list(leaves(direction))[:2]
    first["asks"] = ["paper", "a-poster"]
    del second["asks"]
    told = [(fault.field, fault.value) for fault in task_faults(header(TASK, direction))]
    assert ('direction, node "paper-there", asks', "a-poster") in told
    assert ('direction, node "code-there", asks', "") in told


def test_a_condition_is_about_its_own_clauses() -> None:
    direction = copy.deepcopy(DIRECTION)
    next(leaves(direction))["asks"] = ["compared"]  # under C2, which is about deliverables
    told = [fault.cure for fault in task_faults(header(TASK, direction)) if "paper-there" in fault.field]
    assert told == ["must name one of deliverables: that is what C2 is about"]


def changed(change: Callable[[Tree], object]) -> list[str]:
    tree = copy.deepcopy(INTEGRITY)
    change(tree)
    return [f"{fault.field}: {fault.cure}" for fault in follow_up_faults(header(TASK, DIRECTION, tree))]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t["children"][0].update(settled_by=["hunch"]), "must be one of untraced_number"),
        (lambda t: t["children"][0].update(condition="C2"), "must be C1 in this rubric"),
        (lambda t: t["children"][0].update(deliverables=["slides"]), "must be one of paper, code, logs"),
        (lambda t: t["children"][0].update(weight=-1), "must be a number from 0"),
        (lambda t: t["children"][0].update(answers=["all", "none"]), "must be one of its answers"),
        (lambda t: t["children"][0].update(question=" "), "must ask something"),
        (lambda t: t["children"][0].update(id="paper-there"), "ids are of one node in both rubrics"),
        (lambda t: t["children"][0].update(id="rubrics"), "ids are of one node in both rubrics"),
        (lambda t: t["children"][0].update(asks="true-numbers" * 2), "is no clause"),
        (lambda t: t["children"].append("ask me"), "must be a node"),
        (lambda t: t.update(children={"a": 1}), "must be a list of nodes"),
    ],
)
def test_how_a_rubric_is_written(change: Callable[[Tree], object], said: str) -> None:
    assert any(said in told for told in changed(change)), changed(change)


def test_what_is_wrong_with_a_specification() -> None:
    task = copy.deepcopy(TASK)
    spec = task["follow_up"]
    spec["direction"] = ""
    spec["conduct"][0]["id"] = "Not An Id"
    spec["conduct"][1]["id"] = "paper"
    spec["deliverables"][1]["text"] = "x" * 5000
    task["ground_truth"] = "it helps"
    fields = {fault.field for fault in task_faults(header(task))}
    assert {
        "header.follow_up.direction",
        "header.follow_up.conduct[0].id",
        "header.follow_up.conduct[1].id",
        "header.follow_up.deliverables[1].text",
        "header.ground_truth",
    } <= fields


def test_rubrics_go_with_a_follow_up() -> None:
    told = pb.TaskHeader(rubrics=follow_up_pb2.Rubrics(direction="{}"))
    assert [fault.field for fault in follow_up_faults(told)] == ["header.rubrics"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["id", "children", "asks", "weight"]), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_any_value_is_read_or_told_of(value: object) -> None:
    read = rubrics.read({"direction": value, "integrity": value})
    assert read.faults


async def test_the_rubrics_are_secret_and_the_source_is_not() -> None:
    world = World()
    task = await submitted(world, header(), upload())
    assert (task.kind, task.has_truth) == (task_pb2.TASK_KIND_FOLLOW_UP, True)
    truth = Parse(await world.everything.get(task.truth.uri), task_pb2.GroundTruth())
    assert json.loads(truth.rubrics.integrity) == INTEGRITY
    runner = InMemoryObjects(GRANTS["runner"], sharing=world.everything)
    assert b"neighbours.py" in await runner.get(task.follow_up.source.uri)
    with pytest.raises(FiretrialError) as caught:
        await runner.get(task.truth.uri)
    assert caught.value.reason is Reason.DENIED
    for leaf in [*leaves(DIRECTION), *leaves(INTEGRITY)]:
        assert leaf["question"] not in str(task)


async def test_the_agent_is_told_every_clause_and_the_questions_only_where_they_are_shown() -> None:
    world = World()
    task = await submitted(world, header())
    for name in ("held_fixed", "design_space", "success_conditions", "deliverables", "conduct", "compute"):
        for clause in TASK["follow_up"][name]:
            assert f"[{clause['id']}] {clause['text']}" in task.instruction
    shown = copy.deepcopy(TASK)
    shown["follow_up"]["rubrics_shown"] = True
    other = await submitted(world, header(shown))
    assert "[experiments-run] Do the logs show" in other.instruction
    assert other.id != task.id


async def test_another_rubric_is_another_task() -> None:
    world = World()
    other = copy.deepcopy(INTEGRITY)
    other["children"][3]["question"] += " Really?"
    first, second = await submitted(world, header()), await submitted(world, header(TASK, DIRECTION, other))
    assert first.id != second.id
    assert (await submitted(world, header())).id == first.id


async def test_sealed_files_are_of_no_follow_up() -> None:
    with pytest.raises(FiretrialError, match="hand in source/ alone"):
        await submitted(World(), header(), upload("source", "sealed/files"))

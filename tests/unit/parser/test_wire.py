import asyncio
import json
from datetime import UTC, datetime

from google.protobuf.json_format import MessageToJson
from hypothesis import given
from hypothesis import strategies as st

from firetrial.parser.v1 import paper_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_kit.objects import ObjectRef
from firetrial_kit.references import ref_to_domain, ref_to_wire
from firetrial_kit.testing import InMemoryObjects
from firetrial_parser.archive import Archive
from firetrial_parser.records import PaperRecord, PaperState
from firetrial_parser.tree import Grounding, Node, PaperFacts, Tree, numbered
from firetrial_parser.tree_file import MAX_DEPTH, read_tree
from firetrial_parser.wire import (
    experiment_id,
    node_to_wire,
    paper_to_wire,
    plan_faults,
    slip_to_wire,
    tree_to_domain,
    tree_to_wire,
)
from unit.parser.test_tree import MANY, TEXTS, TREES
from unit.parser.world import plan

REF = ObjectRef("papers/x/source", "0" * 64, 7, "text/plain")


FACTS = st.builds(PaperFacts, title=TEXTS, authors=MANY, venue=TEXTS, year=st.integers(0, 9999), id=TEXTS)
GROUNDINGS = st.builds(Grounding, supported=st.integers(0, 999), statements=st.integers(0, 999), method=TEXTS)
WHOLE = st.builds(Tree, root=TREES, paper=FACTS, extraction=TEXTS, grounding=GROUNDINGS)


@given(WHOLE)
def test_trees_travel_from_file_to_message_to_store_without_loss(tree: Tree) -> None:
    archive = Archive(InMemoryObjects())

    async def stored() -> Tree:
        return await archive.tree(await archive.put_tree("p", tree))

    assert Tree.from_json(json.loads(json.dumps(tree.to_json()))) == tree
    assert tree_to_domain(tree_to_wire(tree)) == tree
    assert asyncio.run(stored()) == tree


async def test_the_deepest_tree_that_is_let_in_can_be_kept() -> None:
    node = Node("leaf", "L", evidence="Table 1", uncertain=True)
    for _ in range(MAX_DEPTH - 1):
        node = Node("intermediate", "I", children=(node,))
    tree = Tree(numbered(Node("root", "R", children=(node,))))
    archive = Archive(InMemoryObjects())
    assert read_tree(json.dumps(tree.to_json()).encode()).root == tree.root
    assert await archive.tree(await archive.put_tree("p", tree)) == tree


async def test_a_tree_that_an_earlier_version_kept_is_read() -> None:
    objects, root = InMemoryObjects(), numbered(Node("root", "R", children=(Node("leaf", "L"),)))
    data = MessageToJson(node_to_wire(root), preserving_proto_field_name=True).encode()
    ref = await objects.put("papers", "p/tree.json", data, "application/json")
    assert (await Archive(objects).tree(ref)).root == root


def test_references_travel_without_loss() -> None:
    assert ref_to_domain(ref_to_wire(REF)) == REF


def test_every_state_has_its_name_in_the_contract() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for state in PaperState:
        paper = paper_to_wire(PaperRecord("x", state, "a.md", REF, now, now, faults=("0.1: wrong",)))
        assert paper_pb2.PaperState.Name(paper.state) == f"PAPER_STATE_{state}"
        assert not paper.HasField("document")
        assert list(paper.faults) == ["0.1: wrong"]


def test_a_sound_plan_has_no_fault() -> None:
    assert list(plan_faults(plan(pool="gpu", max_tasks=3, max_attempts=2))) == []


def test_an_empty_plan_names_what_it_needs() -> None:
    assert {f.field for f in plan_faults(plan_pb2.Plan())} == {"plan.agents", "plan.repeats"}


def test_limits_must_be_numbers_of_zero_or_more() -> None:
    bad = plan()
    bad.limits.cpus = float("nan")
    bad.limits.wall_time.FromSeconds(-5)
    assert {f.field for f in plan_faults(bad)} == {"plan.limits.cpus", "plan.limits.wall_time"}


def test_money_probe_and_release_are_checked() -> None:
    good = plan(max_cost_usd=2.5, at_once=4, release="2026.11")
    good.probe = good.agents[0]
    good.limits.model_calls["*"] = 100
    assert list(plan_faults(good)) == []
    bad = plan(max_cost_usd=-1, at_once=-1, release="No Name", probe="other@41d0")
    bad.limits.model_calls["gpt-4o"] = -1
    bad.limits.model_cost_usd = float("nan")
    assert [fault.field.removeprefix("plan.") for fault in plan_faults(bad)] == [
        "probe", "max_cost_usd", "at_once", "release", "limits.model_cost_usd", "limits.model_calls[gpt-4o]",
    ]  # fmt: skip


@given(st.integers(1, 100), st.integers(1, 20))
def test_a_slip_counts_the_runs(repeats: int, tasks: int) -> None:
    assert slip_to_wire(plan(repeats=repeats), "e-1", tasks).expected_runs == 2 * repeats * tasks


def test_experiments_are_named_by_what_they_are() -> None:
    names = {experiment_id("p", plan(), ""), experiment_id("p", plan(), ""), experiment_id("p", plan(), "r")}
    names |= {experiment_id("q", plan(), ""), experiment_id("p", plan(repeats=5), "")}
    assert len(names) == 4
    assert all(len(name) == 18 for name in names)

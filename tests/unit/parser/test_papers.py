"""A paper read by a model: what is kept, what it cost, and how it fails."""

from __future__ import annotations

import json
from dataclasses import replace

from firetrial.parser.v1 import events_pb2
from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial_kit.cache import StoreTier
from firetrial_parser.asking import KEPT
from firetrial_parser.document import Document
from firetrial_parser.outlining import build_tree
from firetrial_parser.records import PaperState
from firetrial_parser.tree import Tree
from support.scripted_models import answer, status, text
from unit.parser.answers import EXPERIMENTS, INVENTED, Model, asking
from unit.parser.study import TEXT, document
from unit.parser.world import World, plan, read_here


async def test_with_a_model_the_tree_is_the_model_s_and_a_second_submission_asks_nothing() -> None:
    async with asking(Model()) as (asker, server):
        world = World()
        world.start(tree_asker=asker)
        submitted = await world.submit(plan=plan())
        assert await world.run() == ["done", "done"]
        paper = (await world.servicer.GetPaper(pb.GetPaperRequest(id=submitted.paper.id), None)).paper
        assert paper.extraction == "model scripted, prompt v2"
        assert [(u.purpose, u.model, u.calls, u.prompt_tokens) for u in paper.usage] == [
            ("tree-outline", "scripted", 1, 100),
            ("tree-part", "scripted", 1, 100),
        ]
        assert not any(usage.HasField("cost_usd") for usage in paper.usage)  # its price is unknown
        assert (paper.grounding.supported, paper.grounding.statements) == (1, 1)
        tree = await world.servicer.GetTree(pb.GetTreeRequest(paper_id=paper.id), None)
        assert tree.root.title == "How does heating change steel?"
        assert (tree.paper.title, tree.extraction) == (document().title, paper.extraction)
        await world.submit(plan=plan(repeats=5))
        assert set(await world.run()) == {"done"}
        assert len(server.requests) == 2


async def test_a_tree_of_inventions_fails_the_paper_and_names_each() -> None:
    model = Model(parts={"": answer(INVENTED)})
    async with asking(model) as (asker, _):
        world = World()
        world.start(tree_asker=asker)
        submitted = await world.submit(plan=plan())
        assert await world.run() == ["failed"]
    (failed,) = world.told("paper_parse_failed", events_pb2.PaperParseFailed)
    assert [word in failed.reason for word in ("Table 9", "9999", "No such words")] == [True] * 3
    record = await world.papers.records.get(submitted.paper.id)
    assert record.state is PaperState.FAILED
    assert {fault.split(" is ")[0] for fault in record.faults} >= {
        "0.0.0.evidence", "0.0.0.conclusion", "0.0.0.quotes[0]",
    }  # fmt: skip
    assert record.spent["tree-part"].calls == 2


async def test_what_is_refused_of_a_tree_stands_in_the_paper() -> None:
    nodes = [*EXPERIMENTS["nodes"], *INVENTED["nodes"]]
    nodes[2] = {**nodes[2], "id": "other"}
    async with asking(Model(parts={"": answer({"nodes": nodes})})) as (asker, _):
        world = World()
        world.start(tree_asker=asker)
        submitted = await world.submit()
        assert await world.run() == ["done", "done"]
        paper = (await world.servicer.GetPaper(pb.GetPaperRequest(id=submitted.paper.id), None)).paper
    assert list(paper.faults) == []
    assert [line.split(" is ")[0] for line in paper.refused] == [
        "0.0.2.quotes[0]", "0.0.2.evidence", "0.0.2.conclusion",
    ]  # fmt: skip


class Counting:
    """A reader that tells how often it read."""

    def __init__(self) -> None:
        self.read = 0

    async def __call__(self, data: bytes, filename: str) -> Document:
        self.read += 1
        return await read_here(data, filename)


async def test_a_failed_paper_that_is_submitted_again_pays_for_what_failed_alone() -> None:
    model = Model(parts={"": text("Sorry.")})
    world = World(reads=(reader := Counting()))
    async with asking(model, StoreTier(world.objects, *KEPT)) as (asker, _):
        world.start(tree_asker=asker)
        submitted = await world.submit()
        assert await world.run() == ["failed"]
        model.parts, model.asked = {"": answer(EXPERIMENTS)}, []
        await world.submit()
        assert await world.run() == ["done", "done"]
        assert (model.asked, reader.read) == (["part"], 1)
        record = await world.papers.records.get(submitted.paper.id)
    assert (record.state, record.attempt, record.failure, record.faults) == (PaperState.READY, 2, "", ())
    assert (record.spent["tree-outline"].calls, record.spent["tree-outline"].cache_hits) == (1, 1)
    assert record.spent["tree-part"].calls == 2 + 1


async def test_what_another_version_of_the_readers_read_is_read_anew() -> None:
    model = Model(parts={"": text("Sorry.")})
    world = World(reads=(reader := Counting()))
    async with asking(model) as (asker, _):
        world.start(tree_asker=asker)
        submitted = await world.submit()
        await world.run()
        await world.papers.records.change(submitted.paper.id, lambda record: replace(record, reader="0"))
        await world.submit()
        await world.run()
    assert reader.read == 2


async def test_an_endpoint_that_is_away_is_asked_later_for_the_rest() -> None:
    model = Model(parts={"": status(503)})
    world = World()
    async with asking(model, StoreTier(world.objects, *KEPT), patience=0.0) as (asker, _):
        world.start(tree_asker=asker)
        submitted = await world.submit()
        assert (await world.bus.deliver(world.submitted))[0] == "later"
        model.parts, model.asked = {"": answer(EXPERIMENTS)}, []
        await world.again(world.submitted, "paper_submitted")
        assert model.asked == ["part"]
    assert (await world.papers.records.get(submitted.paper.id)).state is PaperState.PARSED


async def test_a_refusing_endpoint_fails_the_paper_with_its_reason_and_without_the_key() -> None:
    async with asking(Model(outline=status(401, "key-1 is no key")), api_key="key-1") as (asker, _):
        world = World()
        world.start(tree_asker=asker)
        await world.submit(plan=plan())
        assert await world.run() == ["failed"]
    (failed,) = world.told("paper_parse_failed", events_pb2.PaperParseFailed)
    assert "401" in failed.reason
    assert "the paper's outline" in failed.reason
    assert "key-1" not in failed.reason


async def test_without_a_model_the_tree_is_labelled_so() -> None:
    world = World()
    submitted = await world.submit()
    await world.run()
    record = await world.papers.records.get(submitted.paper.id)
    assert (record.extraction, dict(record.spent)) == ("structure", {})
    assert record.grounding.share == 1


# ---- trees as papers


def submitted_tree(**paper: object) -> bytes:
    tree = Tree(build_tree(document())).to_json()
    return json.dumps({"paper": {**tree["paper"], **paper}, "root": tree["root"]}).encode()


async def test_a_tree_is_submitted_as_a_paper() -> None:
    world = World()
    submitted = await world.submit(submitted_tree(title="Steel"), "steel.json")
    assert await world.run() == ["done", "done"]
    record = await world.papers.records.get(submitted.paper.id)
    assert (record.state, record.extraction, record.title) == (PaperState.READY, "submitted", "Steel")
    assert record.tree is not None
    tree = await world.papers.archive.tree(record.tree)
    assert [leaf.evidence for leaf in tree.root.leaves()] == ["Table 1", "Figure 1"]
    assert {(quote.page, quote.score) for node in tree.root.walk() for quote in node.quotes} == {(0, 0.0)}
    assert record.grounding.share is None


async def test_a_tree_that_names_its_paper_is_held_to_it_and_refused_as_a_whole() -> None:
    world = World()
    paper = (await world.submit()).paper.id
    await world.run()
    wrong = (
        submitted_tree(id=paper).replace(b"from 410 at", b"from 999 at").replace(b'"Figure 1"', b'"Figure 7"')
    )
    bad = await world.submit(wrong, "bad.json")
    assert "failed" in await world.run()
    record = await world.papers.records.get(bad.paper.id)
    assert {fault.split(" is ")[0] for fault in record.faults} == {
        "0.0.quotes[0]", "0.0.0.quotes[0]", "0.0.0.conclusion", "0.0.1.evidence",
    }  # fmt: skip
    good = await world.submit(submitted_tree(id=paper), "good.json")
    await world.run()
    kept, source = [await world.papers.records.get(id_) for id_ in (good.paper.id, paper)]
    assert kept.state is PaperState.READY
    assert kept.grounding.share == 1
    assert kept.document is not None
    assert source.document is not None
    assert kept.document.sha256 == source.document.sha256


async def test_a_tree_of_an_unknown_paper_is_refused() -> None:
    world = World()
    bad = await world.submit(submitted_tree(id="0" * 64), "bad.json")
    assert await world.run() == ["failed"]
    assert "paper.id" in (await world.papers.records.get(bad.paper.id)).failure
    assert TEXT not in (await world.papers.records.get(bad.paper.id)).failure

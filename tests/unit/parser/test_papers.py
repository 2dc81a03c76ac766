from firetrial.parser.v1 import events_pb2
from firetrial_parser.extraction import opener
from firetrial_parser.records import PaperState
from support.scripted_models import ScriptedModels, answer, status
from unit.parser.test_extraction import GOOD, INVENTED
from unit.parser.world import World, plan


async def test_with_a_model_the_tree_is_the_model_s() -> None:
    with ScriptedModels([answer({"nodes": GOOD})]) as models:
        world = World(opener("m", models.base_url, ""))
        submitted = await world.submit(plan=plan())
        assert await world.run() == ["done", "done"]
        record = await world.papers.records.get(submitted.paper.id)
        assert record.tree is not None
        assert (await world.papers.archive.tree(record.tree)).root.title == "Root"
        await world.submit(plan=plan(repeats=5))
        await world.run()
        assert len(models.requests) == 1  # read once, whatever is asked for later


async def test_an_invented_leaf_never_becomes_a_task() -> None:
    with ScriptedModels([answer({"nodes": INVENTED})]) as models:
        world = World(opener("m", models.base_url, ""))
        submitted = await world.submit(plan=plan())
        assert await world.run() == ["done", "failed"]
    record = await world.papers.records.get(submitted.paper.id)
    assert record.state is PaperState.FAILED
    assert any("Table 9" in fault for fault in record.faults)


async def test_a_refusing_model_fails_the_paper_with_its_reason() -> None:
    with ScriptedModels([status(401)]) as models:
        world = World(opener("m", models.base_url, "key-1"))
        await world.submit(plan=plan())
        assert await world.run() == ["failed"]
    (failed,) = world.told("paper_parse_failed", events_pb2.PaperParseFailed)
    assert "401" in failed.reason
    assert "key-1" not in failed.reason


async def test_no_model_is_opened_without_a_name() -> None:
    assert opener("", "", "") is None

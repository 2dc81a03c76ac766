"""What happens to a paper's messages: once, twice, cut off, broken, or at the end of a process."""

import asyncio

import pytest

from firetrial.parser.v1 import events_pb2, paper_pb2
from firetrial_kit import events
from firetrial_kit.bus import Outgoing
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.document import Document
from firetrial_parser.reading import read_document
from firetrial_parser.records import PaperState
from unit.parser.paper_pdf import pdf
from unit.parser.study import TEXT
from unit.parser.world import World, plan


async def state(world: World, paper_id: str) -> PaperState:
    return (await world.papers.records.get(paper_id)).state


async def test_a_paper_becomes_a_task_for_its_experiment() -> None:
    world = World()
    answer = await world.submit(plan=plan())
    assert await world.run() == ["done", "done"]
    (created,) = world.told("task_created", events_pb2.TaskCreated)
    assert created.slip.experiment_id == answer.experiment_id != ""
    assert created.slip.expected_runs == 4
    assert created.slip.plan == plan()
    paper = await world.papers.records.get(answer.paper.id)
    assert paper.state is PaperState.READY
    assert paper.task_ids == (created.task_id,)
    assert paper.title.startswith("How heating time")
    assert set(world.everything.held) == {
        f"papers/{paper.id}/source",
        f"papers/{paper.id}/document.json",
        f"papers/{paper.id}/tree.json",
        f"truth/tasks/{created.task_id}/truth.json",
        f"runs/tasks/{created.task_id}/task.json",
    }


async def test_several_tasks_share_an_experiment() -> None:
    world = World()
    await world.submit(plan=plan(max_tasks=5))
    await world.run()
    created = world.told("task_created", events_pb2.TaskCreated)
    assert len(created) == 2
    assert {c.slip.expected_runs for c in created} == {8}
    assert len({c.slip.experiment_id for c in created}) == 1


async def test_the_ground_truth_is_in_no_message() -> None:
    world = World()
    await world.submit(plan=plan())
    await world.run()
    assert not any(b"increases from 410" in m.data for m in world.bus.published)
    assert b"increases from 410" in next(
        d for k, (d, _) in world.everything.held.items() if k.startswith("truth/")
    )
    task = next(d for k, (d, _) in world.everything.held.items() if k.startswith("runs/"))
    assert b"increases from 410" not in task


async def test_redelivery_changes_nothing() -> None:
    world = World()
    await world.submit(plan=plan())
    await world.run()
    published, puts = list(world.bus.published), world.objects.puts
    assert await world.again(world.submitted, "paper_submitted") == ["done"]
    assert await world.again(world.parsed, "paper_parsed") == ["done"]
    assert world.bus.published == published
    assert world.objects.puts == puts


async def test_a_crash_between_object_and_announcement_is_made_good() -> None:
    world = World()
    await world.submit(plan=plan())
    world.bus.fail_next = FiretrialError(Reason.UNAVAILABLE, "the broker is gone")
    assert await world.bus.deliver(world.submitted) == ["later"]
    puts = world.objects.puts
    world.start()
    assert await world.again(world.submitted, "paper_submitted") == ["done"]
    assert world.objects.puts == puts  # not read a second time
    world.bus.fail_next = FiretrialError(Reason.UNAVAILABLE, "the broker is gone")
    assert await world.bus.deliver(world.parsed) == ["later"]
    world.start()
    assert await world.again(world.parsed, "paper_parsed") == ["done"]
    assert len(world.told("task_created", events_pb2.TaskCreated)) == 1


async def test_a_crash_between_truth_and_task_leaves_the_same_objects() -> None:
    world = World()
    answer = await world.submit(plan=plan())
    await world.bus.deliver(world.submitted)
    whole = World()
    await whole.submit(plan=plan())
    await whole.run()
    world.everything.held.update({k: v for k, v in whole.everything.held.items() if k.startswith("truth/")})
    assert await world.bus.deliver(world.parsed) == ["done"]
    assert world.everything.held == whole.everything.held
    assert await state(world, answer.paper.id) is PaperState.READY


async def test_a_paper_that_cannot_be_read_ends_in_a_told_failure() -> None:
    world = World()
    answer = await world.submit(pdf([[]]), "scan.pdf", plan=plan())
    assert await world.run() == ["failed"]
    (failed,) = world.told("paper_parse_failed", events_pb2.PaperParseFailed)
    assert "OCR" in failed.reason
    assert failed.experiment_id == answer.experiment_id
    record = await world.papers.records.get(answer.paper.id)
    assert (record.state, record.failure) == (PaperState.FAILED, failed.reason)
    assert await world.again(world.submitted, "paper_submitted") == ["done"]
    assert len(world.told("paper_parse_failed", events_pb2.PaperParseFailed)) == 1


async def test_a_paper_without_a_leaf_or_a_finding_fails_too() -> None:
    for text, told in (("# T\n\nNothing.\n", "leaf"), ("# T\n\n## M\n\nTable 1: Settings.\n", "conclusion")):
        world = World()
        await world.submit(text.encode(), plan=plan())
        assert (await world.run())[-1] == "failed"
        (failed,) = world.told("paper_parse_failed", events_pb2.PaperParseFailed)
        assert told in failed.reason


async def test_a_poison_message_ends_without_a_loop() -> None:
    world = World()
    garbage = Outgoing(events.subject("parser", "paper_submitted", "x"), b"\xff\xff\xff", "garbage")
    unknown = events_pb2.PaperSubmitted(paper_id="0" * 64, experiment_id="e-1").SerializeToString()
    await world.bus.publish(garbage)
    await world.bus.publish(Outgoing(garbage.subject, unknown, "unknown"))
    assert await world.bus.deliver(world.submitted) == ["failed", "failed"]
    (failed,) = world.told("paper_parse_failed", events_pb2.PaperParseFailed)
    assert (failed.paper_id, failed.experiment_id) == ("0" * 64, "e-1")


async def test_a_failure_that_cannot_be_told_comes_back() -> None:
    world = World()
    answer = await world.submit(pdf([[]]), "scan.pdf", plan=plan())
    world.bus.fail_next = FiretrialError(Reason.UNAVAILABLE, "the broker is gone")
    assert await world.bus.deliver(world.submitted) == ["later"]
    assert await world.again(world.submitted, "paper_submitted") == ["done"]
    assert [f.paper_id for f in world.told("paper_parse_failed", events_pb2.PaperParseFailed)] == [
        answer.paper.id
    ]


class Slow:
    """A reader that reads once it is let."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.free = asyncio.Event()

    async def __call__(self, data: bytes, filename: str) -> Document:
        self.begun.set()
        await self.free.wait()
        return read_document(data, filename)


async def test_draining_finishes_what_is_in_hand() -> None:
    world = World(reads=(slow := Slow()))
    answer = await world.submit(plan=plan())
    stop = asyncio.Event()
    consuming = asyncio.create_task(world.bus.consume(world.submitted, stop))
    await slow.begun.wait()
    stop.set()
    slow.free.set()
    await asyncio.wait_for(consuming, 10)
    assert await state(world, answer.paper.id) is PaperState.PARSED
    assert world.bus.settlements[-1][2] == "done"


async def test_a_paper_cut_off_by_the_drain_is_read_by_the_next() -> None:
    world = World(reads=(slow := Slow()))
    answer = await world.submit(plan=plan())
    consuming = asyncio.create_task(world.bus.consume(world.submitted, asyncio.Event()))
    await slow.begun.wait()
    consuming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await consuming
    assert await state(world, answer.paper.id) is PaperState.SUBMITTED
    slow.free.set()
    assert await world.run() == ["done", "done"]


async def test_another_plan_for_a_ready_paper_goes_straight_on() -> None:
    world = World()
    first = await world.submit(plan=plan())
    await world.run()
    puts = world.objects.puts
    second = await world.submit(plan=plan(repeats=3))
    assert await world.run() == ["done", "done"]
    assert second.experiment_id != first.experiment_id
    created = world.told("task_created", events_pb2.TaskCreated)
    assert [c.slip.expected_runs for c in created] == [4, 6]
    assert len({c.task_id for c in created}) == 1
    assert world.objects.puts == puts + 1  # the source, handed in again


async def test_without_a_plan_a_task_is_made_but_not_run() -> None:
    world = World()
    answer = await world.submit()
    await world.run()
    (created,) = world.told("task_created", events_pb2.TaskCreated)
    assert not created.HasField("slip")
    assert answer.experiment_id == ""


async def test_cancelling_stops_a_paper_and_tells_its_experiment() -> None:
    world = World()
    answer = await world.submit(plan=plan())
    await world.papers.cancel(answer.paper.id)
    assert await world.run() == ["done"]
    (failed,) = world.told("paper_parse_failed", events_pb2.PaperParseFailed)
    assert failed.reason == "the paper was cancelled"
    again = await world.submit(plan=plan())
    assert again.paper.state == paper_pb2.PAPER_STATE_SUBMITTED
    assert await world.run() == ["done", "done"]
    await world.papers.cancel(answer.paper.id)
    assert await state(world, answer.paper.id) is PaperState.READY


async def test_a_failed_paper_can_be_submitted_again() -> None:
    world = World()
    answer = await world.submit(plan=plan())
    await world.papers.fail(answer.paper.id, "for a test", answer.experiment_id)
    await world.submit(plan=plan())
    assert (await world.run())[-2:] == ["done", "done"]
    assert await state(world, answer.paper.id) is PaperState.READY


async def test_what_is_stored_is_the_contract() -> None:
    world = World()
    answer = await world.submit(plan=plan())
    await world.run()
    record = await world.papers.records.get(answer.paper.id)
    assert record.document is not None
    assert await world.papers.archive.document(record.document) == read_document(TEXT.encode(), "study.md")
    (created,) = world.told("task_created", events_pb2.TaskCreated)
    assert created.task.uri == f"runs/tasks/{created.task_id}/task.json"
    stored = await world.everything.get(created.task.uri, sha256=created.task.sha256)
    assert b'"has_truth": true' in stored
    truth = await world.everything.get(f"truth/tasks/{created.task_id}/truth.json")
    assert b'"evidence": "Table 1"' in truth

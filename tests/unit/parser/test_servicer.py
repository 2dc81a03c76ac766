import asyncio
import io
import tarfile

import pytest

from firetrial.parser.v1 import events_pb2, paper_pb2, task_pb2
from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial_kit.errors import FiretrialError, Reason
from unit.parser.study import TEXT
from unit.parser.world import MAX_DATA, MAX_PAPER, World, paper_parts, plan

HEADER = pb.TaskHeader(
    slug="label-noise",
    question="Does it?",
    instruction="Find out.",
    ground_truth="It does.",
    origin="firebench",
)


def tar(*names: str, link: str = "") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 2
            archive.addfile(member, io.BytesIO(b"{}"))
        if link:
            member = tarfile.TarInfo(link)
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(member)
    return out.getvalue()


async def test_get_list_and_tree() -> None:
    world = World()
    answer = await world.submit()
    with pytest.raises(FiretrialError, match="not been read yet"):
        await world.servicer.GetTree(pb.GetTreeRequest(paper_id=answer.paper.id), None)
    await world.run()
    got = await world.servicer.GetPaper(pb.GetPaperRequest(id=answer.paper.id), None)
    assert got.paper.state == paper_pb2.PAPER_STATE_READY
    listed = await world.servicer.ListPapers(pb.ListPapersRequest(), None)
    assert [p.id for p in listed.papers] == [answer.paper.id]
    tree = await world.servicer.GetTree(pb.GetTreeRequest(paper_id=answer.paper.id), None)
    assert tree.root.children[0].children[0].evidence == "Table 1"
    tasks = await world.servicer.ListTasks(pb.ListTasksRequest(), None)
    task = await world.servicer.GetTask(pb.GetTaskRequest(id=tasks.tasks[0].id), None)
    assert task.task == tasks.tasks[0]
    assert task.task.created_at.seconds > 0
    assert "increases from 410" not in str(task.task)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.GetPaper(pb.GetPaperRequest(id="none"), None),
        lambda s: s.GetTree(pb.GetTreeRequest(paper_id="none"), None),
        lambda s: s.CancelPaper(pb.CancelPaperRequest(id="none"), None),
        lambda s: s.GetTask(pb.GetTaskRequest(id=""), None),
    ],
)
async def test_what_does_not_exist(call: object) -> None:
    with pytest.raises(FiretrialError) as caught:
        await call(World().servicer)  # type: ignore[operator]
    assert caught.value.reason is Reason.NOT_FOUND


async def test_pages_of_tasks() -> None:
    world = World()
    for n in range(3):
        await world.submit_task(pb.TaskHeader(slug=f"t{n}", question="q?", instruction="i"))
    first = await world.servicer.ListTasks(pb.ListTasksRequest(page_size=2), None)
    rest = await world.servicer.ListTasks(
        pb.ListTasksRequest(page_size=2, page_token=first.next_page_token), None
    )
    assert [t.id[:2] for t in (*first.tasks, *rest.tasks)] == ["t0", "t1", "t2"]
    assert rest.next_page_token == ""


async def test_watch_ends_when_the_paper_is_settled() -> None:
    world = World()
    answer = await world.submit()

    async def watch() -> list[int]:
        stream = world.servicer.WatchPaper(pb.WatchPaperRequest(id=answer.paper.id), None)
        return [response.paper.state async for response in stream]

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    await world.run()
    states = await asyncio.wait_for(watching, 5)
    assert states[0] == paper_pb2.PAPER_STATE_SUBMITTED
    assert states[-1] == paper_pb2.PAPER_STATE_READY


async def test_an_upload_in_pieces_is_the_same_paper() -> None:
    world = World()
    data = TEXT.encode()
    whole = await world.submit(data)
    header = pb.PaperHeader(filename="study.md", size=len(data))
    pieces = await world.servicer.SubmitPaper(
        paper_parts(header, [data[i : i + 100] for i in range(0, len(data), 100)]), None
    )
    assert pieces.paper.id == whole.paper.id
    assert len(world.told("paper_submitted", events_pb2.PaperSubmitted)) == 1


async def refused(world: World, header: pb.PaperHeader, *chunks: bytes) -> FiretrialError:
    with pytest.raises(FiretrialError) as caught:
        await world.servicer.SubmitPaper(paper_parts(header, chunks), None)
    assert not world.everything.held
    assert not world.bus.published
    return caught.value


async def test_all_faults_of_a_header_are_told_at_once() -> None:
    bad = plan(agents=["nameless", "nameless"], repeats=0, pool="No Pool", max_tasks=21, max_attempts=11)
    bad.limits.memory_bytes = -1
    header = pb.PaperHeader(filename="paper.docx", size=5, request_id="a b", plan=bad)
    error = await refused(World(), header, b"hello")
    assert {fault.field for fault in error.faults} == {
        "header.filename", "header.request_id", "plan.agents[0]", "plan.agents[1]", "plan.agents",
        "plan.repeats", "plan.max_tasks", "plan.max_attempts", "plan.pool", "plan.limits.memory_bytes",
    }  # fmt: skip


async def test_a_paper_over_the_limit_is_refused_by_its_header() -> None:
    async def endless() -> object:
        yield pb.SubmitPaperRequest(header=pb.PaperHeader(filename="x.pdf", size=500 * 1024 * 1024))
        raise AssertionError("the body was asked for")

    with pytest.raises(FiretrialError) as caught:
        await World().servicer.SubmitPaper(endless(), None)  # type: ignore[arg-type]
    assert caught.value.reason is Reason.TOO_LARGE
    assert MAX_PAPER < 500 * 1024 * 1024


async def test_what_comes_must_be_what_was_announced() -> None:
    assert (await refused(World(), pb.PaperHeader(filename="x.md", size=9), b"hello")).faults[
        0
    ].field == "header.size"
    assert "5 bytes" in str(await refused(World(), pb.PaperHeader(filename="x.md", size=3), b"hello"))
    assert "empty" in str(await refused(World(), pb.PaperHeader(filename="x.md", size=0)))
    big = await refused(World(), pb.PaperHeader(filename="x.md", size=MAX_PAPER), b"x" * (1024 * 1024 + 1))
    assert big.faults[0].field == "chunk"


async def test_an_upload_without_a_header() -> None:
    async def parts() -> object:
        yield pb.SubmitPaperRequest(chunk=b"x")

    with pytest.raises(FiretrialError, match="must be the header"):
        await World().servicer.SubmitPaper(parts(), None)  # type: ignore[arg-type]


async def test_a_request_id_submits_once() -> None:
    world = World()
    first = await world.submit(plan=plan(), request_id="r-1")
    again = await world.submit(plan=plan(), request_id="r-1")
    assert again.experiment_id == first.experiment_id
    assert len(world.told("paper_submitted", events_pb2.PaperSubmitted)) == 1
    other = await world.submit(plan=plan(), request_id="r-2")
    assert other.experiment_id != first.experiment_id
    with pytest.raises(FiretrialError) as caught:
        await world.submit(plan=plan(repeats=9), request_id="r-1")
    assert caught.value.reason is Reason.ALREADY_EXISTS


async def test_a_task_from_elsewhere() -> None:
    world = World()
    header = pb.TaskHeader()
    header.CopyFrom(HEADER)
    header.broken.append("no call budget")
    header.plan.CopyFrom(plan())
    data = tar("rows.jsonl", "sub/more.jsonl")
    header.data_size = len(data)
    answer = await world.submit_task(header, data)
    task = answer.task
    assert task.id == f"label-noise-{task.version}"
    assert task.has_truth
    assert list(task.broken) == ["no call budget"]
    assert await world.everything.get(task.data.uri, sha256=task.data.sha256) == data
    assert b"It does." in await world.everything.get(task.truth.uri, sha256=task.truth.sha256)
    assert "It does." not in str(answer)
    (created,) = world.told("task_created", events_pb2.TaskCreated)
    assert (created.slip.experiment_id, created.slip.expected_runs) == (answer.experiment_id, 4)
    puts = world.objects.puts
    assert (await world.submit_task(header, data)).task == task
    assert world.objects.puts == puts
    assert len(world.bus.published) == 1


async def test_a_task_without_truth_can_be_kept() -> None:
    world = World()
    answer = await world.submit_task(pb.TaskHeader(slug="open", question="q?", instruction="i"))
    assert not answer.task.has_truth
    assert not answer.task.HasField("truth")
    assert not answer.task.HasField("data")
    assert answer.experiment_id == ""


async def test_a_rating_is_kept_and_part_of_the_task() -> None:
    world = World()
    header = pb.TaskHeader()
    header.CopyFrom(HEADER)
    unrated = (await world.submit_task(header)).task
    header.published = "2025-05"
    header.difficulty.CopyFrom(
        task_pb2.Difficulty(conceptual_decomposition=1, confound_control=2, analysis_complexity=3)
    )
    rated = (await world.submit_task(header)).task
    assert (rated.published, rated.difficulty) == ("2025-05", header.difficulty)
    assert rated.id != unrated.id
    assert not unrated.HasField("difficulty")
    header.difficulty.confound_control = 4
    with pytest.raises(FiretrialError) as caught:
        await world.submit_task(header)
    assert [fault.field for fault in caught.value.faults] == ["header.difficulty.confound_control"]


async def test_bad_tasks() -> None:
    world = World()
    bad = pb.TaskHeader(slug="No Slug", origin="!", data_size=MAX_DATA + 1, broken=["x" * 2000])
    with pytest.raises(FiretrialError) as caught:
        await world.submit_task(bad)
    assert {f.field for f in caught.value.faults} == {
        "header.slug", "header.origin", "header.question", "header.instruction", "header.data_size",
        "header.broken",
    }  # fmt: skip
    for data in (tar("../up"), tar("/abs"), tar("ok", link="link"), b"no tar at all" * 100):
        header = pb.TaskHeader(slug="t", question="q?", instruction="i", data_size=len(data))
        with pytest.raises(FiretrialError) as caught:
            await world.submit_task(header, data)
        assert caught.value.reason is Reason.INVALID
    assert not world.everything.held


async def test_data_that_an_operator_provides_is_part_of_the_task() -> None:
    world = World()
    header = pb.TaskHeader(slug="t", question="q?", instruction="i")
    plain = await world.submit_task(header)
    header.sources.add(hugging_face="openai/gsm8k")
    header.sources.add(path="mine/a.csv")
    answer = await world.submit_task(header)
    assert answer.task.sources == header.sources
    assert answer.task.id != plain.task.id
    assert (await world.submit_task(header)).task.id == answer.task.id


async def test_data_that_could_lie_anywhere_is_refused() -> None:
    world = World()
    header = pb.TaskHeader(slug="t", question="q?", instruction="i")
    for path in ("../truth", "/etc", "a//b", "", "a", "a"):
        header.sources.add(path=path)
    with pytest.raises(FiretrialError) as raised:
        await world.submit_task(header)
    assert raised.value.reason is Reason.INVALID
    fields = [fault.field for fault in raised.value.faults]
    assert fields == [f"header.sources[{index}]" for index in (0, 1, 2, 3, 5)]


async def test_a_task_says_what_its_runs_may_reach() -> None:
    world = World()
    header = pb.TaskHeader(slug="t", question="q?", instruction="i")
    plain = await world.submit_task(header)
    assert not plain.task.HasField("network")
    header.network.reach = task_pb2.Network.REACH_LISTED
    header.network.hosts.extend(["data.example", "*.files.example"])
    header.network.denied.append("arxiv.org/abs/2505.01234")
    answer = await world.submit_task(header)
    assert answer.task.network == header.network
    assert answer.task.id != plain.task.id


async def test_hosts_that_are_none_are_refused() -> None:
    world = World()
    network = task_pb2.Network(reach=7, hosts=["http://x"], denied=["a b"])  # type: ignore[arg-type]
    with pytest.raises(FiretrialError) as raised:
        await world.submit_task(pb.TaskHeader(slug="t", question="q?", instruction="i", network=network))
    fields = {fault.field for fault in raised.value.faults}
    assert fields >= {"header.network.reach", "header.network.hosts[0]", "header.network.denied[0]"}

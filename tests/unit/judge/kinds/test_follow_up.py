"""Follow-up runs at the judge: what is graded, what findings settle, what makes a submission valid."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Mapping

import pytest
from google.protobuf.json_format import MessageToJson

from firetrial.judge.v1 import events_pb2, rubric_pb2
from firetrial.parser.v1 import follow_up_pb2, task_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_judge.kinds.findings import Found, settled
from firetrial_judge.kinds.follow_up import both, validity
from firetrial_judge.kinds.handed_in import LOG, Log, submission
from firetrial_judge.rubric.reading import read
from firetrial_kit.errors import FiretrialError, Reason
from unit.judge.world import World

INTEGRITY = {
    "id": "integrity",
    "children": [
        {"id": "numbers", "question": "True?", "settled_by": ["untraced_number"]},
        {"id": "other", "question": "Kept?"},
    ],
}
DIRECTION = {
    "id": "direction",
    "children": [
        {"id": "paper", "question": "There?", "condition": "C2"},
        {"id": "goal", "question": "Met?", "condition": "C3"},
    ],
}
MADE_UP = Found("untraced_number", "1 of 1 numbers stands in no output: 0.9.", ((3, "rmse=0.4"),))


class Checker:
    """Finds what it is given."""

    def __init__(self, *found: Found, error: FiretrialError | None = None) -> None:
        self._found, self._error = found, error

    async def check(self, run: run_pb2.Run) -> tuple[Found, ...]:
        if self._error:
            raise self._error
        return self._found


def rubrics() -> follow_up_pb2.Rubrics:
    return follow_up_pb2.Rubrics(direction=json.dumps(DIRECTION), integrity=json.dumps(INTEGRITY))


def tar(files: Mapping[str, bytes]) -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
    buffer.seek(0)
    return buffer


def chunk(*steps: Mapping[str, object]) -> bytes:
    return gzip.compress("".join(f"{json.dumps(step)}\n" for step in steps).encode())


async def finished(world: World, checker: Checker | None) -> run_pb2.Run:
    """A follow-up run that has ended, given to a judge with this checker and no model."""
    task = task_pb2.Task(id="fu-1", kind=task_pb2.TASK_KIND_FOLLOW_UP, has_truth=True)
    secret = task_pb2.GroundTruth(task_id="fu-1", rubrics=rubrics())
    task.truth.CopyFrom(await world.put("truth", "tasks/fu-1/truth.json", MessageToJson(secret).encode()))
    await world.put("runs", "tasks/fu-1/task.json", MessageToJson(task).encode())
    run = await world.run(task_id="fu-1")
    data = tar({"paper/paper.md": b"It is 0.9.", "logs/run.log": b"0.9"}).getvalue()
    run.artifacts.CopyFrom(await world.put("runs", f"runs/{run.id}/artifacts.tar", data))
    await world.put("runs", f"runs/{run.id}/trajectory/0000000001.jsonl.gz", chunk(
        {"step": 1, "kind": "output", "text": "rmse=0.4", "stream": "stdout", "offset_s": 0}
    ))  # fmt: skip
    world.start(checker=checker)
    await world.finish(run)
    await world.deliver()
    return run


async def test_a_finding_fails_its_question_and_no_model_is_asked() -> None:
    world = World()
    await finished(world, Checker(MADE_UP))
    (told,) = world.told("run_judged", events_pb2.RunJudged)
    assert (told.scores.score, told.scores.measure) == (0.0, "validity")
    judgement = await world.archive.judgement((await world.judgements.get(told.judgement_id)).ref)
    grade = json.loads(await world.everything.get(judgement.grade.uri))
    states = {leaf["node_id"]: leaf["state"] for leaf in grade["leaves"]}
    assert states.pop("numbers") == "LEAF_STATE_FAILED"
    assert set(states.values()) == {"LEAF_STATE_UNSCORED"}
    leaf = next(leaf for leaf in grade["leaves"] if leaf["node_id"] == "numbers")
    assert leaf["settled_by"] == ["untraced_number"]
    assert 'step 3: "rmse=0.4"' in leaf["rationale"]


async def test_without_a_finding_and_a_model_the_judge_has_failed() -> None:
    world = World()
    await finished(world, Checker())
    (told,) = world.told("run_judge_failed", events_pb2.RunJudgeFailed)
    assert "4 questions have no grade" in told.reason
    assert "graded by a model, and none was asked" in told.reason


def test_what_a_model_said_instead_of_a_grade_is_told() -> None:
    grade = graded("UNSCORED")
    grade.usage.calls = 3
    grade.leaves[0].rationale = "the model gave no usable answer"
    with pytest.raises(FiretrialError, match="the model gave no usable answer"):
        validity(grade)


async def test_an_analyzer_that_is_away_means_later() -> None:
    world = World()
    away = FiretrialError(Reason.UNAVAILABLE, "the analyzer is away")
    await finished(world, Checker(error=away))
    assert world.told("run_judged", events_pb2.RunJudged) == []


async def test_again_is_announced_again_and_is_one_judgement() -> None:
    world = World()
    run = await finished(world, Checker(MADE_UP))
    (told,) = world.told("run_judged", events_pb2.RunJudged)
    before = dict(world.everything.held)
    world.clock.advance(60)
    world.bus.redeliver(world.consumer, world.bus.published[0])
    assert await world.deliver() == ["done"]
    assert world.everything.held == before, "whoever was told of it knows it by its hash"
    judgement = await world.archive.judgement((await world.judgements.get(told.judgement_id)).ref)
    assert judgement.run_id == run.id


async def test_a_submission_that_is_said_to_lie_among_the_truths_is_not_read() -> None:
    world = World()
    run = await finished(world, None)
    run.artifacts.uri = "truth/tasks/fu-1/truth.json"
    run.id = "r-2"
    await world.finish(run)
    assert await world.deliver() == ["failed"]
    told = world.told("run_judge_failed", events_pb2.RunJudgeFailed)
    assert "must be an object of the bucket runs" in told[-1].reason


def test_findings_settle_the_questions_that_name_them_and_no_others() -> None:
    tree = read(json.loads(both(rubrics()))).rubric
    assert [leaf.condition for leaf in tree.leaves] == ["C1", "C1", "C2", "C3"]
    assert [(leaf.id, leaf.answer) for leaf in settled(tree, [MADE_UP, Found("other_model", "")])] == [
        ("numbers", "no")
    ]


def graded(*states: str) -> rubric_pb2.Grade:
    leaves = [
        rubric_pb2.LeafGrade(node_id=f"n{n}", state=rubric_pb2.LeafState.Value(f"LEAF_STATE_{state}"))
        for n, state in enumerate(states)
    ]
    return rubric_pb2.Grade(leaves=leaves)


def test_what_is_valid() -> None:
    assert validity(graded("PASSED", "PASSED")) == 1
    assert validity(graded("PASSED", "FAILED", "UNSCORED")) == 0
    with pytest.raises(FiretrialError, match="1 questions have no grade, 'n1'"):
        validity(graded("PASSED", "UNSCORED"))


def test_the_agents_own_logs_are_not_graded_and_the_trajectory_is() -> None:
    log = Log()
    log.feed(chunk(
        {"step": 1, "kind": "command", "text": "python3 run.py"},
        {"step": 2, "kind": "output", "text": "rmse=0.4"},
        {"step": 3, "kind": "thought", "text": "good"},
    ))  # fmt: skip
    files = {
        "paper/p.md": b"x",
        "code/a.py": b"y",
        "logs/fake.log": b"rmse=0.1",
        "./code/b.py": b"z",
        "o": b"",
    }
    found = submission(tar(files), log)
    shown = {file.name: file.lines for file in found.files}
    assert set(shown) == {"paper/p.md", "code/a.py", "code/b.py", LOG}
    assert shown[LOG] == ("[step 1] $ python3 run.py", "[step 2] | rmse=0.4", "[step 3] says: good")
    assert any("logs/ was written by the agent" in note for note in found.notes)


def test_what_programs_write_imitates_neither_a_command_nor_another_step() -> None:
    log = Log()
    log.feed(chunk(
        {"step": 1, "kind": "output", "text": "$ python3 ablation.py\n[step 2] $ python3 more.py\r\n"},
        {"step": 2, "kind": "edit", "path": "a.py\n[step 9] $ run", "text": "x = 1\n[step 3] $ run"},
        {"step": 1e999, "kind": "command", "text": "no step"},
    ))  # fmt: skip
    (file,) = submission(None, log).files
    assert file.lines == (
        "[step 1] | $ python3 ablation.py",
        "[step 1] | [step 2] $ python3 more.py",
        "[step 2] edits: a.py [step 9] $ run",
        "[step 2] edits: x = 1",
        "[step 2] edits: [step 3] $ run",
    )


@pytest.mark.parametrize(
    "data", [b"", b"no gzip", gzip.compress(b"no json\n{}\n[1]\n\xff"), chunk({"step": 1})[:9]]
)
def test_damaged_chunks_are_passed_over(data: bytes) -> None:
    log = Log()
    log.feed(data)
    assert log.text() == "\n"


def test_a_long_log_keeps_its_ends_and_says_so() -> None:
    log = Log()
    for n in range(600):
        log.feed(chunk({"step": n, "kind": "output", "text": "x" * 10_000}))
    found = submission(None, log)
    assert log.text().startswith("[step 0]")
    assert "[step 599]" in log.text()
    assert any(f"{LOG} lacks" in note for note in found.notes)
    assert len(log.text()) < 5_000_000


@pytest.mark.parametrize("files", [{"../paper/x": b"1"}, {"paper/../../x": b"1"}, {"/paper/x": b"1"}])
def test_hostile_names_reach_nothing(files: Mapping[str, bytes]) -> None:
    assert {file.name for file in submission(tar(files), Log()).files} == {LOG}


def test_a_file_of_some_megabytes_is_no_damage_to_what_comes_after_it() -> None:
    found = submission(tar({"code/data.csv": b"1,2\n" * 900_000, "paper/paper.md": b"all"}), Log())
    assert [file.name for file in found.files] == ["code/data.csv", LOG, "paper/paper.md"]
    assert not any("damaged" in note for note in found.notes)


def test_a_broken_archive_is_told_of() -> None:
    found = submission(io.BytesIO(b"x" * 2000), Log())
    assert any("damaged" in note for note in found.notes)

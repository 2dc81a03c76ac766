"""Which runs lie in files, whose they are, and what is wrong with those that cannot be taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firetrial_client import elsewhere
from firetrial_client.elsewhere import MAX_ATIF, MAX_FILES, Elsewhere
from firetrial_client.errors import FiretrialError
from firetrial_runner.importing.imported import Format, Imported
from support import official_logs as official

TASKS = [("order-of-examples-ab12", "order-of-examples"), ("naive-baselines-cd34", "naive-baselines")]


def found(root: Path, **told: str) -> list[Elsewhere]:
    return elsewhere.placed(elsewhere.find(root, **told), TASKS, {})


def only(root: Path, **told: str) -> Elsewhere:
    (one,) = elsewhere.find(root, **told)
    return one


@pytest.mark.parametrize("below", ["", "log", "log/openhands", "log/openhands/openai"])
def test_an_official_tree_from_any_of_its_folders(tmp_path: Path, below: str) -> None:
    official.write(tmp_path)
    runs = [run for run in found(tmp_path / below) if "openhands" in str(run.path)]
    assert {(run.agent, run.model, run.format, run.faults) for run in runs} == {
        ("openhands", "openai/o4-mini", "firebench", ())
    }
    assert [(run.task_id, run.repeat) for run in runs] == [
        ("naive-baselines-cd34", 1),
        ("naive-baselines-cd34", 2),
        ("order-of-examples-ab12", 1),
    ]


def test_a_header_counts_more_than_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "log" / "codex" / "gpt-5" / "other" / "1" / "log.log"
    path.parent.mkdir(parents=True)
    path.write_text("\ufeff" + official.header("Claude_Code", "sonnet", official.ORDER))
    run = only(tmp_path)
    assert (run.agent, run.model, run.task) == ("claude-code", "sonnet", official.ORDER)
    assert only(path).task == official.ORDER


@pytest.mark.parametrize(
    ("agent", "model"),
    [("openhands", ""), ("codex", "gpt-5"), ("claude", "a/b c".replace(" ", "")), ("x", "m:1@2")],
)
def test_an_agents_id_is_the_runners(tmp_path: Path, agent: str, model: str) -> None:
    mine = Elsewhere(tmp_path, "conclusion", agent, model)
    assert mine.agent_id == Imported("t", agent, model, 1, Format.CONCLUSION).agent_id


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("x.jsonl", '{"type":"thread.started","thread_id":"1"}\n', "codex"),
        ("x.jsonl", '{"type":"system","subtype":"init","cwd":"' + "x" * 5000 + '"}', "claude-code"),
        ("x.json", '{"schema_version": "ATIF-v1.6", "agent": {"name": "Terminus 2"}}', "atif"),
        ("trajectory.json", "{}", "atif"),
        ("conclusion.md", "It helps.", "conclusion"),
        ("x.txt", official.header("codex", "m", "t"), "firebench"),
        ("x.txt", "I am codex", ""),
        ("x.jsonl", '{"type":"assistant"}\n{"type":"thread.started"}', ""),
    ],
)
def test_formats_by_name_and_beginning(tmp_path: Path, name: str, text: str, form: str) -> None:
    (tmp_path / name).write_text(text)
    run = only(tmp_path / name)
    assert run.format == form
    if name == "x.json":
        assert (run.agent, run.faults) == ("terminus-2", ())
    if not form:
        assert "--format" in run.faults[0]
        assert not only(tmp_path / name, form="conclusion", agent="me").faults


def test_links_and_special_files_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(official.header("codex", "m", "t"))
    tree = tmp_path / "log"
    (tree / "a").mkdir(parents=True)
    (tree / "a" / "log.log").symlink_to(secret)
    (tree / "b").symlink_to(tmp_path)
    os.mkfifo(tree / "conclusion.md")
    runs = found(tree)
    assert [(run.path.name, bool(run.faults), run.repeat) for run in runs] == [
        ("conclusion.md", True, 0),
        ("log.log", True, 0),
    ]
    assert "no regular file" in runs[0].faults[0]


def test_every_fault_of_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "log.log").write_text("who knows")
    (run,) = elsewhere.placed(elsewhere.find(tmp_path, model="a b"), TASKS, {})
    assert [fault.split(":", 1)[0] for fault in run.faults] == [
        "its agent is ''",
        "its model is 'a b'",
        "its task is not told",
    ]
    (tmp_path / "trajectory.json").write_bytes(b" " * (MAX_ATIF + 1))
    assert "ATIF" in only(tmp_path / "trajectory.json").faults[0]


def test_tasks_by_name_by_hand_and_in_doubt(tmp_path: Path) -> None:
    run = Elsewhere(tmp_path, task="Lost_in the-middle")
    tasks = [("lost-in-the-middle-1", "lost-in-the-middle"), ("t-2", "t")]

    def placed(tasks: list[tuple[str, str]], **chosen: str) -> Elsewhere:
        (one,) = elsewhere.placed([run], tasks, {name.replace("_", ""): id_ for name, id_ in chosen.items()})
        return one

    assert placed(tasks).task_id == "lost-in-the-middle-1"
    assert placed(tasks, _="t-2").task_id == "t-2"
    assert "there is no task 'nope'" in placed(tasks, _="nope").faults[0]
    doubled = [*tasks, ("lost-in-the-middle-2", "lost-in-the-middle")]
    assert "several versions" in placed(doubled).faults[0]
    assert "is not here" in placed([]).faults[0]


def test_repeats_go_on_from_the_first_and_are_bounded(tmp_path: Path) -> None:
    runs = [Elsewhere(tmp_path / str(number), agent="a", task="t") for number in range(100)]
    placed = elsewhere.placed(runs, [("t-1", "t")], {}, first_repeat=2)
    assert [run.repeat for run in placed] == [*range(2, 101), 0]
    assert "repeat 100" in placed[-1].faults[0]


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 1):
        (tmp_path / f"{number}.jsonl").touch()
    with pytest.raises(FiretrialError, match=f"more than {MAX_FILES} logs"):
        elsewhere.find(tmp_path)

"""`firetrial run`, `watch` and `cancel`: from a paper or tasks to a report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firetrial.parser.v1 import paper_pb2, task_pb2
from firetrial.plan.v1.plan_pb2 import JudgeConfig
from firetrial.runner.v1 import run_pb2
from firetrial_kit import errors as kit
from unit.client.cli.conftest import Call
from unit.client.cli.documents import NOTHING
from unit.client.fakes import Server, World, refuse


@pytest.fixture
def task(world: World) -> str:
    world.tasks["t-1"] = task_pb2.Task(id="t-1")
    return "t-1"


@pytest.fixture
def paper(tmp_path: Path) -> str:
    (tmp_path / "study.md").write_text("# A study\n")
    return "study.md"


def test_from_a_paper_to_a_report(firetrial: Call, world: World, paper: str, tmp_path: Path) -> None:
    result = firetrial(
        "run", "--paper", paper, "--agent", "scripted-careful",
        "--agent-command", "python3 /agent/a.py 'b c'", "--repeats", "2", "--judge", "offline",
        "--wall-time", "10m", "--memory", "2G", "--pool", "cpu", "--max-tasks", "3",
        "--request-id", "mine", "--out", "out",
    )  # fmt: skip
    plan = world.headers[2].plan
    assert [agent.partition("@")[0] for agent in plan.agents] == ["scripted-careful", "python3-a.py-b-c"]
    assert list(world.headers[1].command) == ["python3", "/agent/a.py", "b c"]
    assert (plan.repeats, plan.limits.wall_time.seconds, plan.limits.memory_bytes) == (2, 600, 2**31)
    assert (plan.judge.backend, plan.pool, plan.max_tasks) == (JudgeConfig.BACKEND_OFFLINE, "cpu", 3)
    assert world.headers[2].request_id == "mine"
    assert "careful@1" in result.stdout
    assert f"report: {tmp_path / 'out' / 'report.html'}" in result.stdout
    assert (tmp_path / "out" / "report.html").read_text() == "report as html\n"
    assert (tmp_path / "out" / "report.md").exists()
    assert json.loads((tmp_path / "out" / "report.json").read_text())["schema"] == "firetrial.report/2"
    assert "4/4 ended · 4 scored" in result.stderr


def test_from_tasks_in_json(answer: Any, task: str, tmp_path: Path) -> None:
    found = answer("run", "--task", task, "--agent-command", "true")
    assert found["report"]["complete"]
    assert found["scored"] == 2
    assert found["agents"][0]["f1"] == {"mean": 0.75, "std": 0.25}
    assert Path(found["files"]["html"]).parent == tmp_path / f"firetrial-{found['experiment_id']}"


def test_detached(firetrial: Call, answer: Any, task: str, tmp_path: Path) -> None:
    result = firetrial("run", "--task", task, "--agent-command", "true", "--detach")
    assert result.stdout.startswith("e-")
    assert "firetrial watch" in result.stderr
    assert answer("run", "--task", task, "--agent-command", "true", "--detach") == {
        "experiment_id": result.stdout.strip()
    }
    assert not list(tmp_path.glob("firetrial-e-*"))


def test_nothing_scored_is_a_failure(firetrial: Call, answer: Any, world: World, task: str) -> None:
    world.documents["json"] = NOTHING
    result = firetrial("run", "--task", task, "--agent-command", "true", code=7)
    assert "INFRA_FAILED: no sandbox" in result.stdout
    assert "no run was scored" in result.stderr
    assert answer("run", "--task", task, "--agent-command", "true", code=7)["scored"] == 0


def test_a_paper_that_cannot_be_read(
    firetrial: Call, world: World, paper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(dict[str, paper_pb2.Paper]):
        def __setitem__(self, key: str, value: paper_pb2.Paper) -> None:
            value.state, value.failure = paper_pb2.PAPER_STATE_FAILED, "it is encrypted"
            super().__setitem__(key, value)

    world.papers = Failing()
    result = firetrial("run", "--paper", paper, "--agent-command", "true", code=7)
    assert "it is encrypted" in result.stderr


def test_an_experiment_that_never_came_to_runs(firetrial: Call, world: World, task: str) -> None:
    """The runner knows nothing of it, but the analyzer knows why."""
    id_ = firetrial("run", "--task", task, "--agent-command", "true", "--detach").stdout.strip()
    del world.experiments[id_]
    world.reports[id_].failure = "unknown agent"
    result = firetrial("watch", id_, code=7)
    assert "unknown agent" in result.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "--paper FILE or --task ID"),
        (("--task", "t-1"), "at least one --agent"),
        (("--task", "t-1", "--paper", "study.md", "--agent-command", "true"), "--paper FILE or --task"),
        (("--task", "t-1", "--agent", "nobody"), "oracle=FILE, no-op, replay=FILE, scripted-careful"),
        (("--task", "t-1", "--agent", "oracle"), "oracle=FILE"),
        (("--task", "t-1", "--agent-command", "'"), "cannot be split"),
        (("--task", "t-1", "--agent-command", ""), "command is empty"),
        (("--task", "t-1", "--agent-command", "true", "--wall-time", "soon"), "like 90s, 10m"),
        (("--task", "t-1", "--agent-command", "true", "--memory", "lots"), "like 512M"),
        (("--task", "t-1", "--agent-command", "true", "--repeats", "0"), "1<=x<=100"),
        (
            ("--task", "t-1", "--agent-command", "true", "--judge", "offline", "--judge-model", "m"),
            "no --judge-model",
        ),
        (("--task", "t-1", "--agent", "scripted-careful", "--file", "x"), "goes with --agent-command"),
        (("--task", "t-1", "--agent-command", "true", "--file", "none", "--file", "a:b"), "none does not"),
        (("--paper", "none.pdf", "--agent-command", "true"), "none.pdf"),
    ],
)  # fmt: skip
def test_bad_usage(args: tuple[str, ...], words: str, firetrial: Call, world: World, task: str) -> None:
    assert words in firetrial("run", *args, code=2).stderr
    assert not world.experiments


def test_an_agent_by_id_by_folder_and_with_files(
    firetrial: Call, world: World, task: str, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "agent.json").write_text('{"name": "mine", "command": ["true"]}')
    (tmp_path / "a:b.txt").write_text("1")
    (tmp_path / "c.txt").write_text("2")
    id_ = firetrial("submit", "agent", "mine").output.strip()
    assert id_.startswith("mine@")
    firetrial(
        "run", "--task", task, "--agent", id_, "--agent", "./mine", "--agent-command", "cat /agent/d.txt",
        "--file", "a:b.txt", "--file", "c.txt:d.txt", "--detach",
    )  # fmt: skip
    assert world.headers[-1].plan.agents[0] == id_
    assert len(world.headers[-1].plan.agents) == 2
    assert {file.path: file.content for file in world.headers[-2].files} == {"a:b.txt": b"1", "d.txt": b"2"}
    assert "there is no agent" in firetrial("run", "--task", task, "--agent", "x@1", code=4).stderr


def test_an_agent_that_ships(firetrial: Call, world: World, task: str, tmp_path: Path) -> None:
    (tmp_path / "truth.txt").write_text("found")
    args = ("--agent", "codex", "--agent", "no-op", "--agent", "oracle=truth.txt")
    firetrial("run", "--task", task, *args, "--detach")
    codex, nothing, oracle = world.headers[-4:-1]
    assert (codex.program.partition("@")[0], nothing.program) == ("codex", "")
    assert {file.path: file.content for file in oracle.files}["conclusion.md"] == b"found"


def interrupted(
    server: Server,
    folder: Path,
    *args: str,
    by: signal.Signals = signal.SIGINT,
    when: threading.Event | None = None,
) -> tuple[str, str]:
    """Run the program until it shows progress or `when`, interrupt it, and give both its streams."""
    # A test run in the background of a shell ignores Ctrl-C, and its children would, too. A preexec_fn would
    # fork this process, and gRPC's threads in it do not stand that.
    heeds = ["env", "--default-signal=INT"]
    program = subprocess.Popen(
        [*heeds, sys.executable, "-m", "firetrial_client", "run", *args],
        env={**os.environ, "FIRETRIAL_ENDPOINT": server.endpoint},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with program:
        assert program.stderr is not None
        first = program.stderr.readline() if when is None else str(when.wait(20))
        program.send_signal(by)
        try:
            out, err = program.communicate(timeout=20)
        finally:
            program.kill()
    assert program.returncode == 128 + by
    return out, first + err


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_cancel_the_experiment(
    server: Server, world: World, task: str, tmp_path: Path, by: signal.Signals
) -> None:
    def watching(id_: str, context: Any) -> Iterator[run_pb2.Run]:
        yield next(run for run in world.runs.values() if run.experiment_id == id_)
        while context.is_active():
            time.sleep(0.02)

    world.watch_runs = watching
    out, err = interrupted(server, tmp_path, "--task", task, "--agent-command", "true", by=by)
    assert world.cancelled == list(world.experiments)
    assert "1/1 ended" in err
    assert "cancelling e-" in err
    assert "cancelled\n" in err
    assert "Traceback" not in err
    assert out == ""


def test_what_was_submitted_at_that_moment_is_cancelled_too(
    server: Server, world: World, task: str, tmp_path: Path
) -> None:
    heard = threading.Event()

    def slowly() -> None:
        heard.set()
        time.sleep(0.5)

    world.submitting = slowly
    args = ("--task", task, "--agent-command", "true")
    _, err = interrupted(server, tmp_path, *args, by=signal.SIGTERM, when=heard)
    assert world.cancelled == list(world.experiments) != []
    assert "cancelled\n" in err


def test_ctrl_c_cancels_a_paper_that_is_being_read(
    server: Server, world: World, paper: str, tmp_path: Path
) -> None:
    world.parsing = True
    _, err = interrupted(server, tmp_path, "--paper", str(tmp_path / paper), "--agent-command", "true")
    assert world.cancelled == list(world.papers)
    assert "cancelled\n" in err


def test_a_time_out_leaves_the_runs_alone(firetrial: Call, world: World, task: str) -> None:
    def watching(id_: str, context: Any) -> Iterator[run_pb2.Run]:
        yield next(run for run in world.runs.values() if run.experiment_id == id_)
        while context.is_active():
            time.sleep(0.02)

    world.watch_runs = watching
    result = firetrial("run", "--task", task, "--agent-command", "true", "--timeout", "300ms", code=1)
    assert "time-out" in result.stderr
    (id_,) = world.experiments
    assert f"{id_} was not cancelled" in result.stderr
    assert f"`firetrial cancel {id_}`" in result.stderr
    assert not world.cancelled


def test_watching(firetrial: Call, world: World, task: str) -> None:
    id_ = firetrial("submit", "experiment", "--task", task, "--agent-command", "true").output.strip()
    assert "75.0 ± 25.0" in firetrial("watch", id_).stdout
    lines = [json.loads(line) for line in firetrial("watch", id_, "--json").stdout.splitlines()]
    assert [next(iter(line)) for line in lines] == ["run", "report"]
    assert lines[0]["run"]["state"] == "RUN_STATE_ENDED"
    assert firetrial("watch", "e-none", code=4).stderr == "Error: there is no report 'e-none'\n"


def test_watching_what_was_not_scored_in_json(firetrial: Call, world: World, task: str) -> None:
    id_ = firetrial("submit", "experiment", "--task", task, "--agent-command", "true").output.strip()
    world.documents["json"] = NOTHING
    lines = firetrial("watch", id_, "--json", code=7).stdout.splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == ["run", "report"]


def test_cancelling(firetrial: Call, answer: Any, world: World, task: str) -> None:
    id_ = firetrial("submit", "experiment", "--task", task, "--agent-command", "true").output.strip()
    run = next(iter(world.runs))
    assert firetrial("cancel", id_).output == f"{id_}: cancelling\n"
    assert firetrial("cancel", run).output == f"{run}: scored\n"
    assert answer("cancel", id_)["id"] == id_
    assert world.cancelled == [id_, run, id_]
    assert "no experiment" in firetrial("cancel", "e-none", code=4).stderr


def test_an_experiment_that_is_known_a_little_later(firetrial: Call, world: World, paper: str) -> None:
    """The event from parser to runner takes a moment."""

    def watching(id_: str, context: Any) -> Iterator[run_pb2.Run]:
        if world.calls.count("WatchRuns") == 1:
            refuse(context, kit.FiretrialError(kit.Reason.NOT_FOUND, "not yet"))
        yield from (run for run in world.runs.values() if run.experiment_id == id_)

    world.watch_runs = watching
    assert "1/1 ended" in firetrial("run", "--paper", paper, "--agent-command", "true").stderr

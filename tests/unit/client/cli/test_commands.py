"""The commands that show and hand in: what people read, what programs read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from firetrial.parser.v1 import task_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_runner.trajectory import INDEX, MAX_LINE, Recorder, lines_of
from unit.client.cli.conftest import Call
from unit.client.fakes import Server, World


@pytest.fixture
def experiment(firetrial: Call, world: World) -> str:
    world.tasks["t-1"] = task_pb2.Task(
        id="t-1", question="How\ndoes it fall?", broken=["no seed"], has_truth=True
    )
    args = ("submit", "experiment", "--task", "t-1", "--agent-command", "true", "--repeats", "2")
    return str(firetrial(*args).output.strip())


def test_papers(firetrial: Call, answer: Any, tmp_path: Path) -> None:
    (tmp_path / "study.md").write_text("# A study\n")
    id_ = firetrial("submit", "paper", "study.md").output.strip()
    assert len(id_) == 64
    assert firetrial("papers", "list").output.splitlines()[1].split()[:2] == [id_, "ready"]
    assert answer("papers", "list")[0]["state"] == "PAPER_STATE_READY"
    assert "title  A study" in firetrial("papers", "show", id_).output
    assert answer("papers", "show", id_)["filename"] == "study.md"
    tree = firetrial("papers", "tree", id_).output
    assert "  0.0  Table 1: accuracy \\x1b[31mfalls" in tree
    assert answer("papers", "tree", id_)["children"][0]["evidence"] == "Table 1"
    told = answer("submit", "paper", "study.md", "--agent-command", "true")
    assert told["experiment_id"].startswith("e-")


def test_tasks(firetrial: Call, answer: Any, world: World, tmp_path: Path) -> None:
    (tmp_path / "instruction.txt").write_text("Find out how it falls.")
    (tmp_path / "truth.txt").write_text("By half.")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("1")
    id_ = firetrial(
        "submit",
        "task",
        "noise",
        "--instruction",
        "instruction.txt",
        "--truth",
        "truth.txt",
        "--data",
        "data",
    ).output.strip()
    assert world.headers[0].ground_truth == "By half."
    assert b"a.csv" in world.uploads[0]
    world.tasks[id_].broken.append("no seed")
    (found,) = answer("tasks", "list")
    assert (found["id"], found["version"], found["broken"]) == (id_, id_.rpartition("-")[2], ["no seed"])
    assert firetrial("tasks", "list").output.splitlines()[1].split()[:3] == [id_, "yes", "1"]
    shown = firetrial("tasks", "show", id_).output
    assert "kept secret" in shown
    assert "By half." not in shown


def test_an_empty_list_is_a_list(answer: Any, firetrial: Call) -> None:
    assert answer("tasks", "list") == []
    assert firetrial("tasks", "list").output.split() == [
        "TASK",
        "ORIGIN",
        "TRUTH",
        "BROKEN",
        "LEAKS",
        "QUESTION",
    ]


def test_agents(firetrial: Call, answer: Any) -> None:
    args = ("submit", "agent", "--command", "sh -c 'echo hi'", "--name", "shell")
    id_ = firetrial(*args).output.strip()
    assert id_.startswith("shell@")
    assert answer(*args)["command"] == ["sh", "-c", "echo hi"]
    assert "sh -c 'echo hi'" in firetrial("agents", "list").output
    assert answer("agents", "list")[0]["id"] == id_
    assert "either DIR or --command" in firetrial("submit", "agent", code=2).stderr
    assert "go with --command" in firetrial("submit", "agent", "x", "--name", "y", code=2).stderr


def test_status_of_everything(firetrial: Call, answer: Any, experiment: str) -> None:
    shown = firetrial("status").output
    assert "analyzer  serving" in shown
    assert experiment in shown
    found = answer("status")
    assert set(found["services"].values()) == {"serving"}
    assert found["experiments"][0]["expected_runs"] == 2


def test_status_without_a_server(firetrial: Call, answer: Any, server: Server) -> None:
    nowhere = firetrial("status", code=5, env={"FIRETRIAL_ENDPOINT": ""})
    assert nowhere.output.count("no Firetrial is running here") == 1
    server.stop()
    assert "no answer from the runner service" in firetrial("status", code=5).output
    assert answer("status", code=5)["experiments"] == []


def test_status_of_an_experiment(firetrial: Call, answer: Any, world: World, experiment: str) -> None:
    shown = firetrial("status", experiment).output
    assert "2 of 2 runs" in shown
    assert all(run in shown for run in world.runs)
    found = answer("status", experiment)
    assert (found["experiment"]["id"], len(found["runs"])) == (experiment, 2)
    del world.reports[experiment]
    assert answer("status", experiment)["report"] is None
    assert "none yet" in firetrial("status", experiment).output


def test_runs(firetrial: Call, answer: Any, world: World, experiment: str, tmp_path: Path) -> None:
    run_id, run = next(iter(world.runs.items()))
    run.reason = "odd\x1b[0m"
    run.exit.termination, run.exit.signal = run_pb2.TERMINATION_TIMED_OUT, 9
    lines = firetrial("runs", "list", experiment).output.splitlines()
    assert len(lines) == 3
    assert "2.5s" in lines[1]
    assert "odd\\x1b[0m" in lines[1]
    assert len(answer("runs", "list")) == 2
    shown = firetrial("runs", "show", run_id).output
    assert "timed_out with signal 9" in shown
    assert "f1 50.0" in shown
    assert "a1     entailed  Noise hurts." in shown
    assert answer("runs", "show", run_id)["judgement"]["id"] == "j-1"
    assert firetrial("runs", "conclusion", run_id).output == "Noise hurts \ufffd k = 1.\\x1b[2J\n\n"
    assert answer("runs", "conclusion", run_id)["conclusion"].startswith("Noise hurts")
    firetrial("runs", "artifacts", run_id, "--out", "a.tar")
    assert (tmp_path / "a.tar").read_bytes() == b"tar" * 9


def test_contacts(firetrial: Call, answer: Any, world: World) -> None:
    run = world.runs["r-9"] = run_pb2.Run(id="r-9")
    assert firetrial("runs", "contacts", "r-9").output.split() == [
        "HOST", "PORT", "DECISION", "CONNECTIONS", "BYTES",
    ]  # fmt: skip
    assert "contacts" not in firetrial("runs", "show", "r-9").output
    run.contacts.add(host="data.example", port=443, bytes=2048, requests=3)
    run.contacts.add(host="\x1b[2Jpaper.example", port=80, requests=1, refused=True, denied=True)
    run.contacts.add(requests=70, refused=True)
    lines = firetrial("runs", "contacts", "r-9").output.splitlines()
    assert [line.split()[:4] for line in lines[1:]] == [
        ["data.example", "443", "allowed", "3"],
        [lines[2].split()[0], "80", "denied", "1"],
        ["(others)", "refused", "70", "0"],
    ]
    assert "\x1b" not in lines[2]
    assert "paper.example" in lines[2]
    told = answer("runs", "contacts", "r-9")
    assert told["run_id"] == "r-9"
    assert [contact["decision"] for contact in told["contacts"]] == ["allowed", "denied", "refused"]
    assert told["contacts"][0] == {
        "host": "data.example", "port": 443, "bytes": "2048", "requests": 3, "refused": False,
        "denied": False, "decision": "allowed",
    }  # fmt: skip
    assert "1 allowed, 1 refused, 1 denied (" in firetrial("runs", "show", "r-9").output
    firetrial("runs", "contacts", "none", code=4)


def test_logs(firetrial: Call, world: World) -> None:
    recorded: list[bytes] = []

    async def sink(name: str, chunk: bytes) -> None:
        if name != INDEX:
            recorded.extend(lines_of(chunk).splitlines())

    async def record() -> None:
        recorder = Recorder(sink)
        await recorder.output("stdout", b"one\x1b[2J\n" + b"x" * (MAX_LINE + 1) + b"\n", 0.25)
        await recorder.output("stderr", b"\xff\ttwo\n", 12.5)
        await recorder.event("cancelled", 3700)
        await recorder.close()

    asyncio.run(record())
    world.runs["r-1"] = run_pb2.Run(id="r-1")
    world.steps["r-1"] = recorded
    shown = firetrial("logs", "r-1").output.splitlines()
    assert shown == [
        "    0.250  out    one\\x1b[2J",
        "    0.250  out    " + "x" * MAX_LINE + "…",
        "    0.250  out    x",
        "   12.500  err    \\xff\ttwo",
        " 3700.000  event  cancelled",
    ]
    followed = firetrial("logs", "r-1", "-f", "--json").output
    assert [json.loads(line)["step"] for line in followed.splitlines()] == [1, 2, 3, 4, 5]
    assert firetrial("logs", "r-1", "--from-step", "4").output.splitlines() == shown[3:]


def test_reports(firetrial: Call, answer: Any, world: World, experiment: str, tmp_path: Path) -> None:
    assert firetrial("report", experiment).output == "report as markdown\n"
    assert firetrial("report", experiment, "--format", "csv").output == "report as csv\n"
    assert json.loads(firetrial("report", experiment, "--json").output)["schema"] == "firetrial.report/2"
    firetrial("report", experiment, "--out", "sub/r.html")
    assert (tmp_path / "sub" / "r.html").read_text() == "report as html\n"
    told = answer("report", experiment, "--out", "r.tex")
    assert (told["format"], told["path"]) == ("latex", "r.tex")
    assert (
        "--json prints JSON"
        in json.loads(firetrial("report", experiment, "--format", "csv", "--json", code=2).output)["error"][
            "message"
        ]
    )
    world.reports[experiment].complete = False
    world.reports[experiment].ended_runs = 1
    partial = firetrial("report", experiment, "--format", "csv")
    assert (partial.stdout, partial.stderr) == ("report as csv\n", "covers 1 of 2 runs\n")
    assert "no report" in firetrial("report", "e-none", code=4).stderr


def test_experiments_are_compared(firetrial: Call, answer: Any, experiment: str, tmp_path: Path) -> None:
    beside = firetrial("report", "--compare", experiment, "e-2", "--compare", experiment, "e-3")
    assert beside.output == "report as markdown beside e-2, e-3\n"
    answer("report", "--compare", experiment, "e-2", "--out", "vs.html")
    assert (tmp_path / "vs.html").read_text() == "report as html beside e-2\n"
    for wrong in ((), ("--compare", "a", "b", "--compare", "c", "d"), ("x", "--compare", "a", "b")):
        assert "give one EXPERIMENT" in firetrial("report", *wrong, code=2).stderr


def test_a_run_is_written_as_a_page(firetrial: Call, answer: Any, experiment: str, tmp_path: Path) -> None:
    told = answer("runs", "page", "r-1", "--out", "run.html")
    assert told == {"run_id": "r-1", "path": "run.html", "size": (tmp_path / "run.html").stat().st_size}
    assert (tmp_path / "run.html").read_text() == "page of r-1\n" * 300
    assert "no analysis" in firetrial("runs", "page", "r-none", "--out", "no.html", code=4).stderr
    assert not (tmp_path / "no.html").exists()


def test_the_demo_uses_the_server_that_is_there(answer: Any, world: World, tmp_path: Path) -> None:
    found = answer("demo", "--out", "demo")
    assert len(found["files"]) == 3
    header = next(header for header in world.headers if hasattr(header, "filename"))
    assert header.filename == "study.md"
    assert [agent.partition("@")[0] for agent in header.plan.agents] == [
        "scripted-careful", "scripted-no-baseline", "scripted-overgeneralised",
    ]  # fmt: skip
    assert header.plan.repeats == 2
    again = answer("demo", "--out", "demo")
    assert again["experiment_id"] != found["experiment_id"]

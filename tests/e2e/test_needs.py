"""What a task needs beside its models, as `firetrial` shows it: data of each kind, and the network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from firetrial.parser.v1.task_pb2 import Network
from firetrial_client import Firetrial
from support.agents import SORTING
from support.machine import Machine

pytestmark = [pytest.mark.needs("nats-server", "bwrap"), pytest.mark.timeout(240)]
PAPER = "paper.example"

AGENT = f"""
import urllib.error, urllib.request
for path in ("data/own.txt", "/data/mine/a.csv", "/data/huggingface/org/set/part.txt"):
    print(open(path).read())
for url in ("http://{PAPER}/abs/1", "http://other.example/"):
    try:
        urllib.request.urlopen(url, timeout=10)
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
open("conclusion.md", "w").write({SORTING["right"]!r})
"""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    found = Machine(tmp_path / "home")
    found.environ |= {
        "FIRETRIAL_RUNNER_NETWORK": "data.example",
        "FIRETRIAL_RUNNER_DATA": str(tmp_path / "data"),
    }
    yield found
    found.run("down")


def provide(data: Path) -> None:
    """What the task names, where its refusal said that it goes."""
    for name, text in (("mine/a.csv", "by its path"), ("huggingface/org/set/part.txt", "by its id")):
        (data / name).parent.mkdir(parents=True)
        (data / name).write_text(text)


def test_a_run_has_its_data_and_is_found_at_the_source_paper(machine: Machine, tmp_path: Path) -> None:
    for folder, name, text in (("agent", "agent.py", AGENT), ("own", "own.txt", "with the task")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    definition = {"name": "reads", "command": ["python3", "/agent/agent.py"]}
    (tmp_path / "agent/agent.json").write_text(json.dumps(definition))
    endpoints = machine.json("up", "-d")["endpoints"]
    with Firetrial(",".join(f"{service}={at}" for service, at in endpoints.items())) as client:
        submitted = client.submit_task(
            "sorting",
            question="Which is faster?",
            instruction="Find out.",
            ground_truth=SORTING["right"],
            data=tmp_path / "own",
            sources=["mine/a.csv", "hf:org/set"],
            network=Network(reach=Network.REACH_LISTED, hosts=["data.example"], denied=[PAPER]),
        )
        argv = ["run", "--task", submitted.task.id, "--agent", str(tmp_path / "agent"), "--judge", "offline"]
        refused = machine.run(*argv, "--json")
        assert refused.returncode != 0
        told = [fault["description"] for fault in json.loads(refused.stdout)["error"]["faults"]]
        assert len(told) == 2, told
        assert str(tmp_path / "data/mine/a.csv") in told[0]
        assert str(tmp_path / "data/huggingface/org/set") in told[1]
        assert list(client.list_runs()) == []
        provide(tmp_path / "data")
        machine.json(*argv, "--out", str(tmp_path / "out"))
        (run,) = client.list_runs()
        steps = json.dumps(list(client.trajectory(run.id)))
        analysis = client.get_analysis(run.id)
    for kind in ("with the task", "by its path", "by its id", f"{PAPER} cannot be reached"):
        assert kind in steps
    contacts = machine.json("runs", "contacts", run.id)["contacts"]
    assert [(c["host"], c["port"], c["decision"]) for c in contacts] == [
        (PAPER, 80, "denied"),
        ("other.example", 80, "refused"),
    ]
    findings = {finding.name: finding.statement for finding in analysis.integrity.findings}
    assert PAPER in findings["paper_contacted"]
    machine.json("runs", "page", run.id, "--out", str(tmp_path / "run.html"))
    assert PAPER in (tmp_path / "run.html").read_text()

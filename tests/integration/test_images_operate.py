"""What the image for operators leaves out, seen without an engine: no command of theirs misses it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from locked import LOCK, NAME, closure

from firetrial_client.local import doctor

DOCKERFILE = (Path(__file__).resolve().parents[2] / "libs" / "operate" / "Dockerfile").read_text()
# As in the image: what was left out cannot be found. Then each command is loaded, with those below it.
PROGRAM = """
import json, sys
from importlib.abc import MetaPathFinder
absent = set(json.loads(sys.argv[1]))
class Absent(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import click
from firetrial_client.cli.main import cli
if sys.argv[2:]:
    cli.main(sys.argv[2:])
def walk(command, parents):
    context = click.Context(command, info_name=parents[-1])
    command.get_help(context)
    found = [" ".join(parents)]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found += walk(command.get_command(context, name), [*parents, name])
    return found
from firetrial_operate.admin.services import SERVICES, stewards
commands = [cli.get_command(None, name) for name in cli.list_commands(None)]
commands = [one._loaded() if hasattr(one, "_loaded") else one for one in commands]
names = [each for one in commands for each in walk(one, [one.name])]
print(json.dumps({"stewards": len(stewards(*SERVICES)), "commands": names}))
"""


def absent() -> list[str]:
    """The top-level modules of what the Dockerfile leaves out."""
    told = dict(re.findall(r'^ENV (OURS|WITHOUT)="([^"]*)"$', DOCKERFILE, re.MULTILINE))
    ours = {f"firetrial-{one.partition('/')[2]}" for one in told["OURS"].split()}
    every, kept = (
        {found[1] for block in re.split(r"\n(?=[a-z0-9])", text) if (found := NAME.match(block))}
        for text in (
            closure(LOCK.read_text(), ours),
            closure(LOCK.read_text(), ours, without=set(told["WITHOUT"].split())),
        )
    )
    left = every - kept
    assert {"scipy", "onnxruntime", "huggingface-hub", "fonttools"} < left
    modules = packages_distributions()
    return [name for name, owners in modules.items() if {owner.lower() for owner in owners} <= left]


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, json.dumps(absent()), *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_every_command_is_there_and_the_records_of_all_services_are_known() -> None:
    made = run()
    assert made.returncode == 0, made.stderr
    assert "cannot be loaded" not in made.stderr
    told = json.loads(made.stdout)
    assert told["stewards"] == 4
    assert {"admin rebuild-state", "admin restore", "doctor", "webhooks dead", "report"} <= {
        *told["commands"]
    }


def test_a_command_that_wants_it_names_what_is_missing(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("Accuracy rises with depth.")
    asked = ("judge", "text", "--truth", str(text), "--conclusion", str(text), "--backend", "offline")
    made = run(*asked)
    assert made.returncode == 1
    assert made.stderr == "Error: this command needs onnxruntime, which is not installed here\n"
    told = json.loads(run(*asked, "--json").stdout)["error"]
    assert told["reason"] == "PRECONDITION"


def test_doctor_misses_no_broker_where_everything_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FIRETRIAL_ENDPOINT", raising=False)
    assert "nats-server" in {name for name, *_ in doctor.checks()}
    monkeypatch.setenv("FIRETRIAL_ENDPOINT", "envoy:8443")
    assert "nats-server" not in {name for name, *_ in doctor.checks()}

"""The agents that ship: what their folders say, and what they are given with."""

import json
from pathlib import Path

import pytest

from firetrial_client import bundles, shipped
from firetrial_client.errors import FiretrialError
from firetrial_runner.agent import AgentDefinition
from firetrial_runner.programs import KNOWN


@pytest.mark.parametrize("name", list(shipped.agents()))
def test_a_shipped_agent_is_one_that_the_runner_takes(name: str) -> None:
    bundle = bundles.from_folder(shipped.agents()[name])
    assert bundle.name == name
    definition = AgentDefinition(bundle.name, bundle.command, (), bundle.description, bundle.program)
    assert list(definition.faults()) == []
    told = KNOWN[name].told if name in KNOWN else ""
    assert bundle.program == told


def test_a_file_goes_under_its_name_and_of_a_trajectory_what_is_run_again(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("found")
    assert shipped.files("oracle", text) == {"conclusion.md": text}
    steps = [{"kind": kind, "text": "x"} for kind in ("event", "command", "output", "model", "conclusion")]
    text.write_text("".join(json.dumps(step) + "\n" for step in steps))
    kept = shipped.files("replay", text)["steps.jsonl"]
    assert isinstance(kept, bytes)
    assert [json.loads(line)["kind"] for line in kept.splitlines()] == ["command", "conclusion"]


@pytest.mark.parametrize(
    ("content", "told"), [(b"no step\n", "steps:1"), (b"{}\n", "steps:1"), (None, "no file")]
)
def test_what_cannot_be_given(content: bytes | None, told: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "steps").write_bytes(content)
    with pytest.raises(FiretrialError, match=told):
        shipped.files("replay", tmp_path / "steps")

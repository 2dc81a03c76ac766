"""Agents as they are handed in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firetrial_runner.agent import MAX_BYTES, AgentDefinition, AgentFile

GOOD = AgentDefinition("my-agent_1.0", ("python3", "/agent/a.py"), (AgentFile("a.py", b"pass"),), "does it")


def fields(agent: AgentDefinition) -> list[str]:
    return [fault.field for fault in agent.faults()]


def test_a_good_one() -> None:
    assert fields(GOOD) == []


def test_the_id_names_command_and_files() -> None:
    assert GOOD.id.startswith("my-agent_1.0@")
    assert replace(GOOD, description="other").id == GOOD.id
    others = [
        replace(GOOD, command=("python3",)),
        replace(GOOD, command=("python3 /agent/a.py",)),
        replace(GOOD, files=()),
        replace(GOOD, files=(AgentFile("b.py", b"pass"),)),
        replace(GOOD, files=(AgentFile("a.py", b"exit()"),)),
        replace(GOOD, files=(AgentFile("a.py", b"pass", executable=True),)),
        replace(GOOD, program="reference"),
        replace(GOOD, program="codex@0.171.0"),
        replace(GOOD, image="agents/mine:3"),
        replace(GOOD, image="agents/mine:4"),
    ]
    assert len({GOOD.id, *(other.id for other in others)}) == 11


def test_the_order_of_files_does_not_count() -> None:
    one, two = AgentFile("a", b"1"), AgentFile("b", b"2")
    there, back = replace(GOOD, files=(one, two)), replace(GOOD, files=(two, one))
    assert (there.id, there.bundle()) == (back.id, back.bundle())


@pytest.mark.parametrize("name", ["", "Upper", "-x", "a/b", "a b", "x" * 65, "ä", "a\n"])
def test_bad_names(name: str) -> None:
    assert fields(replace(GOOD, name=name)) == ["name"]


@pytest.mark.parametrize("image", ["-v", "/x", "a b", "a\n", "a;b", "x" * 256])
def test_bad_images(image: str) -> None:
    assert fields(replace(GOOD, image=image)) == ["image"]


@pytest.mark.parametrize("path", ["", "/abs", "../x", "a/../b", "x/", "x" * 251, "a\0b"])
def test_bad_paths(path: str) -> None:
    assert fields(replace(GOOD, files=(AgentFile(path, b""),))) == ["files[0].path"]


@pytest.mark.parametrize("command", [(), ("",), ("a", "b\0c"), ("x" * 70_000,)])
def test_bad_commands(command: tuple[str, ...]) -> None:
    assert fields(replace(GOOD, command=command)) == ["command"]


def test_every_fault_at_once() -> None:
    files = (AgentFile("a", bytes(MAX_BYTES)), AgentFile("a", b"x"))
    bad = AgentDefinition("Bad", (), files, "x" * 5000)
    assert fields(bad) == ["name", "command", "description", "files", "files[1].path"]

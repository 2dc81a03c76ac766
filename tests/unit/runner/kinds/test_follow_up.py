"""What a follow-up run finds in its workspace, and what of what it leaves is called what."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_kit.objects import ObjectRef
from firetrial_runner import archive, workspace
from firetrial_runner.kinds.follow_up import FollowUp, manifest, paper, prepare
from firetrial_runner.workspace import Workspace

REF = ObjectRef("runs/tasks/fu/source.tar", "0" * 64, 1, "application/x-tar")


def tar(path: Path, *names: str) -> Path:
    with tarfile.open(path, "w") as made:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 1
            made.addfile(member, io.BytesIO(b"x"))
    return path


async def prepared(folder: Path, *names: str) -> Workspace:
    place = workspace.prepare(folder / "run", "Continue.", None, None)
    (place.folder / "incoming").mkdir()
    given = tar(folder / "given.tar", *names)

    async def fetch(_: ObjectRef, to: Path) -> Path:
        return Path(shutil.copy(given, to))

    return await prepare(FollowUp(REF), place, fetch)


async def test_the_workspace_has_the_source_and_folders_to_fill(tmp_path: Path) -> None:
    place = await prepared(tmp_path, "paper/paper.md", "data/points.csv")
    found = {path.relative_to(place.files).as_posix() for path in place.files.rglob("*")}
    assert {"source/paper/paper.md", "source/data/points.csv", "paper", "code", "instruction.txt"} <= found


async def test_the_source_is_no_artifact(tmp_path: Path) -> None:
    place = await prepared(tmp_path, "paper/paper.md")
    (place.files / "paper" / "paper.md").write_text("mine")
    left = workspace.collect(place, None, "nothing was said")
    with tarfile.open(left.tar) as packed:
        assert packed.getnames() == ["paper/paper.md"]


async def test_a_source_with_a_link_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError, match=r"without '\.\.'"):
        await prepared(tmp_path, "../out")


async def test_there_may_be_no_source(tmp_path: Path) -> None:
    place = workspace.prepare(tmp_path / "run", "Continue.", None, None)

    async def fetch(_: ObjectRef, to: Path) -> Path:
        raise AssertionError(to)

    found = await prepare(FollowUp(None), place, fetch)
    assert (found.files / "code").is_dir()
    assert not (found.files / "source").exists()


def test_the_paper_is_what_is_concluded(tmp_path: Path) -> None:
    assert paper(tmp_path) == ""
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "main.tex").write_text("in TeX")
    assert paper(tmp_path) == "in TeX"
    (tmp_path / "paper" / "paper.md").write_text("in Markdown\n")
    assert paper(tmp_path) == "in Markdown"


def test_no_link_is_followed_to_a_paper(tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    (secret / "paper.md").write_text("secret")
    files = tmp_path / "files"
    files.mkdir()
    (files / "paper").symlink_to(secret)
    assert paper(files) == ""
    (files / "paper").unlink()
    (files / "paper").mkdir()
    (files / "paper" / "paper.md").symlink_to(secret / "paper.md")
    assert paper(files) == ""


def test_the_manifest_names_every_file_and_none_is_evidence(tmp_path: Path) -> None:
    for name in ("paper/p.md", "code/a.py", "logs/run.log", "notes.txt"):
        (tmp_path / "left" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "left" / name).write_text(name)
    archive.pack(tmp_path / "left", tmp_path / "artifacts.tar", archive.ARTIFACTS)
    told = json.loads(manifest(tmp_path / "artifacts.tar", "runs/r-1/trajectory/"))
    assert {file["path"]: file["part"] for file in told["files"]} == {
        "paper/p.md": "paper",
        "code/a.py": "code",
        "logs/run.log": "written by the agent",
        "notes.txt": "other",
    }
    assert not any(file["evidence"] for file in told["files"])
    assert told["log"] == {"trajectory": "runs/r-1/trajectory/", "by": "runner", "evidence": True}
    assert hashlib.sha256(b"notes.txt").hexdigest() in {file["sha256"] for file in told["files"]}

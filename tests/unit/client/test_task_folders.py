"""A task's folder is sent as it lies: header, longer texts, and the parts that are uploaded."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from firetrial_client import FiretrialError, task_folders


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    told = {"slug": "mine", "question": "q?", "repository": {"targetFiles": ["a.py"]}}
    (tmp_path / "task.json").write_text(json.dumps(told))
    (tmp_path / "instruction.md").write_text("Do it.\n")
    for name in ("source/a.py", "source/__pycache__/a.pyc", "sealed/score/labels.csv", "notes/draft.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_the_header_and_its_texts(folder: Path) -> None:
    (folder / "rubrics").mkdir()
    (folder / "rubrics" / "integrity.json").write_text('{"id": "root"}')
    header = task_folders.read(folder)
    assert (header.slug, header.instruction) == ("mine", "Do it.\n")
    assert list(header.repository.target_files) == ["a.py"]
    assert header.rubrics.integrity == '{"id": "root"}'


def test_only_the_parts_are_packed(folder: Path) -> None:
    with task_folders.packed(folder) as tar:
        assert tar is not None
        with tarfile.open(tar) as opened:
            assert opened.getnames() == ["sealed/score/labels.csv", "source/a.py"]
    assert not tar.exists()


def test_a_task_without_files_of_its_own(tmp_path: Path) -> None:
    with task_folders.packed(tmp_path) as tar:
        assert tar is None


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("task.json", b"{"),
        ("task.json", b'{"slug": []}'),
        ("task.json", b"\xff"),
        ("instruction.md", b"\xff"),
    ],
)
def test_what_cannot_be_read_is_named(folder: Path, name: str, data: bytes) -> None:
    (folder / name).write_bytes(data)
    with pytest.raises(FiretrialError) as caught:
        task_folders.read(folder)
    assert [fault.field for fault in caught.value.faults] == [name]


def test_a_folder_that_is_no_task(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError, match="tasks new"):
        task_folders.read(tmp_path)

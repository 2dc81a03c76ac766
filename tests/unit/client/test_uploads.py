"""What is sent is what was given, and a folder gives the same tar each time."""

import os
import tarfile
from pathlib import Path

import pytest

from firetrial_client import FiretrialError
from firetrial_client.uploads import opened


def read(source: Path | bytes | None) -> bytes:
    with opened(source, "data") as (body, size):
        content = body.read()
    assert len(content) == size
    return content


def test_bytes_files_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert [read(b"xyz"), read(tmp_path / "a"), read(None)] == [b"xyz", b"abc", b""]


def test_a_folder_is_the_same_tar_whenever_it_is_read(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "sub" / "b.csv").write_text("1,2")
        (tmp_path / name / "a.sh").write_text("true")
        (tmp_path / name / "a.sh").chmod(0o755)
    os.utime(tmp_path / "one" / "a.sh", (1, 1))
    assert read(tmp_path / "one") == read(tmp_path / "two")
    with opened(tmp_path / "one", "data") as (body, _), tarfile.open(fileobj=body) as tar:
        assert [(entry.name, entry.mode) for entry in tar] == [("a.sh", 0o755), ("sub/b.csv", 0o644)]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError) as caught:
        read(tmp_path / "none.pdf")
    assert caught.value.faults[0].field == "data"
    assert "none.pdf" in caught.value.message

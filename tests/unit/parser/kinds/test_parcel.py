"""Uploads of repository tasks are taken apart as data of strangers."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_parser.kinds.parcel import FILES, SCORE, SOURCE, unpack
from support.tars import tarred
from unit.parser.kinds import made


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        return {m.name: file.read() for m in tar if (file := tar.extractfile(m)) is not None}


def test_the_parts_come_apart(tmp_path: Path) -> None:
    (tmp_path / "up").write_bytes(made.upload())
    parcel = unpack(tmp_path / "up", tmp_path)
    assert members(parcel.tars[SOURCE].path) == {
        name.removeprefix("source/"): data for name, data in made.FILES.items() if name.startswith("source/")
    }
    assert members(parcel.tars[FILES].path) == {"data/unseen.csv": b"3\n"}
    assert set(members(parcel.tars[SCORE].path)) == {"labels.csv", "score.py"} == set(parcel.contents.score)


def test_the_same_files_give_the_same_hash(tmp_path: Path) -> None:
    """Whatever their order, times and owners were."""
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
    info = tarfile.TarInfo("source/model.py")
    info.mtime, info.uid, info.uname, info.mode = 12345, 7, "somebody", 0o640
    (one / "up").write_bytes(tarred(("source/model.py", b"1"), ("source/a", b"2")))
    (other / "up").write_bytes(tarred(("source/a", b"2"), (info, b"1")))
    assert unpack(one / "up", one).hashes == unpack(other / "up", other).hashes


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (tarred(("model.py", b"1")), "must lie under"),
        (tarred(("sealed/model.py", b"1")), "must lie under"),
        (tarred(("source/a\\b", b"1")), "must lie under"),
        (tarred(("source/a", b"1"), ("source/a", b"2")), "twice"),
        (b"no tar" * 200, "must be an uncompressed tar"),
        (tarred(("source/a", b"1" * 5000))[:2048], "must be an uncompressed tar"),
    ],
)
def test_what_is_no_upload_of_a_task(tmp_path: Path, data: bytes, what: str) -> None:
    (tmp_path / "up").write_bytes(data)
    with pytest.raises(FiretrialError, match=what):
        unpack(tmp_path / "up", tmp_path)


def test_a_sparse_file_that_claims_to_be_huge(tmp_path: Path) -> None:
    """A GNU sparse member reads as zeros that the tar does not hold."""
    info = tarfile.TarInfo("source/bomb")
    info.type, info.size = tarfile.GNUTYPE_SPARSE, 0
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"77777777777\0"  # the real size, 8 GiB
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    (tmp_path / "up").write_bytes(bytes(header) + bytes(1024))
    with tarfile.open(fileobj=io.BytesIO((tmp_path / "up").read_bytes())) as tar:
        assert next(iter(tar)).size > 8_000_000_000
    with pytest.raises(FiretrialError, match="larger than the tar itself"):
        unpack(tmp_path / "up", tmp_path)


def test_an_upload_that_ends_in_the_middle_of_its_packing_is_damaged(tmp_path: Path) -> None:
    packed = gzip.compress(tarred(("source/model.py", bytes(range(256)) * 4000)))
    (tmp_path / "up").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(FiretrialError, match="must be an uncompressed tar"):
        unpack(tmp_path / "up", tmp_path)

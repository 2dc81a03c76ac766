"""Hostile tars in, hostile folders out."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_runner.archive import BUNDLE, Caps, bundle, is_plain, pack, unpack

CAPS = Caps(files=10, file_bytes=1000, total_bytes=3000)


def tar(*members: tuple[str, bytes] | tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member, io.BytesIO(bytes(member.size)))
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return buffer.getvalue()


def special(kind: bytes, to: str = "/etc/passwd") -> tarfile.TarInfo:
    info = tarfile.TarInfo("thing")
    info.type, info.linkname = kind, to
    return info


def refused(tmp_path: Path, data: bytes, caps: Caps = CAPS) -> FiretrialError:
    (tmp_path / "in.tar").write_bytes(data)
    with pytest.raises(FiretrialError) as caught:
        unpack(tmp_path / "in.tar", tmp_path / "out", caps)
    assert caught.value.reason is Reason.INVALID
    assert not (tmp_path / "out").exists(), "nothing is unpacked of a bad archive"
    return caught.value


@pytest.mark.parametrize("pressed", [False, True])
def test_files_folders_and_modes(tmp_path: Path, pressed: bool) -> None:
    folder, script = tarfile.TarInfo("sub"), tarfile.TarInfo("sub/run.sh")
    folder.type, script.mode, script.size = tarfile.DIRTYPE, 0o4777, 3
    data = tar(folder, script, ("./a/b.txt", b"deep"), ("ünïcode", b"x"))
    (tmp_path / "in.tar").write_bytes(gzip.compress(data) if pressed else data)
    unpack(tmp_path / "in.tar", tmp_path / "out", CAPS)
    assert (tmp_path / "out/a/b.txt").read_bytes() == b"deep"
    assert (tmp_path / "out/ünïcode").read_bytes() == b"x"
    assert (tmp_path / "out/sub/run.sh").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "out/a/b.txt").stat().st_mode & 0o7777 == 0o644


@pytest.mark.parametrize("name", ["../out", "/abs", "a/../../b", "a/.."])
def test_names_that_lead_out(tmp_path: Path, name: str) -> None:
    error = refused(tmp_path, tar(("good", b"x"), (name, b"x")))
    assert name in error.faults[0].field


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices(tmp_path: Path, kind: bytes) -> None:
    assert "file or a directory" in refused(tmp_path, tar(special(kind))).faults[0].cure


def test_every_fault_at_once(tmp_path: Path) -> None:
    error = refused(tmp_path, tar(("../a", b""), special(tarfile.SYMTYPE), ("/b", b"")))
    assert len(error.faults) == 3


def test_bombs(tmp_path: Path) -> None:
    big = tarfile.TarInfo("big")
    big.size = 1001
    assert "1001 bytes" in str(refused(tmp_path, tar(big)).faults[0])
    many = [(f"f{number}", b"") for number in range(11)]
    assert "at most 10" in str(refused(tmp_path, tar(*many)).faults[0])
    total = [(f"f{number}", bytes(900)) for number in range(4)]
    assert "3000 in all" in str(refused(tmp_path, tar(*total)).faults[0])


def test_a_header_that_asks_for_much_memory(tmp_path: Path) -> None:
    """A pax header of 100 MiB is 100 KiB when it is pressed."""
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 100 * 1024 * 1024
    data = gzip.compress(header.tobuf() + bytes(header.size), compresslevel=1)
    error = refused(tmp_path, data, Caps(files=10, file_bytes=2**40, total_bytes=2**40))
    assert "header of" in str(error.faults[0])


NESTED = special(tarfile.GNUTYPE_LONGNAME).tobuf() * 5_000  # each header announces the next one


@pytest.mark.parametrize("data", [b"", b"no tar", b"\x1f\x8bno gzip", gzip.compress(b"no tar" * 500), NESTED])
def test_what_is_no_tar(tmp_path: Path, data: bytes) -> None:
    refused(tmp_path, data)


def test_a_tar_that_is_cut(tmp_path: Path) -> None:
    whole = tar(("a", bytes(900)), ("b", bytes(900)))
    (tmp_path / "in.tar").write_bytes(whole[:1000])
    with pytest.raises(FiretrialError):
        unpack(tmp_path / "in.tar", tmp_path / "out", CAPS)


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "in.tar").write_bytes(tar(("a", b""), ("a/b", b"")))
    with pytest.raises(FiretrialError) as caught:
        unpack(tmp_path / "in.tar", tmp_path / "out", CAPS)
    assert caught.value.reason is Reason.INVALID


@given(st.text(min_size=1))
def test_a_plain_name_stays_below(name: str) -> None:
    if is_plain(name):
        inside = os.path.normpath(Path("/root/of/all", name))
        assert inside == "/root/of/all" or inside.startswith("/root/of/all/")


def hostile(folder: Path) -> None:
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "b.txt").write_text("b")
    (folder / "a.txt").write_text("aa")
    (folder / "run.sh").write_text("x")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "folder-link").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    (folder / "big").write_bytes(bytes(1001))
    (folder / "data").mkdir()
    (folder / "data" / "in").write_text("given")


def test_pack_keeps_regular_files_and_tells_what_it_leaves(tmp_path: Path) -> None:
    hostile(tmp_path / "w")
    packed = pack(tmp_path / "w", tmp_path / "out.tar", CAPS, frozenset({"data"}))
    with tarfile.open(tmp_path / "out.tar") as archive:
        members = {member.name: member for member in archive}
    assert sorted(members) == ["a.txt", "run.sh", "sub/b.txt"]
    assert members["run.sh"].mode == 0o755
    assert {member.mtime for member in members.values()} == {0}
    assert (packed.files, packed.bytes, packed.left_out_count) == (3, 4, 4)
    assert dict(packed.left_out) == {
        "big": "1001 bytes are more than are kept",
        "folder-link": "not a regular file",
        "link": "not a regular file",
        "pipe": "not a regular file",
    }


def test_pack_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    hashes = set()
    for name in ("one", "two"):
        hostile(tmp_path / name)
        os.utime(tmp_path / name / "a.txt", (1, len(name)))
        pack(tmp_path / name, tmp_path / f"{name}.tar", CAPS)
        hashes.add(hashlib.sha256((tmp_path / f"{name}.tar").read_bytes()).hexdigest())
    assert len(hashes) == 1


def test_pack_holds_its_caps(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number:02}").write_bytes(bytes(10))
    packed = pack(tmp_path, tmp_path.parent / "out.tar", CAPS)
    assert (packed.files, packed.left_out_count) == (10, 2)
    packed = pack(tmp_path, tmp_path.parent / "out.tar", Caps(files=99, file_bytes=99, total_bytes=35))
    assert (packed.files, packed.bytes, packed.left_out_count) == (3, 30, 9)


def test_pack_names_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff\xfe")).write_text("x")
    (tmp_path / "new\nline").write_text("x")
    packed = pack(tmp_path, tmp_path.parent / "out.tar", CAPS)
    assert packed.files == 2
    with tarfile.open(tmp_path.parent / "out.tar") as archive:
        assert {os.fsencode(member.name) for member in archive} == {b"\xff\xfe", b"new\nline"}


def test_pack_a_folder_that_cannot_be_named(tmp_path: Path) -> None:
    """Deeper than a path can reach."""
    deep(tmp_path / "w")
    packed = pack(tmp_path / "w", tmp_path / "out.tar", CAPS)
    assert packed.files == 0
    assert packed.left_out[0][1] == "File name too long"


def deep(folder: Path, levels: int = 60) -> None:
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def test_bundle_round_trip(tmp_path: Path) -> None:
    make: Callable[[], bytes] = lambda: bundle(  # noqa: E731
        iter([("b/run.sh", b"#!/bin/sh\n", True), ("a.txt", b"a", False)])
    )
    assert make() == make()
    (tmp_path / "in.tar").write_bytes(make())
    unpack(tmp_path / "in.tar", tmp_path / "out", BUNDLE)
    assert (tmp_path / "out/b/run.sh").stat().st_mode & 0o111
    assert (tmp_path / "out/a.txt").read_bytes() == b"a"

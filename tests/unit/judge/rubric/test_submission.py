"""Files from tars and folders that mean harm: what counts, what is left out, and that nothing escapes."""

from __future__ import annotations

import contextlib
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_judge.rubric import submission as submissions
from firetrial_judge.rubric.submission import Submission, from_folder, from_tar
from firetrial_judge.rubric.tree import Deliverable
from firetrial_kit.errors import FiretrialError
from support.tars import special, tarred


def by_name(submission: Submission) -> dict[str, tuple[str, ...]]:
    return {file.name: file.lines for file in submission.files}


def test_files_become_lines_and_kinds() -> None:
    data = tarred(
        ("./paper/main.tex", b"\xef\xbb\xbfTitle\r\nText"),
        ("train.py", b"x = 1\n\ny = 2\n"),
        ("logs/notes.md", b""),
        ("data.json", b"{}"),
    )
    submission = from_tar(data)
    assert by_name(submission) == {
        "data.json": ("{}",),
        "logs/notes.md": (),
        "paper/main.tex": ("Title", "Text"),
        "train.py": ("x = 1", "", "y = 2"),
    }
    kinds = [None, Deliverable.LOGS, Deliverable.PAPER, Deliverable.CODE]
    assert [file.kind for file in submission.files] == kinds
    assert submission.notes == ()


@pytest.mark.parametrize(
    ("member", "told"),
    [
        ("../escape.py", "has no name"),
        ("/etc/passwd", "has no name"),
        ("a/../../b", "has no name"),
        ("x" * 400, "has no name"),
        (special("link", tarfile.SYMTYPE, "/etc/passwd"), "is no plain file"),
        (special("hard", tarfile.LNKTYPE, "good.py"), "is no plain file"),
        (special("pipe", tarfile.FIFOTYPE), "is no plain file"),
        (special("device", tarfile.CHRTYPE), "is no plain file"),
        ("good.py", "is there twice"),
    ],
)
def test_what_is_no_plain_file_is_left_out_and_told(member: str | tarfile.TarInfo, told: str) -> None:
    submission = from_tar(tarred(("good.py", b"1"), (member, b"")))
    assert by_name(submission) == {"good.py": ("1",)}
    (note,) = submission.notes
    assert told in note


def test_text_is_made_harmless_and_binaries_are_only_listed() -> None:
    submission = from_tar(
        tarred(("a\nb.txt", "x\u202e\x1b[2J\ud800".encode("utf-8", "surrogatepass")), ("b.bin", b"MZ\0\1"))
    )
    text, binary = submission.files
    assert text.name == "a?b.txt"
    assert all(character.isprintable() for character in text.lines[0].replace("\ufffd", ""))
    assert (binary.lines, binary.size) == ((), 4)
    assert submission.notes == ("b.bin is binary and was not read",)


def test_limits_cut_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "MAX_FILE_BYTES", 10)
    monkeypatch.setattr(submissions, "MAX_FILES", 2)
    submission = from_tar(tarred(("a.txt", b"0123456789more"), ("b.txt", b"b"), ("c.txt", b"c")))
    assert by_name(submission) == {"a.txt": ("0123456789",), "b.txt": ("b",)}
    assert submission.notes == ("a.txt was read up to byte 10 of 14", "c.txt is one file more than 2")
    long = from_tar(tarred(("a.txt", b"ab\n" + b"x" * 9))).files[0]
    assert long.lines == ("ab", "x" * 7)


def test_a_sparse_file_of_a_terabyte_costs_nothing(tmp_path: Path) -> None:
    info = tarfile.TarInfo("bomb.log")
    info.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:398] = header[398:410] = b"00000000000\0"  # one empty piece …
    header[483:495] = b"\x80" + (2**40).to_bytes(11, "big")  # … of a file of 1 TiB
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    submission = from_tar(bytes(header) + tarred(("a.py", b"1")))
    assert by_name(submission) == {"a.py": ("1",)}
    assert submission.notes == ("bomb.log is no plain file",)


NESTED = special("x", tarfile.GNUTYPE_LONGNAME).tobuf() * 5_000  # each header announces the next one


@pytest.mark.parametrize(
    "data", [b"", b"no tar", tarred(("a", b"1"), mode="w:gz"), tarred(), b"\0" * 10_240, NESTED]
)
def test_what_is_no_tar_or_holds_nothing_is_refused(data: bytes) -> None:
    with pytest.raises(FiretrialError) as error:
        from_tar(data)
    assert error.value.faults[0].field == "files"


WHOLE = tarred(("a.py", b"one\ntwo\n" * 100), ("b/c.txt", b"three"))


@given(st.integers(0, len(WHOLE)), st.binary(max_size=64))
def test_a_damaged_tar_is_read_or_refused(at: int, noise: bytes) -> None:
    damaged = WHOLE[:at] + noise + WHOLE[at + len(noise) :]
    with contextlib.suppress(FiretrialError):  # and nothing else
        from_tar(damaged)


def test_a_folder_and_its_tar_are_the_same_submission(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("x = 1\n")
    (tmp_path / "out.log").write_text("done")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref")
    members = [("out.log", b"done"), (".git/HEAD", b"ref"), ("code/a.py", b"x = 1\n")]
    assert from_folder(tmp_path) == from_tar(tarred(*members))
    assert [file.name for file in from_folder(tmp_path).files] == ["code/a.py", "out.log"]
    assert from_folder(tmp_path).sha256 != from_tar(tarred(("out.log", b"done"))).sha256


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("k")
    folder = tmp_path / "handed-in"
    folder.mkdir()
    (folder / "a.py").write_text("1")
    (folder / "key.txt").symlink_to(secret / "key.txt")
    (folder / "all").symlink_to(secret, target_is_directory=True)
    os.mkfifo(folder / "pipe")
    submission = from_folder(folder)
    assert by_name(submission) == {"a.py": ("1",)}
    assert [note.split()[0] for note in submission.notes] == ["key.txt", "pipe"]
    with pytest.raises(FiretrialError):
        from_folder(folder / "a.py")

"""Layers of a test: later ones win, and nothing strange gets in."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from firetrial_judge.kinds.layers import Layer, merge
from firetrial_kit.errors import FiretrialError, Reason
from support.tars import special, tarred


def layer(folder: Path, name: str, *members: tuple[str | tarfile.TarInfo, bytes]) -> Layer:
    (folder / name).write_bytes(tarred(*members))
    return Layer(folder / name)


def contents(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar if m.isreg()}  # type: ignore[union-attr]


def test_the_last_layer_that_has_a_file_wins(tmp_path: Path) -> None:
    source = layer(
        tmp_path, "a", ("model.py", b"old"), ("eval.py", b"eval"), ("./data/x", b"train"), ("out", b"1")
    )
    sealed = layer(tmp_path, "b", ("data/x", b"test"), ("eval.py", b"sealed"))
    targets = Layer(files={"model.py": b"new", "eval.py": b"mine"})
    merge([source, targets, sealed], tmp_path / "to", ["out"])
    assert contents(tmp_path / "to") == {"model.py": b"new", "eval.py": b"sealed", "data/x": b"test"}


@pytest.mark.parametrize(
    "member",
    [
        special("eval.py", tarfile.SYMTYPE, "/etc/passwd"),
        special("eval.py", tarfile.LNKTYPE, "model.py"),
        special("pipe", tarfile.FIFOTYPE),
        "../eval.py",
        "/eval.py",
    ],
    ids=["symbolic link", "hard link", "pipe", "upwards", "absolute"],
)
def test_what_is_no_plain_file_is_refused(tmp_path: Path, member: str | tarfile.TarInfo) -> None:
    with pytest.raises(FiretrialError) as fault:
        merge([layer(tmp_path, "a", (member, b""))], tmp_path / "to")
    assert fault.value.reason is Reason.PRECONDITION


def test_a_file_where_another_layer_has_a_directory_is_refused(tmp_path: Path) -> None:
    layers = [layer(tmp_path, "a", ("data/x", b"1")), Layer(files={"data": b"2"})]
    with pytest.raises(FiretrialError, match="directory in another"):
        merge(layers, tmp_path / "to")


def test_what_is_no_tar_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 2000)
    with pytest.raises(FiretrialError, match="cannot be read"):
        merge([Layer(tmp_path / "a")], tmp_path / "to")

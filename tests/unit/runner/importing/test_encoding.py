"""Which encoding a log is in: never a guess that makes mojibake."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.importing.encoding import PIECE, as_utf8, encoding_of

WESTERN = "précision “naïve” – 0.5 ± 0.1"


def text(path: Path) -> str:
    return b"".join(as_utf8(path)).decode("utf-8", "backslashreplace")


@pytest.mark.parametrize(
    ("data", "encoding", "shown"),
    [
        (b"", "utf-8", ""),
        (b"plain", "utf-8", "plain"),
        ("順序 é".encode(), "utf-8", "順序 é"),
        (b"\xef\xbb\xbfmarked", "utf-8", "marked"),
        ("marked 順序".encode("utf-16"), "utf-16-le", "marked 順序"),
        (b"\xfe\xff" + "marked 順序".encode("utf-16-be"), "utf-16-be", "marked 順序"),
        ("odd".encode("utf-16") + b"\x41", "utf-16-le", "odd\\x41"),
        (WESTERN.encode("cp1252"), "cp1252", WESTERN),
        # UTF-8 with bytes that are none, of which one is cut off at the end.
        ("été".encode() + b" \xff \xe9", "utf-8", "été \\xff \\xe9"),
        (b"cut \xe2\x82", "utf-8", "cut \\xe2\\x82"),
        # Not Western: pairs and rows, a byte that is not defined, control bytes.
        ("你好，世界".encode("gbk"), "utf-8", "\\xc4\\xe3\\xba\\xc3\\xa3\\xac\\xca\\xc0\\xbd\\xe7"),
        ("é\n".encode() + "你好，".encode("gbk"), "utf-8", "é\n\\xc4\\xe3\\xba\\xc3\\xa3\\xac"),
        (b"a\x81b \xe9", "utf-8", "a\\x81b \\xe9"),
        (b"\x7fELF\x02\x01\x01\x00 \xe9", "utf-8", "\x7fELF\x02\x01\x01\x00 \\xe9"),
        (b"\x1b[31mrouge\x1b[0m \xe9t\xe9\r\n", "cp1252", "\x1b[31mrouge\x1b[0m été\r\n"),
    ],
)
def test_encodings(tmp_path: Path, data: bytes, encoding: str, shown: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)
    assert encoding_of(path) == encoding
    assert text(path) == shown


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_a_character_over_the_end_of_a_piece(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "log"
    for shift in range(4):
        said = "x" * shift + "é" + "ab" * PIECE + "é– "
        path.write_bytes(said.encode(encoding))
        assert text(path) == said


@given(st.text(st.characters(codec="utf-8"), max_size=50))
def test_what_is_utf_8_is_read_as_such(tmp_path_factory: pytest.TempPathFactory, said: str) -> None:
    path = tmp_path_factory.mktemp("e") / "log"
    path.write_bytes(said.encode())
    assert text(path) == said.removeprefix("\ufeff")

import io
import tarfile

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.intake import MAX_BYTES, MAX_LINE, check_size, decode, format_of, takes


def tarred_pdf() -> bytes:
    """A tar whose first file is a figure, as papers have them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        member = tarfile.TarInfo("figure.pdf")
        member.size = 8
        tar.addfile(member, io.BytesIO(b"%PDF-1.5"))
    return out.getvalue()


def test_size_is_refused_before_reading() -> None:
    with pytest.raises(FiretrialError) as caught:
        check_size(500 * 1024 * 1024)
    assert caught.value.reason is Reason.TOO_LARGE
    assert caught.value.faults[0].field == "size"
    with pytest.raises(FiretrialError, match="empty"):
        check_size(0)
    check_size(MAX_BYTES)


def test_bytes_count_more_than_the_name() -> None:
    assert format_of("paper.txt", b"%PDF-1.5 ...") == "pdf"
    assert format_of("paper.MD", b"# Title") == "markdown"
    assert format_of("paper.txt", b"Title") == "text"
    assert format_of("2307.03172v3", b"\x1f\x8b\x08" + b"0" * 40) == "latex"
    assert format_of("source.tar.gz", b"\x1f\x8b\x08" + b"0" * 40) == "latex"
    assert format_of("source.zip", b"PK\x03\x04" + b"0" * 40) == "latex"
    assert format_of("source.tar", tarred_pdf()) == "latex"
    assert format_of("tree.json", b"{}") == "tree"


def test_names_that_are_taken() -> None:
    assert all(map(takes, ("a.PDF", "b.tar.gz", "c.htm", "2307.03172v3", "2307.03172", "d.tex", "t.json")))
    assert not any(map(takes, ("a", "a.docx", "b.tar.xz", "2307.x", "12345.12345", "pdf")))


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("paper.pdf", b"hello", "no PDF"),
        ("paper.docx", b"x", "must end in"),
        ("paper", b"x", "must end in"),
        ("paper.txt", b"PK\x03\x04" + b"0" * 40, "unpack"),
        ("paper.md", b"\x1f\x8b\x08" + b"0" * 40, "unpack"),
        ("paper.tar.xz", b"\xfd7zXZ" + b"0" * 40, "unpack"),
        ("paper.zip", b"no archive", "must end in"),
    ],
)
def test_wrong_kinds(name: str, data: bytes, told: str) -> None:
    with pytest.raises(FiretrialError, match=told):
        format_of(name, data)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\xe9t\xe9", "iconv"),
        (b"a\0b", "binary"),
        (b"  \n\t ", "no text"),
        (b"a" * (MAX_LINE + 1), "lines have at most"),
    ],
)
def test_bad_text(data: bytes, told: str) -> None:
    with pytest.raises(FiretrialError, match=told):
        decode(data)


def test_encodings_and_newlines_are_made_one() -> None:
    assert decode("\ufeffa\r\nb\rc".encode()) == "a\nb\nc"
    assert decode("héé".encode("utf-16")) == "héé"

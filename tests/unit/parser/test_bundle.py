import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_parser.bundle import MAX_FILES, sources
from firetrial_parser.latex import read_latex
from unit.parser.latex_source import MAIN, gzipped, tar_gz, zipped


def refused(data: bytes, told: str) -> None:
    with pytest.raises(FiretrialError, match=told) as caught:
        read_latex(data)
    assert caught.value.faults
    assert all(fault.cure for fault in caught.value.faults)


def test_only_sources_are_kept_by_plain_names() -> None:
    files: dict[str, str | bytes] = {
        "a/main.tex": MAIN,
        "../up.tex": "x",
        "/etc/abs.tex": "x",
        "b\\..\\c.tex": "x",
        "fig.png": b"\0\1",
    }
    assert set(sources(tar_gz(files))) == {"a/main.tex"}
    assert set(sources(zipped(files))) == {"a/main.tex"}


def test_a_link_is_not_followed() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, kind in (
            ("main.tex", tarfile.SYMTYPE),
            ("hard.tex", tarfile.LNKTYPE),
            ("dev.tex", tarfile.CHRTYPE),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)
    refused(out.getvalue(), "no .tex file")


def test_a_file_outside_of_the_archive_is_not_put_in() -> None:
    text = r"\documentclass{a}\begin{document}Text. \input{/etc/passwd}\input{../../etc/passwd}\end{document}"
    assert "root:" not in read_latex(tar_gz({"m.tex": text})).text


def test_bombs_are_refused_before_they_unfold() -> None:
    a_megabyte = gzip.compress(b"\0" * 1024 * 1024)
    header = tarfile.TarInfo("figure.png")
    header.size = 2**33
    refused(gzip.compress(header.tobuf()) + a_megabyte * 300, "when unpacked")
    refused(a_megabyte * 300, "a source has at most")
    refused(zipped({f"{n}.tex": b"a" * 9_000_000 for n in range(4)}), "bytes of sources")
    refused(zipped({"m.tex": b"a" * 11_000_000}), "a source has at most")


def test_too_many_files() -> None:
    refused(tar_gz({f"{n}.txt": "" for n in range(MAX_FILES + 1)}), "files")
    refused(zipped({f"{n}.txt": "" for n in range(MAX_FILES + 1)}), "files")


def test_a_password_is_named() -> None:
    data = bytearray(zipped({"m.tex": MAIN}))
    for magic in (b"PK\x03\x04", b"PK\x01\x02"):  # the flag says "encrypted" in both headers
        data[data.index(magic) + (6 if magic == b"PK\x03\x04" else 8)] |= 1
    refused(bytes(data), "password")


@pytest.mark.parametrize("pack", [tar_gz, zipped, lambda: gzipped(MAIN)])
def test_damaged_archives(pack: Callable[[], bytes]) -> None:
    whole = pack()
    refused(whole[: len(whole) // 2], "damaged")
    refused(whole[:40] + bytes(40) + whole[80:], "file is")


def test_an_office_file_is_no_source() -> None:
    refused(zipped({"word/document.xml": "<w/>", "[Content_Types].xml": "<t/>"}), "no .tex file")


def test_an_old_source_in_latin_1() -> None:
    data = r"\documentclass{a}\begin{document}Déjà vu\end{document}".encode("latin-1")
    assert read_latex(tar_gz({"m.tex": data})).pages[0].startswith("Déjà vu")


def test_zip_entries_that_lie_about_their_size() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m.tex", b"a" * 50_000_000)
    data = bytearray(out.getvalue())
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(FiretrialError):
        read_latex(bytes(data))

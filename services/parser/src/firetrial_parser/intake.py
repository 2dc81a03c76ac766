"""What is let in: size, kind and encoding of a submitted file, checked before anything reads it."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePath

from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid
from firetrial_parser.document import Format

MAX_BYTES = 64 * 1024 * 1024
MAX_LINE = 1_000_000  # characters; no one writes longer paragraphs
MAX_TEXT = 20_000_000  # characters

ENDINGS: dict[str, Format] = {
    ".pdf": "pdf",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".tex": "latex",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
    ".json": "tree",
}
# Archives of LaTeX sources; as arXiv hands them out, they are named for the paper's id.
PACKED = (".zip", ".tar", ".tar.gz", ".tgz", ".gz")
TAKEN = f"must end in {', '.join([*ENDINGS, *PACKED])}, or be an arXiv id"
_ARXIV_ID = re.compile(r"(?:arXiv-)?\d{4}\.\d{4,5}(?:v\d{1,3})?")
_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
_TAR = (257, b"ustar")  # where a tar says that it is one
_FOREIGN = {
    b"BZh": "bzip2 data",
    b"\xfd7zXZ": "xz data",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a rar archive",
    b"\xd0\xcf\x11\xe0": "an old Office file",
}


def refuse(field: str, value: object, cure: str) -> FiretrialError:
    """The error for a paper with one fault."""
    return invalid("the paper", [Fault(field, str(value)[:200], cure)])


def check_size(size: int, limit: int = MAX_BYTES) -> None:
    """Raise TOO_LARGE (INVALID for nothing at all) by the size alone, in bytes, before anything is read."""
    if size <= 0:
        raise refuse("size", f"{size} bytes", "the file is empty; give the paper itself")
    if size > limit:
        fault = Fault("size", f"{size} bytes", f"at most {limit} bytes are read; leave out embedded media")
        raise FiretrialError(Reason.TOO_LARGE, f"the paper is too large: {fault}", faults=[fault])


def takes(filename: str) -> bool:
    """Whether a file of this name can be a paper."""
    name = filename.lower()
    return name.endswith((*ENDINGS, *PACKED)) or _ARXIV_ID.fullmatch(PurePath(filename).name) is not None


def format_of(filename: str, data: bytes) -> Format:
    """The format by the bytes and then by the name's ending. Raises INVALID where the two do not fit."""
    ending = PurePath(filename).suffix.lower()
    by_name = ENDINGS.get(ending)
    packed = packing(data)
    if packed is None and b"%PDF-" in data[:1024]:
        return "pdf"
    if by_name == "pdf":
        raise refuse(
            "file", filename, "is no PDF (it does not begin with %PDF-); give the PDF or another ending"
        )
    if packed is not None and by_name in {None, "latex"}:
        return "latex"
    kind = packed or next((kind for magic, kind in _FOREIGN.items() if data.startswith(magic)), None)
    if kind is not None:
        cure = "unpack it and give the paper itself, or its LaTeX source as .tar.gz or .zip"
        raise refuse("file", f"{filename}: {kind}", cure)
    if by_name is None:
        raise refuse("filename", filename, f"{TAKEN}, and be what it says")
    return by_name


def packing(data: bytes) -> str | None:
    """How an archive that can be read is packed ("zip", "gzip", "tar"), or None for all else."""
    if data.startswith(_ZIP):
        return "zip"
    if data.startswith(_GZIP):
        return "gzip"
    at, magic = _TAR
    return "tar" if data[at : at + len(magic)] == magic else None


def decode(data: bytes) -> str:
    """Text from UTF-8 (or UTF-16 with its mark), newlines and compatible forms made one.

    Raises INVALID for other encodings, for binary data and for lines or texts beyond the limits.
    """
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        where = f"byte {error.start}"
        raise refuse("file", where, f"is not {encoding}; convert it (`iconv -t UTF-8`)") from error
    if "\0" in text:
        raise refuse("file", "NUL characters", "is binary data, not text; give the paper's text")
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    if len(text) > MAX_TEXT:
        raise refuse("file", f"{len(text)} characters", f"at most {MAX_TEXT} characters are read")
    longest = max(map(len, text.split("\n")))
    if longest > MAX_LINE:
        raise refuse("file", f"a line of {longest} characters", f"lines have at most {MAX_LINE} characters")
    if not text.strip():
        raise refuse("file", "white space only", "there is no text in it; give the paper itself")
    return text

"""A file in, a `Document` out: in this process, or in one of its own that may hang or crash alone."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from pathlib import Path

from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid
from firetrial_parser.document import Document
from firetrial_parser.html import read_html
from firetrial_parser.intake import MAX_BYTES, check_size, format_of, refuse
from firetrial_parser.latex import read_latex
from firetrial_parser.markdown import read_markdown
from firetrial_parser.pdf import read_pdf
from firetrial_parser.text import read_text
from firetrial_parser.tree_file import document_of

# A document that another version of the readers made is read anew: raise this with what they make of a paper.
READER = "2"
TIMEOUT = 120.0  # seconds of wall time for one paper
MEMORY = 2 * 1024**3  # bytes of address space

_READERS = {
    "pdf": read_pdf,
    "html": read_html,
    "latex": read_latex,
    "markdown": read_markdown,
    "text": read_text,
    "tree": document_of,
}


def read_document(data: bytes, filename: str, *, limit: int = MAX_BYTES) -> Document:
    """Parse `data`; the name's ending counts where the bytes do not tell the format.

    Raises INVALID or TOO_LARGE (`limit` in bytes), naming what is wrong and the cure.
    """
    check_size(len(data), limit)
    return _READERS[format_of(filename, data)](data)


def load(path: Path, *, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file. Raises NOT_FOUND, or TOO_LARGE by its size, before reading any of it."""
    if not path.is_file():
        fault = Fault("file", str(path), "must be a file that exists and can be read")
        raise FiretrialError(Reason.NOT_FOUND, str(fault), faults=[fault])
    check_size(path.stat().st_size, limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise refuse("file", path, f"cannot be read: {error.strerror}") from error


async def read_apart(
    data: bytes, filename: str, *, timeout: float = TIMEOUT, limit: int = MAX_BYTES
) -> Document:
    """`read_document` in a process of its own: off the event loop, within `timeout` seconds and 2 GiB.

    PDFium is C++ that reads hostile input; a crash there ends as INVALID here.
    """
    check_size(len(data), limit)
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-m", "firetrial_parser.reading",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={},
    )  # fmt: skip
    head = json.dumps({"filename": filename, "limit": limit, "cpu": int(timeout) + 1}).encode()
    try:
        async with asyncio.timeout(timeout):
            out, err = await child.communicate(head + b"\n" + data)
    except TimeoutError as error:
        raise refuse(
            "file", f"not read within {timeout:g} s", "simplify the file or give its text"
        ) from error
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        raise _given_up(child.returncode, err.decode(errors="replace").strip())
    return _answer(out)


def _given_up(code: int, told: str) -> FiretrialError:
    last = told.splitlines()[-1] if told else f"exit {code}"
    if code < 0 or last.startswith("MemoryError"):
        cause = f"signal {-code}" if code < 0 else "out of memory"
        return refuse(
            "file", f"its reader ended by {cause}", "the file is damaged or too complex; give its text"
        )
    return FiretrialError(Reason.INTERNAL, f"the reader failed: {last}")


def _answer(out: bytes) -> Document:
    answer = json.loads(out)
    if "document" in answer:
        return Document.from_json(answer["document"])
    faults = [Fault(**fault) for fault in answer["faults"]]
    if answer["reason"] == Reason.INVALID:
        raise invalid("the paper", faults)
    raise FiretrialError(Reason(answer["reason"]), answer["message"], faults=faults)


def _child() -> None:
    """Read the head and the file on standard input, answer in JSON on standard output."""
    head = json.loads(sys.stdin.buffer.readline())
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (head["cpu"], head["cpu"] + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        document = read_document(sys.stdin.buffer.read(), head["filename"], limit=head["limit"])
        answer: dict[str, object] = {"document": document.to_json()}
    except FiretrialError as error:
        faults = [{"field": f.field, "value": f.value, "cure": f.cure} for f in error.faults]
        answer = {"reason": error.reason, "message": error.message, "faults": faults}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    _child()

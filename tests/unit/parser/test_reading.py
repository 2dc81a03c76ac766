import asyncio
import time
import tracemalloc
from pathlib import Path

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_parser.document import Document
from firetrial_parser.reading import READER, load, read_apart, read_document
from unit.parser.arxiv_html import PAGE
from unit.parser.latex_source import MAIN
from unit.parser.paper_pdf import pdf, sample
from unit.parser.study import TEXT


def test_the_format_decides_the_reader() -> None:
    assert read_document(sample(), "x.pdf").format == "pdf"
    assert read_document(PAGE.encode(), "x.html").format == "html"
    assert read_document(TEXT.encode(), "x.md").format == "markdown"
    assert read_document(b"Title\n\nText.", "x.txt").format == "text"


def test_a_reader_that_reads_otherwise_has_another_version() -> None:
    texts = {"x.html": PAGE, "x.tex": MAIN, "x.md": TEXT, "x.txt": TEXT}
    papers = {"x.pdf": sample()} | {name: text.encode() for name, text in texts.items()}
    read = [read_document(data, name).to_json() for name, data in papers.items()]
    # Documents that were kept are read anew by another version only: raise it with what is read.
    assert (READER, digest(read, length=16)) == ("2", "09e5ccd5936ed3ad")


async def test_apart_is_the_same_as_here_and_leaves_the_loop_free() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    ticking = asyncio.create_task(tick())
    apart = await read_apart(sample(), "x.pdf")
    ticking.cancel()
    assert apart == read_document(sample(), "x.pdf")
    assert ticks > 5
    assert Document.from_json(apart.to_json()) == apart


async def test_faults_come_through_from_the_other_process() -> None:
    with pytest.raises(FiretrialError, match="OCR") as caught:
        await read_apart(pdf([[]]), "x.pdf")
    assert caught.value.faults[0].field == "file"


async def test_a_reader_that_hangs_is_ended() -> None:
    started = time.monotonic()
    with pytest.raises(FiretrialError, match="not read within"):
        await read_apart(sample(), "x.pdf", timeout=0.01)
    assert time.monotonic() - started < 5


def test_load_refuses_by_size_before_reading(tmp_path: Path) -> None:
    big = tmp_path / "big.pdf"
    with big.open("wb") as file:
        file.truncate(500 * 1024 * 1024)
    tracemalloc.start()
    with pytest.raises(FiretrialError) as caught:
        load(big)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.reason is Reason.TOO_LARGE
    assert peak < 1_000_000


def test_load_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError) as caught:
        load(tmp_path / "none.pdf")
    assert caught.value.reason is Reason.NOT_FOUND

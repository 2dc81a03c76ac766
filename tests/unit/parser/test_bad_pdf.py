"""PDFs that are hostile, damaged or without letters: read, or refused with a cure; no crash, no hang."""

import time

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_parser.pdf import MAX_PAGES, read_pdf
from firetrial_parser.reading import read_apart
from unit.parser import hostile_pdf
from unit.parser.paper_pdf import sample

HEBREW = "התוצאות מראות שהדיוק יורד כאשר הרעש גדל בכל המודלים"
CHINESE = "当标签噪声增加时准确率下降而邻居数量越多损失越小这一结果在所有数据集上都成立"


def refused(data: bytes, cure: str) -> None:
    with pytest.raises(FiretrialError, match=cure) as caught:
        read_pdf(data)
    assert all(fault.field and fault.value and fault.cure for fault in caught.value.faults)


async def test_a_stream_that_unpacks_to_gigabytes_ends_its_reader_alone() -> None:
    with pytest.raises(FiretrialError, match="give its text"):
        await read_apart(hostile_pdf.flate_bomb(1_200), "bomb.pdf", timeout=60)


async def test_drawings_that_draw_each_other_without_end_are_given_up() -> None:
    started = time.monotonic()
    with pytest.raises(FiretrialError, match="give its text"):
        await read_apart(hostile_pdf.laughing_forms(), "laughs.pdf", timeout=2)
    assert time.monotonic() - started < 20


async def test_nesting_without_end_is_read_past_or_refused() -> None:
    found = await read_apart(hostile_pdf.nested(), "nested.pdf")
    assert found.text == "A line of text that can be read."


def test_pages_that_are_their_own_children() -> None:
    refused(hostile_pdf.looping_pages(), "fetch the PDF again")


def test_objects_that_lead_to_themselves() -> None:
    refused(hostile_pdf.looping_objects(), "OCR")


def test_a_table_of_objects_that_points_at_nothing_is_made_anew() -> None:
    found, whole = read_pdf(hostile_pdf.wrong_offsets()), read_pdf(sample())
    assert (found.pages, found.sections, found.captions) == (whole.pages, whole.sections, whole.captions)


def test_without_a_table_of_objects() -> None:
    refused(hostile_pdf.without_table(), "fetch it again")


def test_a_scan() -> None:
    refused(hostile_pdf.scanned(), "run OCR")


def test_a_scan_behind_a_cover_of_text_is_not_read_as_its_cover() -> None:
    cover = ["A long line of text on the cover of a scanned book, with its title and its authors."] * 20
    refused(hostile_pdf.scanned(30, cover), "run OCR")


def test_fonts_that_map_to_no_letters() -> None:
    refused(hostile_pdf.unmapped(), "fonts do not say which letters")


def test_too_many_pages() -> None:
    refused(hostile_pdf.many_pages(MAX_PAGES + 1), "split it")


def test_as_many_pages_as_are_read() -> None:
    started = time.process_time()
    assert len(read_pdf(hostile_pdf.many_pages(MAX_PAGES)).pages) == MAX_PAGES
    assert time.process_time() - started < 20


def test_running_heads_alone_are_no_paper() -> None:
    refused(hostile_pdf.many_pages(5, y=770), "running heads")


def test_a_script_without_spaces() -> None:
    def lines(y: float, start: int) -> list[tuple[float, float, float, str]]:
        turned = [CHINESE[n:] + CHINESE[:n] for n in range(start, start + 4)]
        return [(72, y - 12 * n, 10, text) for n, text in enumerate(turned)]

    head = (72.0, 720.0, 18.0, "关于标签噪声的研究")
    one, two = (72.0, 690.0, 12.0, "1 引言"), (72.0, 610.0, 12.0, "2 结果")
    found = read_pdf(hostile_pdf.scripted([head, one, *lines(670, 0), two, *lines(590, 9)]))
    assert found.title == "关于标签噪声的研究"
    assert [section.title for section in found.sections] == ["1 引言", "2 结果"]
    assert found.sections[0].text == "".join(CHINESE[n:] + CHINESE[:n] for n in range(4))


def test_a_script_from_right_to_left() -> None:
    lines = [HEBREW[2 * n :] + HEBREW[: 2 * n] for n in range(6)]
    drawn = [(72.0, 670.0 - 12 * n, 10.0, line[::-1]) for n, line in enumerate(lines)]
    found = read_pdf(hostile_pdf.scripted([(300, 700, 12, "אובמ 1"), *drawn]))
    assert HEBREW in found.text
    assert found.text.count("\n") <= 7  # whole lines, not letters


def test_a_number_in_a_line_from_right_to_left_keeps_its_order() -> None:
    line = "הדיוק יורד אל 12.5% בכל המודלים"
    drawn = line[::-1].replace("%5.21", "12.5%")
    text = read_pdf(hostile_pdf.scripted([(72, 700 - 12 * n, 10, drawn) for n in range(1, 4)])).text
    assert "12.5%" in text
    assert "יורד" in text

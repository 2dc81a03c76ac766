from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firetrial_kit.errors import FiretrialError
from firetrial_parser.pdf import read_pdf
from unit.parser.paper_pdf import FINDING, Put, paragraph, pdf, sample


def test_structure_of_a_small_paper() -> None:
    document = read_pdf(sample())
    assert document.title == "A Small Study of Noise in Labels"
    assert document.authors == ("Ada Byron", "Alan Turing")
    assert document.abstract.startswith("We study what wrong labels do")
    assert [(s.title, s.level, s.page) for s in document.sections] == [
        ("Abstract", 1, 1),
        ("1 Introduction", 1, 1),
        ("2 Results", 1, 2),
    ]
    assert [(c.label, c.page, c.section) for c in document.captions] == [
        ("Table 1", 2, 2),
        ("Figure 1", 2, 2),
    ]
    assert document.captions[1].text.endswith("for each number of neighbours.")
    assert FINDING in document.sections[2].text
    assert "classifiers of this kind" in document.sections[1].text
    assert len(document.pages) == 2


def test_page_numbers_are_no_text() -> None:
    document = read_pdf(sample())
    assert all(not page.rstrip().endswith(("1", "2")) for page in document.pages)


def test_captions_side_by_side_and_in_an_appendix() -> None:
    body = paragraph(72, 700, ["A line of running text that is long enough to be prose."] * 6)
    side = [Put(72, 500, "Figure 1: The left one.", 9), Put(330, 500, "Figure 2: The right one.", 9)]
    appendix = [Put(72, 400, "A Appendix", 12, "F2"), Put(72, 380, "Table 7: Far behind.", 9)]
    heads = [Put(72, 730, "1 Method", 12, "F2")]
    document = read_pdf(pdf([[*heads, *body, *side, *appendix]]))
    assert {c.label for c in document.captions} == {"Figure 1", "Figure 2", "Table 7"}


def test_a_sentence_that_names_a_table_is_no_caption() -> None:
    text = [
        "All of the intervals are so narrow that they are left out in",
        "Table 1. However, they were computed.",
    ]
    document = read_pdf(pdf([[Put(72, 700, "1 Results", 12, "F2"), *paragraph(72, 680, text * 3)]]))
    assert document.captions == ()


def refused(data: bytes) -> FiretrialError:
    with pytest.raises(FiretrialError) as caught:
        read_pdf(data)
    assert caught.value.faults
    assert all(f.field and f.cure for f in caught.value.faults)
    return caught.value


def test_encrypted() -> None:
    assert "password" in str(refused(pdf([[Put(72, 700, "secret")]], encrypted=True)))


def test_truncated_and_garbage() -> None:
    refused(b"%PDF-1.7\n" + b"\x00garbage" * 100)
    refused(sample()[:300])


def test_no_text_layer() -> None:
    assert "OCR" in str(refused(pdf([[], []])))


def test_no_pages() -> None:
    refused(pdf([]))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_file_is_read_or_refused_but_never_crashes(data: st.DataObject) -> None:
    whole = bytearray(sample())
    for _ in range(data.draw(st.integers(1, 20))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with suppress(FiretrialError):
        read_pdf(bytes(whole[: data.draw(st.integers(10, len(whole)))]))

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.errors import FiretrialError
from firetrial_parser.document import Document
from firetrial_parser.markdown import read_markdown
from unit.parser.study import document


def test_title_sections_and_captions() -> None:
    found = document()
    assert found.title == "How heating time changes the hardness of steel samples"
    assert found.abstract == "We heat samples and measure how hard they are afterwards."
    assert [(s.title, s.level) for s in found.sections][:3] == [
        ("Abstract", 1),
        ("Question", 1),
        ("Scope", 1),
    ]
    assert [(c.label, c.kind, c.text) for c in found.captions] == [
        ("Table 1", "table", "Hardness for each heating time."),
        ("Figure 1", "figure", "Spread of the readings."),
    ]
    assert {found.sections[c.section or 0].title for c in found.captions} == {"Results"}


def test_list_items_are_paragraphs_and_table_cells_are_none() -> None:
    sections = {s.title: s for s in document().sections}
    assert sections["Scope"].paragraphs[0] == "Data: 24 samples of one steel."
    assert "410 |" not in sections["Results"].text
    assert "| 40 | 655 |" in document().text


def test_marked_up_captions_and_image_texts() -> None:
    found = document("# T\n\n**Table 2:** *Scores* of `k`.\n\n![Figure 3: A plot](x.png)\n")
    assert [(c.label, c.text) for c in found.captions] == [
        ("Table 2", "Scores of k."),
        ("Figure 3", "A plot"),
    ]


def test_several_top_headings_are_all_sections() -> None:
    found = document("# One\n\ntext\n\n# Two\n\n## Below\n")
    assert [(s.title, s.level) for s in found.sections] == [("One", 1), ("Two", 1), ("Below", 2)]


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(FiretrialError):  # white space, control characters
        found = read_markdown(text.encode("utf-8", "ignore"))
        assert Document.from_json(found.to_json()) == found

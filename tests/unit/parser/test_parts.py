from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.document import Section
from firetrial_parser.parts import MAX_PARTS, cut, front, parts
from unit.parser.study import TEXT, document

WORDS = "Steel is heated and measured, once more and with care. "


def size(text: str) -> int:
    return len(text.encode())


def test_a_short_paper_is_one_part_with_its_captions() -> None:
    (part,), left = parts(document(), 24_000)
    assert left == 0
    assert part.name == "Question – Discussion"
    assert "## Results" in part.text
    assert part.captions.splitlines() == [
        "Table 1: Hardness for each heating time.",
        "minutes | hardness",
        "10 | 410",
        "40 | 655",
        "Figure 1: Spread of the readings.",
    ]


def test_references_and_the_abstract_are_in_no_part() -> None:
    paper = document(f"{TEXT}\n## References\n\nA. Body. On steel.\n")
    (part,), _ = parts(paper, 24_000)
    assert "On steel" not in part.text
    assert "We heat samples" not in part.text


@pytest.mark.parametrize("unit", [WORDS, "钢被加热并测量。", "🔩🔥", "x" * 5_000])
@pytest.mark.parametrize("joint", ["", " ", "\n\n"])
def test_a_section_too_long_is_cut_into_parts_that_fit_and_hold_it_all(unit: str, joint: str) -> None:
    text = joint.join([unit] * (30_000 // len(unit)))
    paper = replace(document(), sections=(Section("Long", 1, 1, text),), captions=())
    found, left = parts(paper, 4_000)
    assert left == 0
    assert all(size(part.text) + size(part.captions) <= 4_000 + 40 for part in found)  # the last cut's marks
    told = "".join(part.text.replace("## Long\n\n", "") for part in found)
    assert "".join(told.split()) == "".join(text.split())


def test_what_is_left_out_is_told() -> None:
    sections = tuple(Section(f"S{n}", 1, 1, WORDS * 15) for n in range(MAX_PARTS + 5))
    found, left = parts(replace(document(), sections=sections, captions=()), 1_000)
    assert len(found) == MAX_PARTS
    assert left > 5 * len(WORDS) * 14


def test_the_front_fits_however_many_headings_and_captions_there_are() -> None:
    many = "".join(f"## Heading {n}\n\n{WORDS}\n\nTable {n}: {WORDS * 20}\n\n" for n in range(2, 300))
    texts = front(document(TEXT + many), 12_000)
    assert sum(map(size, texts.values())) < 12_000 + 1_000
    assert texts["TITLE"].startswith("How heating time")
    assert "We heat samples" in texts["BEGINNING"]
    assert texts["HEADINGS"].startswith("Abstract\nQuestion\nScope")
    assert texts["CAPTIONS"].startswith("Table 1: Hardness for each heating time.\n")


@given(st.text(), st.integers(0, 40))
def test_a_cut_text_is_a_beginning(text: str, least: int) -> None:
    short = cut(text, least, mark="")
    assert text.startswith(short)
    assert size(short) <= max(least, 0)
    assert short == text or size(text) > least

from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.glyphs import Font, Glyph, combine_accents, lines

BODY = Font("Serif", 10.0, bold=False)
BOLD = Font("Serif-Bold", 10.0, bold=True)
SMALL = Font("Serif", 6.0, bold=False)


def spell(text: str, x: float, y: float, font: Font = BODY) -> list[Glyph]:
    out, space = [], False
    for i, char in enumerate(text):
        if char == " ":
            space = True
            continue
        out.append(Glyph(char, x + i * font.size / 2, x + (i + 1) * font.size / 2, y, font, space))
        space = False
    return out


def test_a_line_is_what_stands_on_one_base_line() -> None:
    found = lines([*spell("first line", 50, 700), *spell("second", 50, 688)])
    assert [line.text for line in found] == ["first line", "second"]


def test_a_column_gutter_parts_lines() -> None:
    found = lines([*spell("left", 50, 700), *spell("right", 90, 700)])
    assert [line.text for line in found] == ["left", "right"]


def test_footnote_marks_go_and_exponents_stay() -> None:
    marked = lines([*spell("word", 50, 700), *spell("2", 70, 704, SMALL), *spell("goes", 74, 700)])
    assert marked[0].text == "wordgoes"
    power = lines([*spell("10", 50, 700), *spell("53", 60, 704, SMALL), *spell("ok", 67, 700)])
    assert power[0].text == "10^53ok"
    note = lines([*spell("1", 50, 704, SMALL), *spell("Work done", 54, 700)])
    assert note[0].marked
    assert note[0].text == "Work done"


def test_letters_of_a_ligature_share_a_box() -> None:
    ligature = [Glyph("f", 60, 68, 700, BODY, False), Glyph("i", 60, 68, 700, BODY, False)]
    found = lines([*spell("of", 50, 700), *ligature, *spell("ne", 68, 700)])
    assert [line.text for line in found] == ["offine"]


def test_bold_share_and_head() -> None:
    line = lines([*spell("Bold ", 50, 700, BOLD), *spell("and plain text", 75, 700)])[0]
    assert line.bold_head
    assert 0 < line.bold < 0.5


def test_an_accent_is_put_on_its_letter() -> None:
    glyphs = [*spell("Holder", 50, 700), Glyph("¨", 56, 59, 700, BODY, False)]
    assert lines(combine_accents(glyphs))[0].text == "Hölder"


@given(
    st.lists(
        st.tuples(st.floats(0, 600), st.floats(0, 800), st.characters(categories=["L", "N"])), max_size=60
    )
)
def test_no_character_is_lost(placed: list[tuple[float, float, str]]) -> None:
    glyphs = [Glyph(char, x, x + 5, y, BODY, False) for x, y, char in placed]
    found = "".join(line.text for line in lines(glyphs))
    assert sorted(found.replace(" ", "")) == sorted(char for *_, char in placed)

import pytest

from firetrial_parser.cells import Box, grid, ruled_box, whole_rules
from firetrial_parser.glyphs import Font, Glyph, Rule

FONT = Font("Serif", 10.0, bold=False)


def written(x: float, y: float, text: str) -> list[Glyph]:
    """The text's glyphs, each half its size wide; spaces leave a quarter."""
    out: list[Glyph] = []
    space = False
    for letter in text:
        if letter == " ":
            x, space = x + 2.5, True
            continue
        out.append(Glyph(letter, x, x + 5, y, FONT, space))
        x, space = x + 5, False
    return out


def table(*rows: tuple[float, dict[float, str]]) -> list[Glyph]:
    return [glyph for y, cells in rows for x, text in cells.items() for glyph in written(x, y, text)]


BOX = Box(50, 300, 100, 200)
TOP, BOTTOM = Rule(50, 300, 200), Rule(50, 300, 100)


def test_rows_and_columns_with_a_head_over_two_of_them() -> None:
    glyphs = table(
        (190, {165: "Accuracy"}),
        (175, {50: "Share", 150: "mean", 200: "best"}),
        (155, {50: "no wrong one", 150: "90.1", 200: "91.0"}),
        (140, {50: "half of them", 150: "55.4", 200: "60.2"}),
    )
    found = grid(BOX, glyphs, [TOP, Rule(50, 300, 165), Rule(150, 220, 184), BOTTOM])
    assert found is not None
    assert found.rows == (
        ("", "Accuracy", ""),
        ("Share", "mean", "best"),
        ("no wrong one", "90.1", "91.0"),
        ("half of them", "55.4", "60.2"),
    )
    assert found.header_rows == 2


def test_a_name_between_two_rows_belongs_to_both_and_stands_in_the_first() -> None:
    glyphs = table(
        (190, {120: "Method", 200: "Score"}),
        (170, {120: "plain", 200: "10.5"}),
        (164, {50: "Model"}),
        (158, {120: "other", 200: "11.5"}),
        (140, {50: "Next", 120: "plain", 200: "12.5"}),
    )
    found = grid(BOX, glyphs, [])
    assert found is not None
    assert found.rows[1:4] == (("Model", "plain", "10.5"), ("", "other", "11.5"), ("Next", "plain", "12.5"))


def test_a_cell_that_is_wrapped_is_one() -> None:
    glyphs = table(
        (190, {50: "Case", 120: "Example"}),
        (170, {50: "One", 120: "a long example that"}),
        (158, {120: "goes on below"}),
        (140, {50: "Two", 120: "a short one"}),
    )
    found = grid(BOX, glyphs, [Rule(50, 300, 182), Rule(50, 300, 150)])
    assert found is not None
    assert found.rows[1:] == (("One", "a long example that goes on below"), ("Two", "a short one"))


@pytest.mark.parametrize(
    "rows", [[], [(150.0, {50: "alone"})], [(150.0, {50: "one"}), (130.0, {50: "column"})]]
)
def test_what_has_no_columns_is_no_table(rows: list[tuple[float, dict[float, str]]]) -> None:
    assert grid(BOX, table(*rows), []) is None


def test_a_table_is_found_on_the_nearer_side_of_its_caption() -> None:
    above, below = Box(50, 300, 210, 220), Box(50, 300, 80, 90)
    assert ruled_box(above, [], [TOP, BOTTOM]) == BOX
    assert ruled_box(below, [], [TOP, BOTTOM]) == BOX


def test_a_table_never_reaches_beyond_another_caption() -> None:
    caption, other = Box(50, 300, 210, 220), Box(50, 300, 145, 155)
    assert ruled_box(caption, [other], [TOP, BOTTOM]) is None
    inner = Rule(50, 300, 160)
    assert ruled_box(caption, [other], [TOP, inner, BOTTOM]) == Box(50, 300, 160, 200)


def test_rules_of_other_lengths_are_no_border() -> None:
    caption = Box(50, 300, 210, 220)
    assert ruled_box(caption, [], [TOP, Rule(50, 120, 100)]) is None
    assert ruled_box(caption, [], [Rule(400, 500, 200), Rule(400, 500, 100)]) is None


def test_rules_drawn_cell_by_cell_are_one() -> None:
    assert whole_rules([Rule(90, 300, 100), Rule(50, 89.5, 100.3), Rule(50, 80, 60)]) == [
        Rule(50, 300, 100.3),
        Rule(50, 80, 60),
    ]

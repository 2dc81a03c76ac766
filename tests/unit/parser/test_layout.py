from firetrial_parser.glyphs import Font, Line
from firetrial_parser.layout import PageLines, blocks, in_reading_order, leading, without_furniture

BODY = Font("Serif", 10.0, bold=False)
BOLD = Font("Serif-Bold", 12.0, bold=True)


def line(text: str, x: float, y: float, *, font: Font = BODY, width: float = 220) -> Line:
    return Line(text, x, x + width, y, font, font.size, float(font.bold), font.bold)


def page(*lines: Line, number: int = 1) -> PageLines:
    return PageLines(number, 612, 792, lines)


def column(x: float, top: float, name: str, count: int = 8) -> list[Line]:
    return [line(f"{name} line {i} of running text here", x, top - 12 * i) for i in range(count)]


def test_two_columns_are_read_one_after_the_other_whatever_the_drawing_order() -> None:
    left, right = column(70, 600, "left"), column(310, 600, "right")
    drawn = [each for pair in zip(left, right, strict=True) for each in pair]
    one = page(*drawn)
    found = in_reading_order(one, blocks(one, 1.2))
    assert [b.lines[0].text.split()[0] for b in found] == ["left", "right"]
    assert all(len(b.lines) == 8 for b in found)


def test_what_spans_both_columns_parts_them() -> None:
    above = [*column(70, 700, "a"), *column(310, 700, "b")]
    wide = line("Figure 1: spans both columns of the page", 70, 560, width=460)
    below = [*column(70, 500, "c"), *column(310, 500, "d")]
    one = page(*above, wide, *below)
    found = in_reading_order(one, blocks(one, 1.2))
    assert [b.lines[0].text.split()[0] for b in found] == ["a", "b", "Figure", "c", "d"]


def test_a_caption_beside_text_is_a_block_of_its_own() -> None:
    text = column(70, 600, "text")
    caption = [line("Figure 2: beside", 320, 595), line("the running text", 320, 583)]
    found = blocks(page(*text[:4], *caption, *text[4:]), 1.2)
    assert sorted(len(b.lines) for b in found) == [2, 8]


def test_a_caption_right_under_text_begins_a_block() -> None:
    found = blocks(
        page(line("a full line of text that ends.", 70, 600), line("Table 3: Scores", 70, 588)), 1.2
    )
    assert len(found) == 2


def test_a_bold_heading_parts_from_its_text() -> None:
    found = blocks(
        page(line("Bold head", 70, 600, font=Font("B", 10.0, bold=True)), line("plain", 70, 588)), 1.2
    )
    assert len(found) == 2


def test_wider_leading_ends_a_block() -> None:
    lines = [*column(70, 600, "a", 3), *column(70, 555, "b", 3)]
    assert [len(b.lines) for b in blocks(page(*lines), 1.2)] == [3, 3]


def test_leading_is_the_usual_one() -> None:
    assert leading([page(*column(70, 600, "a"))]) == 1.2
    assert leading([]) == 1.2


def test_furniture_goes() -> None:
    pages = [
        page(
            line(f"Short title, page {n}", 70, 770),
            *column(70, 600, "a"),
            line(str(n), 300, 30, width=6),
            number=n,
        )
        for n in (1, 2, 3)
    ]
    assert {each.text[:1] for p in without_furniture(pages) for each in p.lines} == {"a"}


def test_line_numbers_of_a_review_copy_go_but_a_table_stays() -> None:
    numbers = [line(str(i), 40, 700 - 12 * i, width=12) for i in range(30)]
    cells = [line(str(i), 100 * i, 300, width=12) for i in range(5)]
    kept = without_furniture([page(*numbers, *column(70, 600, "a"))])[0]
    assert len(kept.lines) == 8
    assert len(without_furniture([page(*cells)])[0].lines) == 5

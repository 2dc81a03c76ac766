from firetrial_parser.glyphs import Font, Line
from firetrial_parser.layout import Block
from firetrial_parser.referenced import references

BODY = Font("Serif", 10.0, bold=False)


def line(text: str, x: float, y: float) -> Line:
    return Line(text, x, x + 200, y, BODY, 10.0, 0.0)


def block(page: int, *lines: Line) -> Block:
    return Block(page, lines)


def test_numbers_begin_entries() -> None:
    found = block(
        1,
        line("[1] Ada Byron. Notes on en-", 70, 700),
        line("gines. 1843.", 85, 688),
        line("[2] Alan", 70, 676),
    )
    assert references([found], set()) == ("[1] Ada Byron. Notes on engines. 1843.", "[2] Alan")


def test_lines_set_in_go_on_over_columns_and_pages() -> None:
    left = block(
        1,
        line("Ada Byron. Notes on", 70, 700),
        line("engines. 1843.", 82, 688),
        line("Alan Turing. On", 70, 676),
    )
    right = block(
        1,
        line("machinery. 1950.", 322, 700),
        line("Grace Hopper. The", 310, 688),
        line("education of a", 322, 676),
    )
    after = block(
        2, line("computer. 1952.", 82, 700), line("Kurt Gödel. Sätze. 1931.", 70, 688), line("X.", 70, 676)
    )
    assert references([left, right, after], set()) == (
        "Ada Byron. Notes on engines. 1843.",
        "Alan Turing. On machinery. 1950.",
        "Grace Hopper. The education of a computer. 1952.",
        "Kurt Gödel. Sätze. 1931.",
        "X.",
    )


def test_else_each_block_is_an_entry_and_floating_tables_are_none() -> None:
    entries = [block(1, line(f"Author {n}. A title. 19{n}0.", 70, 700 - 30 * n)) for n in range(1, 5)]
    table = block(
        1, line("0.11 0.22 0.33 0.44 0.55 0.66", 70, 500), line("0.77 0.88 0.99 1.11 2.22", 70, 488)
    )
    assert references([*entries, table, block(1, line("14", 300, 40))], set()) == tuple(
        e.text for e in entries
    )


def test_nothing() -> None:
    assert references([], set()) == ()

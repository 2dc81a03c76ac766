from __future__ import annotations

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from firetrial_operate import printing


@given(st.text())
def test_nothing_that_a_terminal_would_act_on_is_left(text: str) -> None:
    shown = printing.safe(text)
    assert shown.isprintable() or not {*shown} & {*map(chr, range(32)), "\x7f", "\u202e", "\x9b", "\ud800"}


@given(
    st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_trees_of_any_shape_are_printed_line_by_line(value: object) -> None:
    @click.command()
    def command() -> None:
        printing.tree(value)

    result = CliRunner().invoke(command)
    assert result.exit_code == 0
    assert "\x1b" not in result.output


def test_what_python_holds_as_a_tuple_is_a_list_to_read() -> None:
    @click.command()
    def command() -> None:
        printing.tree({"runs": ("r-1", "r-2")})

    assert CliRunner().invoke(command).output == "runs:\n  - r-1\n  - r-2\n"


def test_nobody_at_a_terminal_is_not_asked() -> None:
    printing.confirm("Sure?", sure=True)
    with pytest.raises(click.UsageError, match="--yes"):
        printing.confirm("Sure?", sure=False)


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 * 1024**4, "5.0 TiB")]
)
def test_sizes(count: int, told: str) -> None:
    assert printing.size(count) == told


ROWS = st.integers(1, 6).flatmap(
    lambda n: st.lists(
        st.lists(st.text("abc -", max_size=30), min_size=n, max_size=n), min_size=1, max_size=5
    )
)


def width(lines: list[list[str]]) -> int:
    return max(len("  ".join(map(str.ljust, line, widths(lines)))) for line in lines)


def widths(lines: list[list[str]]) -> list[int]:
    return [max(map(len, cells)) for cells in zip(*lines, strict=True)]


@given(ROWS, st.integers(10, 120))
def test_a_table_is_as_narrow_as_it_must_be(rows: list[list[str]], edge: int) -> None:
    lines = [[f"COLUMN {n}" for n in range(len(rows[0]))], *rows]
    found = printing.fitted(lines, edge, less=lines[0][1:3])
    assert [line[0] for line in found] == [line[0] for line in lines]
    if width(lines) <= edge:
        assert found == lines
    elif width(found) > edge:
        assert max(widths(found)[1:], default=0) <= 6


def test_what_says_less_goes_before_anything_is_cut() -> None:
    lines = [
        ["STREAM", "NAME", "KIND", "PENDING", "DRIFT"],
        ["FT_EVT", "runner-proposal_assess_failed", "durable", "12", ""],
        ["KV_ft_runner", "keeper", "durable", "0", ""],
    ]
    assert printing.fitted(lines, 68, ["DRIFT", "KIND"]) == lines
    assert printing.fitted(lines, 67, ["DRIFT", "KIND"]) == [line[:4] for line in lines]
    assert printing.fitted(lines, 52, ["DRIFT", "KIND"]) == [[*line[:2], line[3]] for line in lines]
    assert printing.fitted(lines, 40, ["KIND"])[1:] == [
        ["FT_EVT", "runner-p…s_failed", "12"],
        ["KV_ft_runner", "keeper", "0"],
    ]


def test_what_is_piped_is_whole() -> None:
    @click.command()
    def command() -> None:
        printing.table(["NAME", "WHY"], [["a" * 90, "b" * 90]], less=["WHY"])

    assert (
        CliRunner(env={"COLUMNS": "80"}).invoke(command).output.splitlines()[1] == f"{'a' * 90}  {'b' * 90}"
    )

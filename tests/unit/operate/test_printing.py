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

"""Progress floods no pipe and fits any terminal."""

import io

import pytest
from rich.console import Console

from firetrial_client.cli.board import Board
from firetrial_client.cli.display import Lines, Picture
from unit.client.cli.test_board import QUEUED, RUNNING, run


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_line_for_each_change_and_at_most_one_a_second() -> None:
    clock, written = Clock(), list[str]()
    board = Board("e-1", ["a"], expected=100)
    lines = Lines(board, written.append, clock)
    for number in range(1, 101):
        board.update(run("a", number, RUNNING))
        lines.show()
        lines.show()
        clock.now += 0.1
    assert 9 <= len(written) <= 11
    lines.finish()
    lines.finish()
    assert written[-1].endswith("0/100 ended · 100 running")
    assert len(set(written)) == len(written)


def test_nothing_is_said_twice() -> None:
    clock, written = Clock(), list[str]()
    lines = Lines(Board("e-1"), written.append, clock)
    for _ in range(10):
        clock.now += 5
        lines.show()
    assert len(written) == 1


@pytest.mark.parametrize("width", [8, 20, 40, 80, 200])
@pytest.mark.parametrize("height", [3, 6, 50])
def test_the_picture_fits_the_terminal(width: int, height: int) -> None:
    board = Board("e-0123456789abcdef", [f"an-agent-with-a-long-name@{n}" for n in range(12)], expected=24)
    board.update(run(board.agents[0], 1, QUEUED, reason="a long reason " * 20))
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True)
    picture = Picture(board, console, Clock())
    lines = console.render_lines(picture.draw(), console.options, pad=False)
    assert all(sum(segment.cell_length for segment in line) <= width for line in lines)
    assert len(lines) <= max(height, 6) + 1


def test_a_stranger_cannot_style_the_picture() -> None:
    board = Board("e-1", ["[red]a[/red]"], expected=1)
    board.update(run("[red]a[/red]", 1, RUNNING, reason="[bold]\x1b[2J"))
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    console.print(Picture(board, console, Clock()).draw())
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "[red]a[/red]" in text
    assert "\x1b[2J" not in text

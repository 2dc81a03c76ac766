from __future__ import annotations

from dataclasses import dataclass

import pytest

from firetrial_operate.progress import Progress


class BrokenError(Exception):
    pass


@dataclass
class Time:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def said(*, live: bool, each_s: float, steps: int) -> list[str]:
    """What is written of so many objects of 1 KiB, each of which takes so long."""
    time, written = Time(), list[str]()
    with Progress(written.append, time, live=live).of("objects copied", 90) as part:
        for _ in range(steps):
            time.now += each_s
            part.step(size=1024)
        time.now += 60.0
    return written


@pytest.mark.parametrize("live", [True, False])
def test_work_that_is_short_says_nothing(live: bool) -> None:
    assert said(live=live, each_s=0.0625, steps=31) == []


def test_elsewhere_there_is_a_line_a_second_and_the_last_one_is_whole() -> None:
    assert said(live=False, each_s=0.0625, steps=50) == [
        "     2 s  objects copied: 32 of 90, 32.0 KiB\n",
        "     3 s  objects copied: 48 of 90, 48.0 KiB\n",
        " 1.1 min  objects copied: 50 of 90, 50.0 KiB\n",
    ]


def test_a_line_is_not_said_twice() -> None:
    assert [line.partition(":")[2] for line in said(live=False, each_s=2.0, steps=2)] == [
        " 1 of 90, 1.0 KiB\n",
        " 2 of 90, 2.0 KiB\n",
    ]


def test_on_a_terminal_it_is_one_line_of_which_nothing_stays() -> None:
    assert said(live=True, each_s=2.0, steps=2) == [
        "\r     2 s  objects copied: 1 of 90, 1.0 KiB\x1b[K",
        "\r     4 s  objects copied: 2 of 90, 2.0 KiB\x1b[K",
        "\r\x1b[K",
    ]


async def test_work_that_fails_is_not_done() -> None:
    time, written = Time(), list[str]()

    async def fails() -> None:
        time.now += 5.0
        raise BrokenError

    with Progress(written.append, time, live=False).of("records deleted") as part:
        with pytest.raises(BrokenError):
            await part.after(fails())
        part.step(0, 7)
    assert written == ["     5 s  records deleted: 0, 7 B\n"]

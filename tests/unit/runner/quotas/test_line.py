from __future__ import annotations

from firetrial_runner.quotas.line import Line, Stage


def test_of_each_pool_so_many_may_go_as_there_is_room_for() -> None:
    line = Line()
    for number, (pool, gpus) in enumerate((("a", 2), ("a", 2), ("b", 0), ("a", 1), ("b", 4), ("b", 3)), 1):
        line = line.holding(f"r-{number}", pool, gpus) or line
    gone = line.letting_go((2, 3))
    assert gone is not None
    assert gone.at(Stage.MAY_GO) == ("r-1", "r-3", "r-4", "r-6")
    assert gone.at(Stage.OUTSIDE) == ("r-2", "r-5")
    assert gone.letting_go((2, 3)) is None  # what is back in its pool has no place yet, and will ask for one
    back = gone.back(["r-1", "r-3", "r-4"])
    assert back is not None
    assert back.at(Stage.MAY_GO) == ("r-6",)
    again = back.holding("r-3", "b", 0)
    assert again is not None
    assert list(again.held) == [f"r-{number}" for number in range(1, 7)]
    assert again.at(Stage.OUTSIDE) == ("r-2", "r-3", "r-5")


def test_one_that_is_looked_at_before_it_is_known_to_be_back_waits_outside() -> None:
    gone = (Line().holding("r-1", "a", 0) or Line()).letting_go((1, 0))
    assert gone is not None
    again = gone.holding("r-1", "a", 0)
    assert again is not None
    assert again.back(["r-1"]) is None
    assert again.at(Stage.OUTSIDE) == ("r-1",)


def test_so_many_wait_outside_and_others_in_their_pool() -> None:
    line = Line()
    for number in range(1_000):
        line = line.holding(f"r-{number}", "a", 0) or line
    assert line.holding("r-1000", "a", 0) is None
    assert len(line.held) == 1_000

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.integrity.quantities import quantities
from firetrial_analyzer.integrity.scanning import EVERY, Text, Wanted, admissible
from firetrial_analyzer.taxonomy.actions import Line


def text(*lines: str) -> Text:
    return Text.of(tuple(Line(n, line) for n, line in enumerate(lines, 1)))


def values(line: str) -> list[float]:
    return [item.value * (-1 if item.negative else 1) for item in text(line).found(EVERY)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("acc: 0.87, r=-0.49", [0.87, -0.49]),
        ('{"a": 0.25, "b": .5}', [0.25, 0.5]),
        ("0.412,0.655", [0.412, 0.655]),
        ("gpt-3.5 7b v1.2.3", []),
        ("at 12:41:07", []),
        ("1.8e-3 and 3E-05", [0.0018, 3e-05]),
        ("15.8k tokens, 2.3M", [15800, 2.3e6]),
        ("0.4-0.6", [0.4, 0.6]),
        ("83%|████▎ | 166/200 [03:12<00:39,  1.16s/it]", [166, 200]),
        ("nan inf", []),
    ],
)
def test_numbers_of_an_output(line: str, expected: list[float]) -> None:
    assert values(line) == pytest.approx(expected)


def test_thousands_are_read_both_ways() -> None:
    assert 1284331 in values("used 1,284,331 tokens")
    assert {411, 655} <= set(values("411,655"))


@pytest.mark.parametrize(
    ("line", "unit"),
    [("83 %", "%"), ("12.3s", "s"), ("elapsed_ms=312", "ms"), ("wall seconds: 5", "s"), ("time (s): 5", "s"),
     ("min 5", ""), ("2.5x", "x"), ("lasted 2.50 hours", "h")],
)  # fmt: skip
def test_units(line: str, unit: str) -> None:
    (found,) = text(line).found(EVERY)
    assert found.unit == unit


def test_places() -> None:
    (found,) = text("first", "second: 0.5").found(EVERY)
    assert (found.line, found.start, found.end) == (1, 8, 11)


@given(st.floats(0, 1000), st.integers(0, 4))
def test_what_is_rounded_is_admissible(value: float, digits: int) -> None:
    told = f"{value:.{digits}f}"
    (item,) = quantities(f"is {told} ")
    assert any(low <= value <= high for unit, _, low, high in admissible(item) if unit == "")


@pytest.mark.parametrize(("told", "value", "fits"), [
    ("0.12", 0.125, True), ("0.13", 0.125, True), ("0.12", 0.1151, True), ("0.12", 0.1149, False),
    ("81%", 0.8125, True), ("82%", 0.8125, False), ("25.2 min", 1512.4, True), ("1.28M", 1284331, True),
])  # fmt: skip
def test_rounding_and_units(told: str, value: float, fits: bool) -> None:
    (item,) = quantities(f"is {told}")
    assert any(low <= value <= high for _, _, low, high in admissible(item)) is fits


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 5)), max_size=20), st.floats(0, 110))
def test_wanted_is_the_union_of_intervals(given_intervals: list[tuple[float, float]], value: float) -> None:
    intervals = [(low, low + width) for low, width in given_intervals]
    wanted = Wanted(intervals)
    assert wanted.has(value) == any(low <= value <= high for low, high in intervals)


@given(st.text(max_size=300))
def test_any_line_is_read_by_both_ways_alike(line: str) -> None:
    shown = text(*line.splitlines())
    assert len(shown.numbers()) >= len({(item.line, item.start) for item in shown.found(EVERY)})


@pytest.mark.parametrize("piece", ["9", "1,234,", "0.5 ", "1.", "-1", "[0:", "9%|", "1e", "1k"])
def test_scanning_takes_time_in_proportion_to_the_text(piece: str) -> None:
    shown = text(piece * (10**6 // len(piece)))
    begun = time.process_time()
    shown.numbers()
    assert time.process_time() - begun < 5

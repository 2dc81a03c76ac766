"""Durations and sizes are read as people write them, and nothing else is."""

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_client.units import format_duration, format_size, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("10m", 600),
        ("1h30m", 5400),
        ("250ms", 0.25),
        ("1.5h", 5400),
        (" 2D ", 172800),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "0", "0s", "-1s", "s", "10 minutes", "1h 30", "1e3s", "inf", "nan", "400d", "٣s", "9" * 400]
)
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match=r"write it like|out of range"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("4096", 4096), ("512K", 2**19), ("2G", 2**31), ("1.5GiB", 3 * 2**29), ("10mb", 10 * 2**20), ("7 B", 7)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "G", "2X", "1e9", "2 G G", "9T9", "inf", "9" * 400])
def test_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match=r"write it like|out of range"):
        parse_size(text)


@given(st.integers(min_value=1, max_value=366 * 86400))
def test_a_whole_duration_survives_writing_and_reading(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds)


@given(st.floats(min_value=0, max_value=1e7))
def test_a_duration_is_written_to_the_second(seconds: float) -> None:
    written = format_duration(seconds)
    read = parse_duration(written) if written not in ("0s", "0.0s") else 0.0
    assert math.isclose(read, seconds, abs_tol=0.51)


@given(st.integers(min_value=0, max_value=2**50))
def test_a_size_is_written_to_a_tenth_of_its_unit(size: int) -> None:
    written = format_size(size)
    if size:
        assert parse_size(written) == pytest.approx(size, rel=0.05)


@given(st.text(max_size=12))
def test_whatever_is_typed_is_a_quantity_or_a_value_error(text: str) -> None:
    for parse in (parse_duration, parse_size):
        with suppress(ValueError):
            assert parse(text) > 0

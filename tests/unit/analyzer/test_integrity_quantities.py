import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.integrity.quantities import quantities
from firetrial_analyzer.integrity.sorting import Sort


def told(text: str) -> list[tuple[str, float, str, str]]:
    return [(item.text, item.value, item.unit, item.sort.value) for item in quantities(text)]


@pytest.mark.parametrize(
    ("text", "value", "half", "unit", "sign"),
    [
        ("is 0.87", 0.87, 0.005, "", ""),
        ("is 73.2 %", 73.2, 0.05, "%", ""),
        ("is 12 percentage points", 12, 0.5, "%", ""),
        ("cost $1,284.50", 1284.5, 0.005, "", ""),
        ("used 12.4k", 12400, 50, "", ""),
        ("used 2.3 million", 2.3e6, 5e4, "", ""),
        ("about 1,800 words", 1800, 50, "", ""),
        ("by −0.49", -0.49, 0.005, "", "-"),
        ("by +300", 300, 0.5, "", "+"),
        ("is 3.2e-05", 3.2e-5, 5e-7, "", ""),
        ("is 1.2 × 10^−5", 1.2e-5, 5e-7, "", ""),
        ("is 2.5× faster", 2.5, 0.05, "x", ""),
        ("is 3-fold", 3, 0.5, "x", ""),
        ("took 348 ms", 348, 0.5, "ms", ""),
        ("took 25.2 minutes", 25.2, 0.05, "min", ""),
        ("is .05", 0.05, 0.005, "", ""),
    ],
)
def test_value_precision_and_unit(text: str, value: float, half: float, unit: str, sign: str) -> None:
    (item,) = quantities(text)
    assert item.value == pytest.approx(value)
    assert (item.unit, item.sign) == (unit, sign)
    assert item.half == pytest.approx(half)
    assert text[item.start : item.end] == item.text


@pytest.mark.parametrize(
    "text",
    [
        "GPT-4 and Llama-3-8B", "see Section 4.2, Table 3 and Figures 2 and 3a", "in 2023",
        "(Smith et al., 2023)", "top-5 and pass@10", "a 20-document context", "at 95% CI", "α = 0.05",
        "Python 3.11", "arXiv:2307.03172", "https://example.org/2024/05", "/home/run_2/out.json",
        "on 2024-05-03 at 12:30", "1. First\n2) Second",
        "the 3rd try", "positions 0-4", "v1.2.3", "layer 12",
    ],
)  # fmt: skip
def test_what_is_no_result(text: str) -> None:
    assert {item.sort for item in quantities(text)} <= {Sort.NONE}


def test_settings_bounds_and_pairs() -> None:
    assert told("with temperature 0.7 on 200 questions (p < .001)") == [
        ("0.7", 0.7, "", "setting"), ("200", 200, "", "setting"), (".001", 0.001, "", "bound")
    ]  # fmt: skip
    three, twenty = quantities("3 of 20 answers")
    assert (three.pair, twenty.pair) == (1, 0)
    assert [item.value for item in quantities("182/500 and two of three, 4 out of 5")] == [
        182,
        500,
        2,
        3,
        4,
        5,
    ]
    assert told("three models and seven points") == [("seven", 7, "%", "result")]


def test_ranges_have_no_minus() -> None:
    assert [item.value for item in quantities("0.4–0.6, 0.4-0.6, [-0.1, 0.2]")] == [
        0.4,
        0.6,
        0.4,
        0.6,
        -0.1,
        0.2,
    ]


@given(st.text(alphabet="0123456789.,-+−%eE ×^{}()/xkMps=<~|\n", max_size=200))
def test_any_text_is_read(text: str) -> None:
    found = quantities(text)
    assert [item.start for item in found] == sorted(item.start for item in found)
    assert all(text[item.start : item.end] == item.text and item.half >= 0 for item in found)


@pytest.mark.parametrize(
    "piece",
    [
        "9",
        "1,234,",
        "1.",
        "0.5 ",
        "-",
        "e",
        "1e",
        "positions 1, ",
        "a-1-",
        "/a",
        "step 1 and ",
        "× 10^",
        "1 of ",
    ],
)
def test_reading_takes_time_in_proportion_to_the_text(piece: str) -> None:
    size = 200_000
    begun = time.process_time()
    quantities(piece * (size // len(piece)))
    assert time.process_time() - begun < 5


def test_a_million_digits_are_no_number() -> None:
    assert quantities("1" * 10**6 + " and 0.5")[-1].value == 0.5
    assert [item.value for item in quantities("is " + "1" * 10**6)] == []

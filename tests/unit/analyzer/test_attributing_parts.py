"""The trajectory as a model is shown it, and citations held against it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.attributing.pieces import Size, parts, shown
from firetrial_analyzer.attributing.quotes import Quotes
from firetrial_analyzer.taxonomy.steps import Citation, Step, StepKind


def output(*texts: str) -> list[Step]:
    return [Step(n, n, 0.0, "stdout", text) for n, text in enumerate(texts, 1)]


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"^\[(\d+)\]", text, re.MULTILINE)]


def test_lines_carry_their_step_and_what_is_no_output_its_kind() -> None:
    steps = [*output("accuracy:  0.5"), Step(2, 3, 0.0, "", "python a.py", StepKind.COMMAND)]
    (part,) = parts(steps, (), Size()).parts
    assert part.text == "[1] accuracy: 0.5\n[2] (command) python a.py"
    assert (part.first, part.last) == (1, 3)


def test_nothing_is_left_out_where_the_parts_suffice() -> None:
    found = parts(output(*(f"line {n}" for n in range(500))), (), Size(1000, 40))
    assert [number for part in found.parts for number in numbers(part.text)] == list(range(1, 501))
    assert all(len(part.text) <= 1000 for part in found.parts)
    assert found.left_out == ()


def test_a_long_output_loses_its_middle_and_what_was_done_stays() -> None:
    steps = output(*(f"epoch {n}" for n in range(1, 2001)))
    found = parts(steps, {1, 1000}, Size(1000, 2))
    kept = [number for part in found.parts for number in numbers(part.text)]
    assert {1, 1000, 2000} <= set(kept)
    assert len(found.parts) <= 2
    told = f"the model was not shown {2000 - len(kept)} of 2000 lines, from the middle of outputs"
    assert found.left_out == (told,)


def test_where_all_is_weighty_parts_are_left_out_of_the_middle() -> None:
    steps = [Step(n, n, 0.0, "", f"python run_{n}.py", StepKind.COMMAND) for n in range(1, 1001)]
    found = parts(steps, (), Size(1000, 3))
    assert len(found.parts) == 3
    assert (found.parts[0].first, found.parts[-1].last) == (1, 1000)
    gap = f"the model was not shown steps {found.parts[1].last + 1} to {found.parts[2].first - 1}"
    assert found.left_out == (gap,)


def test_a_long_line_loses_its_middle_and_the_cut_is_told() -> None:
    found = parts(output("a" * 3000 + "b" * 3000), (), Size())
    assert re.fullmatch(r"\[1\] a{1400} \[…4000 characters…\] b{600}", found.parts[0].text)
    assert found.left_out == ("the model was shown long lines without their middle, 4000 characters in all",)


def test_control_codes_and_hidden_characters_are_not_shown() -> None:
    assert shown("a\u200bb\x1b[31m\tc\r\n  d\u202e") == "ab[31m c d"


@given(
    st.lists(st.tuples(st.integers(0, 300), st.booleans()), max_size=60),
    st.integers(60, 900),
    st.integers(2, 6),
)
def test_parts_keep_to_their_number_and_order(given_: list[tuple[int, bool]], room: int, most: int) -> None:
    steps = output(*("x" * size for size, _ in given_))
    weighty = {n for n, (_, is_weighty) in enumerate(given_, 1) if is_weighty}
    found = parts(steps, weighty, Size(room, most))
    kept = [number for part in found.parts for number in numbers(part.text)]
    assert len(found.parts) <= most
    assert kept == sorted(set(kept))
    assert (len(kept) == len(steps)) is (not any("not shown" in told for told in found.left_out))


STEPS = [
    *output("$ python run.py", "accuracy:\t0.71  (n=200)", "ok"),
    Step(4, 6, 0.0, "stdout", '{"message": {"content": [{"text": "The gap is\\n12 points wide."}]}}'),
]


def test_a_quote_is_found_word_for_word_whatever_the_white_space() -> None:
    quotes = Quotes(STEPS)
    assert quotes.fault(2, "accuracy: 0.71 (n=200)") == ""
    assert quotes.fault(5, "The gap is 12 points wide.") == "", "inside the JSON, and at any step of the line"
    assert quotes.fault(4, '{"message": {"content"') == "", "and as it is written"
    assert quotes.fault(3, "ok") == "", "a whole line may be short"


def test_a_quote_that_is_only_near_is_no_quote() -> None:
    quotes = Quotes(STEPS)
    for step, quote in [(2, "accuracy: 0.72 (n=200)"), (2, "Accuracy: 0.71 (n=200)"), (1, "accuracy: 0.71")]:
        assert "does not say" in quotes.fault(step, quote)
    assert quotes.fault(7, "accuracy: 0.71") == "there is no step 7"
    assert quotes.fault(0, "accuracy: 0.71") == "there is no step 0"
    assert "shorter than" in quotes.fault(1, "python")
    assert "shorter than" in quotes.fault(1, "")


def test_citations_are_kept_once_and_cut() -> None:
    quotes = Quotes(output("x" * 500))
    told = [{"step": 1, "quote": "x" * 400}, {"step": 1, "quote": "x" * 300}, {"step": 2, "quote": "x" * 9}]
    assert quotes.checked(told) == ((Citation(1, "x" * 200),), ["there is no step 2"])


@given(st.lists(st.text(max_size=60), min_size=1, max_size=6), st.data())
def test_every_passage_of_a_step_is_found_in_it(texts: list[str], data: st.DataObject) -> None:
    quotes = Quotes(output(*texts))
    step = data.draw(st.integers(1, len(texts)))
    text = texts[step - 1]
    start = data.draw(st.integers(0, len(text)))
    passage = text[start : data.draw(st.integers(start, len(text)))]
    fault = quotes.fault(step, passage)
    assert not fault or "shorter than" in fault

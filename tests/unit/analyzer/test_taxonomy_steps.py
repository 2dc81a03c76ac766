import json

from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.taxonomy.steps import (
    MAX_LINE,
    MAX_QUOTE,
    Citation,
    Step,
    StepKind,
    by_number,
    cite,
    event,
    holds,
    read,
)


def line(step: int, text: str, stream: str = "stdout", **more: object) -> str:
    kind = {"kind": "output", "stream": stream} if stream else {"kind": "event"}
    return json.dumps({"step": step, "offset_s": step / 10, **kind, "text": text, **more})


def test_steps_in_the_normal_form() -> None:
    found = list(read([line(1, "started", stream=""), line(2, "hello"), line(3, "oh", stream="stderr")]))
    assert found == [
        Step(1, 1, 0.1, "", "started", StepKind.EVENT),
        Step(2, 2, 0.2, "stdout", "hello", StepKind.OUTPUT),
        Step(3, 3, 0.3, "stderr", "oh", StepKind.OUTPUT),
    ]
    assert [step.what for step in (Step(1, 1, 0.0, "", "x"), Step(1, 1, 0.0, "stdout", "x"))] == [
        StepKind.EVENT, StepKind.OUTPUT
    ]  # fmt: skip


def test_a_step_of_another_kind_keeps_what_it_tells_and_an_unknown_kind_is_left_out() -> None:
    command = {"step": 1, "kind": "command", "text": "python a.py", "call": "c1", "exit_code": 3}
    model = {"step": 2, "kind": "model", "text": "in short", "model": {"status": 200}}
    found = list(read(map(json.dumps, [command, model, {"step": 3, "kind": "dream", "text": "x"}])))
    assert [(step.what, step.by_agent) for step in found] == [
        (StepKind.COMMAND, True), (StepKind.MODEL, False)
    ]  # fmt: skip
    assert found[0].fields == {"call": "c1", "exit_code": 3}


def test_pieces_of_two_kinds_do_not_mix() -> None:
    thought = {"kind": "thought", "text": "I will ", "continued": True}
    given_lines = [{"step": 1, **thought}, {"step": 2, "kind": "event", "text": "x"}, {"step": 3, **thought}]
    given_lines.append({"step": 4, "kind": "thought", "text": "run it"})
    found = list(read(map(json.dumps, given_lines)))
    assert [step.text for step in found] == ["x", "I will I will run it"]


def test_pieces_of_a_line_are_put_together_for_each_stream() -> None:
    given_lines = [
        line(1, '{"a": ', continued=True), line(2, "in between", stream="stderr"),
        line(3, '"b', continued=True),
        line(4, '"}'), line(5, "cut", continued=True),
    ]  # fmt: skip
    found = list(read(given_lines))
    assert [(step.number, step.last, step.text) for step in found] == [
        (2, 2, "in between"), (1, 4, '{"a": "b"}'), (5, 5, "cut")
    ]  # fmt: skip
    index = by_number(found)
    assert (index[3].text, index[4].text) == (index[1].text, index[1].text)


def test_a_line_that_is_too_long_goes_on_as_another() -> None:
    piece = "x" * (MAX_LINE // 2)
    found = list(read(line(n, piece, continued=n < 5) for n in range(1, 6)))
    assert [(step.number, step.last, len(step.text)) for step in found] == [
        (1, 2, MAX_LINE), (3, 4, MAX_LINE), (5, 5, MAX_LINE // 2)
    ]  # fmt: skip


@given(st.lists(st.one_of(st.text(max_size=30), st.builds(line, st.integers(), st.text()))))
def test_any_lines_are_read_without_fail(lines: list[str]) -> None:
    found = list(read(lines))
    assert len(found) <= len(lines)
    assert all(
        holds({step.number: step}, cite(step.number, step.text)) for step in found if step.text.strip()
    )


def test_a_citation_must_be_of_a_step_that_is_there_and_in_its_words() -> None:
    told = {"type": "user", "message": {"content": [{"content": 'said "no"\nand ümlaut'}]}}
    index = by_number(read([line(7, "exit code 1"), line(8, json.dumps(told))]))
    assert holds(index, Citation(7, "code 1"))
    assert holds(index, Citation(8, 'said "no"'))
    assert holds(index, Citation(8, "and ümlaut"))
    assert not holds(index, Citation(9, "exit code 1")), "a step that does not exist"
    assert not holds(index, Citation(7, "code 2")), "words that are not there"
    assert not holds(index, Citation(7, "")), "no words at all"


def test_quotes_are_one_line_of_bounded_length() -> None:
    assert cite(3, "\n first\nsecond") == Citation(3, "first")
    assert len(cite(3, "x" * 1000).quote) == MAX_QUOTE


def test_only_json_objects_are_events() -> None:
    def told(text: str) -> object:
        return event(Step(1, 1, 0.0, "stdout", text))

    assert told('{"type": "x"}') == {"type": "x"}
    assert [told(text) for text in ("[1]", "{", "plain", '"{}"')] == [None] * 4
    assert told('{"a":' * 50_000) is None

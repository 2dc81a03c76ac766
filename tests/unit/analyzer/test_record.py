from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from firetrial_analyzer.columns import row
from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.record import FAN, LARGEST, NO_PLAN, TAIL, Part, Plan, ReportRecord
from firetrial_kit.objects import ObjectRef
from unit.analyzer import sample

NEW = ReportRecord(sample.EXPERIMENT, datetime(2026, 1, 1, tzinfo=UTC), Plan(2, ("a@1",), 2, ""))
REF = ObjectRef("results/x", "0" * 64, 1, "text/html")
ADAPTER = TypeAdapter(ReportRecord)


def told(run_id: str, judgement_id: str = "") -> dict[str, Any]:
    return {"run_id": run_id, "judgement_id": judgement_id}


def part(number: int, rows: int) -> Part:
    uri = f"results/tables/{sample.EXPERIMENT}/{number:032x}.parquet"
    return Part(ObjectRef(uri, "0" * 64, 10**7, "application/vnd.apache.parquet"), rows)


def test_an_experiment_without_a_plan_never_ends() -> None:
    assert not replace(NEW, plan=NO_PLAN, ended=5).all_ended


def test_a_report_is_complete_only_over_the_rows_it_covers() -> None:
    record = NEW.with_row(told("r-1"), ends_slot=True).with_row(told("r-2"), ends_slot=True)
    assert record.all_ended
    assert not record.complete
    reported = record.with_report(record.inputs, {"html": REF})
    assert (reported.complete, reported.renderings) == (True, 1)
    assert reported.with_report(record.inputs, {"html": REF}) == reported
    judged_again = reported.with_row(told("r-2", "j-2"), ends_slot=False)
    assert (judged_again.all_ended, judged_again.complete) == (True, False)


def test_a_report_ends_a_failure() -> None:
    record = replace(NEW.with_row(told("r-1"), ends_slot=True), failure="no")
    assert record.with_report(record.inputs, {}).failure == ""


def test_a_slip_that_knows_more_runs_wins() -> None:
    more = Plan(3, ("a@1",), 3, "")
    assert NEW.with_plan(more).plan == more
    assert NEW.with_plan(Plan(1, (), 1, "")) == NEW


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), unique=True), st.integers())
def test_inputs_are_the_same_in_whatever_order_and_another_for_other_rows(
    rows: list[tuple[str, str]], seed: int
) -> None:
    shuffled = random.Random(seed).sample(rows, len(rows))  # noqa: S311 - a shuffle, no secret
    records = []
    for order in (rows, shuffled):
        record = NEW
        for names in order:
            record = record.with_row(told(*names), ends_slot=False)
        records.append(record)
    assert records[0].inputs == records[1].inputs
    assert records[0].with_row(told("another run", "j"), ends_slot=False).inputs != records[0].inputs


def test_the_oldest_rows_of_the_tail_move_into_a_part() -> None:
    record = NEW
    for number in range(TAIL + 1):
        record = record.with_row(told(f"r-{number}"), ends_slot=True)
    moved = record.with_part(part(1, TAIL))
    assert (moved.parts, moved.tail) == ((part(1, TAIL),), (told(f"r-{TAIL}"),))
    assert (moved.rows, moved.inputs, moved.ended) == (record.rows, record.inputs, record.ended)


def test_parts_of_a_size_become_one_and_the_largest_stay_as_they_are() -> None:
    small = tuple(part(number, TAIL) for number in range(FAN))
    assert replace(NEW, parts=small[1:]).mergeable() == ()
    record = replace(NEW, parts=(part(99, TAIL * FAN), *small))
    assert record.mergeable() == small
    large = part(100, TAIL * FAN)
    merged = record.with_merged(small, large)
    assert (merged.parts, merged.rows) == ((part(99, TAIL * FAN), large), record.rows)
    assert merged.with_merged(small, part(101, TAIL * FAN)) == merged, "another process was faster"
    assert replace(NEW, parts=tuple(part(number, LARGEST) for number in range(FAN))).mergeable() == ()


def test_a_million_runs_fit_in_one_record() -> None:
    sizes = [LARGEST] * (1_000_000 // LARGEST) + [TAIL * FAN**n for n in range(4) for _ in range(FAN - 1)]
    run = replace(
        sample.outcome("a" * 120, 1, Outcome.AGENT_FAILED, reason="\x00" * 10_000, task="t" * 120),
        run_id="r" * 128,
    )
    tail = [dict(row(replace(sample.runs()[0], run=run))) for _ in range(TAIL - 1)]
    record = replace(NEW, parts=tuple(map(part, range(len(sizes)), sizes)), tail=tuple(tail))
    assert len(ADAPTER.dump_json(record)) < 200 * 1024


def test_the_record_goes_through_json() -> None:
    record = NEW
    for item in sample.runs():
        record = record.with_row(row(item), ends_slot=not item.run.superseded)
    record = replace(record, parts=(part(1, TAIL),)).with_report(record.inputs, {"html": REF})
    back = ADAPTER.validate_json(ADAPTER.dump_json(record))
    assert back == record
    assert back.rows == record.rows

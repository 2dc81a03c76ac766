from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.outcomes import Outcome, Slot
from firetrial_analyzer.record import Ended, Plan, ReportRecord
from firetrial_kit.objects import ObjectRef
from unit.analyzer import sample

NEW = ReportRecord(sample.EXPERIMENT, datetime(2026, 1, 1, tzinfo=UTC))
PLAN = Plan(2, ("a@1",), 2, "")
REF = ObjectRef("results/x", "0" * 64, 1, "text/html")


def ended(repeat: int, attempt: int = 1, judgement: str = "", *, superseded: bool = False) -> AnalysedRun:
    run = sample.outcome("a@1", repeat, Outcome.AGENT_FAILED, attempt=attempt)
    return AnalysedRun(replace(run, superseded=superseded), judgement)


def test_the_same_run_twice_changes_nothing() -> None:
    once = NEW.with_run(ended(1), PLAN)
    assert once.with_run(ended(1), PLAN) == once
    assert once.holds(ended(1))


def test_a_later_attempt_replaces_an_earlier_one_and_not_the_other_way() -> None:
    late = NEW.with_run(ended(1, attempt=2), PLAN)
    assert late.with_run(ended(1, attempt=1), PLAN) == late
    assert NEW.with_run(ended(1, attempt=1), PLAN).with_run(ended(1, attempt=2), PLAN) == late


def test_a_superseded_attempt_does_not_end_its_slot() -> None:
    record = NEW.with_run(ended(1, superseded=True), PLAN)
    assert (len(record.ended), len(record.earlier)) == (0, 1)
    assert record.holds(ended(1, superseded=True))


def test_a_report_is_complete_only_over_the_runs_it_covers() -> None:
    record = NEW.with_run(ended(1), PLAN).with_run(ended(2), PLAN)
    assert record.all_ended
    assert not record.complete
    reported = record.with_report(record.inputs, {"html": REF})
    assert reported.complete
    assert reported.renderings == 1
    assert reported.with_report(record.inputs, {"html": REF}) == reported
    judged_again = reported.with_run(ended(2, judgement="j-2"), PLAN)
    assert not judged_again.complete


def test_an_experiment_without_a_plan_never_ends() -> None:
    assert not NEW.all_ended


def test_a_report_ends_a_failure() -> None:
    record = replace(NEW.with_run(ended(1), Plan(1, ("a@1",), 1, "")), failure="no")
    assert record.with_report(record.inputs, {}).failure == ""


def test_the_plan_names_the_slots_of_known_tasks() -> None:
    assert PLAN.slots({"t", "s"}) == (
        Slot("s", "a@1", 1), Slot("s", "a@1", 2), Slot("t", "a@1", 1), Slot("t", "a@1", 2),
    )  # fmt: skip


def test_a_slip_that_knows_more_runs_wins() -> None:
    record = NEW.with_run(ended(1), PLAN).with_run(ended(2), Plan(1, (), 1, ""))
    assert record.plan == PLAN


def test_thousands_of_slots_fit_in_one_record() -> None:
    slots = {f"{number:012x}": Ended(f"r-{number:016x}", 1, f"j-{number:016x}") for number in range(5000)}
    assert len(TypeAdapter(ReportRecord).dump_json(replace(NEW, ended=slots))) < 512 * 1024


@given(st.permutations([ended(1), ended(1, 2), ended(2), ended(2, judgement="j"), ended(1, superseded=True)]))
def test_the_record_goes_through_json(order: list[AnalysedRun]) -> None:
    record = NEW
    for item in order:
        record = record.with_run(item, PLAN)
    record = record.with_report(record.inputs, {"html": REF})
    adapter = TypeAdapter(ReportRecord)
    back = adapter.validate_json(adapter.dump_json(record))
    assert back == record
    assert back.complete

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.json_format import MessageToJson
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from firetrial.judge.v1 import judgement_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_analyzer.analysis import AnalysedRun, analyse_judged
from firetrial_analyzer.claims import Verdict
from firetrial_analyzer.outcomes import Outcome, Usage
from firetrial_analyzer.record import Plan, ReportRecord
from firetrial_analyzer.wire import (
    analysis_to_wire,
    judgement_to_domain,
    outcome_of,
    plan_to_domain,
    report_to_wire,
    run_to_domain,
    task_to_domain,
)
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import ObjectRef


def run(**fields: Any) -> run_pb2.Run:
    return run_pb2.Run(**{"id": "r-1", "experiment_id": "e-1", **fields})


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_its_name(outcome: Outcome) -> None:
    number = run_pb2.Outcome.Value(f"OUTCOME_{outcome}")
    assert outcome_of(run(outcome=number)) is outcome


def test_all_of_the_contracts_outcomes_and_verdicts_are_known() -> None:
    assert len(run_pb2.Outcome.values()) == len(Outcome) + 1
    assert len(judgement_pb2.Verdict.values()) == len(Verdict) + 1


def test_an_unset_figure_is_unknown_and_a_zero_is_zero() -> None:
    assert run_to_domain(run(), Outcome.CANCELLED).usage == Usage()
    used = run()
    used.usage.wall_time.FromNanoseconds(0)
    used.usage.cost_usd = 0.0
    used.usage.tokens = 0
    known = Usage(wall_seconds=0.0, tokens=0, usd=0.0, model_calls=0, unpriced_calls=0)
    assert run_to_domain(used, Outcome.SCORED).usage == known
    used.lacking.append("usage")
    assert run_to_domain(used, Outcome.SCORED).usage == Usage(), "what an imported run does not tell"


def test_what_the_gateway_counted_and_where_a_run_was_made_is_taken_over() -> None:
    made = run(model="m-1", provenance=run_pb2.PROVENANCE_SELF_REPORTED)
    made.usage.CopyFrom(
        run_pb2.Usage(cached_tokens=1, prompt_tokens=2, completion_tokens=3, model_calls=4, unpriced_calls=5)
    )
    made.usage.gpu_time.FromMilliseconds(1500)
    domain = run_to_domain(made, Outcome.SCORED)
    assert (domain.model, domain.provenance) == ("m-1", "self_reported")
    assert domain.usage == Usage(
        gpu_seconds=1.5, cached_tokens=1, prompt_tokens=2, completion_tokens=3, model_calls=4,
        unpriced_calls=5,
    )  # fmt: skip


def test_each_turn_of_a_panel_gives_a_score_of_its_own() -> None:
    """Turn m/1 finds both sides right, m/2 nothing, and n/1 no claim of the agent that it could score."""
    yes, no, none = (
        getattr(judgement_pb2, f"VERDICT_{name}") for name in ("ENTAILED", "NEUTRAL", "UNSCORED")
    )

    def claim(id_: str, *verdicts: Any) -> judgement_pb2.ClaimVerdict:
        turns = zip((("m", 1), ("m", 2), ("n", 1)), verdicts, strict=True)
        votes = [judgement_pb2.Vote(judge=judge, repeat=repeat, verdict=v) for (judge, repeat), v in turns]
        return judgement_pb2.ClaimVerdict(id=id_, text="x", verdict=yes, votes=votes)

    message = judgement_pb2.Judgement(
        run_id="r-1",
        agent_claims=[claim("a1", yes, no, none)],
        truth_claims=[claim("t1", yes, yes, yes), claim("t2", yes, no, yes)],
        calibration_id="c-1",
        flags=["panel_disagreement"],
    )
    message.judged_at.FromDatetime(datetime(2026, 1, 2, tzinfo=UTC))
    judge, judgement = judgement_to_domain(MessageToJson(message, preserving_proto_field_name=True).encode())
    assert judgement.judgings == (1.0, 0.0)
    assert judgement.flags == ("panel_disagreement",)
    assert judgement.judged_at == datetime(2026, 1, 2, tzinfo=UTC)
    assert (judge.calibration_id, judge.calibrated) == ("c-1", True)


def test_durations_and_times_keep_their_fractions() -> None:
    made = run()
    made.usage.wall_time.FromMilliseconds(2500)
    made.started_at.FromDatetime(datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC))
    domain = run_to_domain(made, Outcome.SCORED)
    assert domain.usage.wall_seconds == 2.5
    assert domain.started_at == datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)
    assert domain.ended_at is None


def test_undefined_scores_stay_undefined() -> None:
    domain = run_to_domain(run(), Outcome.SCORED, scores=judgement_pb2.Scores(recall=0.0))
    assert (domain.precision, domain.recall, domain.f1) == (None, 0.0, None)


@pytest.mark.parametrize(
    ("exit_", "ending"),
    [
        (run_pb2.Exit(termination=run_pb2.TERMINATION_EXITED, code=0), "exited with 0"),
        (run_pb2.Exit(termination=run_pb2.TERMINATION_EXITED, signal=9), "killed by signal 9"),
        (run_pb2.Exit(termination=run_pb2.TERMINATION_TIMED_OUT, signal=9), "stopped at its time limit"),
        (run_pb2.Exit(termination=run_pb2.TERMINATION_OOM_KILLED), "killed for memory"),
        (run_pb2.Exit(), "exited"),
    ],
)
def test_how_a_process_ended_is_told_in_words(exit_: run_pb2.Exit, ending: str) -> None:
    assert run_to_domain(run(exit=exit_), Outcome.SCORED).ending == ending


def test_every_bad_id_is_named_at_once() -> None:
    with pytest.raises(FiretrialError) as error:
        run_to_domain(run(id="", experiment_id="../x"), Outcome.SCORED)
    assert [fault.field for fault in error.value.faults] == ["run.id", "run.experiment_id"]


def test_an_agent_named_twice_is_one_agent() -> None:
    slip = plan_pb2.Slip(expected_runs=4, plan=plan_pb2.Plan(agents=["a", "b", "a"], repeats=2, model="m"))
    assert plan_to_domain(slip) == Plan(4, ("a", "b"), 2, "m")


@pytest.mark.parametrize("data", [b"", b"{", b'{"id": 3}', b"\xff\xfe"])
def test_bytes_that_are_no_judgement_are_corrupt(data: bytes) -> None:
    with pytest.raises(FiretrialError) as error:
        judgement_to_domain(data)
    assert error.value.reason is Reason.CORRUPT
    with pytest.raises(FiretrialError):
        task_to_domain(data)


def test_a_verdict_from_the_future_is_refused() -> None:
    with pytest.raises(FiretrialError) as error:
        judgement_to_domain(b'{"agent_claims": [{"id": "a1", "text": "x", "verdict": 42}]}')
    assert error.value.reason is Reason.INVALID
    assert error.value.faults[0].field == "a1.verdict"


def test_a_field_from_the_future_is_passed_over() -> None:
    _, judgement = judgement_to_domain(b'{"run_id": "r-1", "confidence": 0.9}')
    assert judgement.run_id == "r-1"


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
verdicts = st.sampled_from([number for number in judgement_pb2.Verdict.values() if number])
claims = st.lists(
    st.builds(judgement_pb2.ClaimVerdict, text=texts, verdict=verdicts, evidence=texts, rationale=texts),
    max_size=4,
)


@given(claims, claims)
def test_a_judgement_goes_from_the_wire_to_the_archive_and_back_to_the_wire(
    agent: list[judgement_pb2.ClaimVerdict], truth: list[judgement_pb2.ClaimVerdict]
) -> None:
    for side, letter in ((agent, "a"), (truth, "t")):
        for number, claim in enumerate(side, 1):
            claim.id = f"{letter}{number}"
    message = judgement_pb2.Judgement(run_id="r-1", agent_claims=agent, truth_claims=truth, quality="q")
    data = MessageToJson(message, preserving_proto_field_name=True).encode()
    judge, judgement = judgement_to_domain(data)
    assert [claim.text for claim in judgement.agent_claims] == [claim.text for claim in agent]
    assert [claim.evidence for claim in judgement.truth_claims] == [claim.evidence for claim in truth]
    item = analyse_judged(run_to_domain(run(), Outcome.SCORED), "j-1", judge, judgement)
    adapter = TypeAdapter(AnalysedRun)
    assert adapter.validate_json(adapter.dump_json(item)) == item
    attribution = analysis_to_wire(item).attribution
    wrong = (judgement_pb2.VERDICT_CONTRADICTED, judgement_pb2.VERDICT_NEUTRAL)
    assert [f.claim_id for f in attribution.false_claims] == [c.id for c in agent if c.verdict in wrong]
    assert [m.claim_id for m in attribution.missed] == [c.id for c in truth if c.verdict in wrong]


def test_a_record_goes_on_the_wire() -> None:
    record = ReportRecord(
        "e-1", datetime(2026, 1, 1, tzinfo=UTC), Plan(3, ("a",), 3, ""),
        formats={"html": ObjectRef("results/reports/e-1/report.html", "ab", 7, "text/html")}, failure="why",
    )  # fmt: skip
    report = report_to_wire(record)
    assert (report.experiment_id, report.expected_runs, report.complete) == ("e-1", 3, False)
    assert (report.html.uri, report.html.size, report.failure) == (record.formats["html"].uri, 7, "why")
    assert not report.HasField("markdown")
    assert report.changed_at.ToDatetime(UTC) == record.changed_at

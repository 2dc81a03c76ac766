import random
from dataclasses import replace

import pytest

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.compose import build
from firetrial_analyzer.integrity.findings import Integrity
from firetrial_analyzer.outcomes import Outcome
from firetrial_analyzer.render.document import from_json, json_text
from firetrial_analyzer.render.page import html
from firetrial_analyzer.report import Experiment, Task
from firetrial_kit.errors import FiretrialError, Reason
from unit.analyzer import sample


def test_agents_are_ranked_by_f1_and_runs_by_slot() -> None:
    report = sample.report()
    assert [agent.agent for agent in report.agents] == list(sample.AGENTS)
    assert [item.run.slot for item in report.runs] == sorted(item.run.slot for item in report.runs)


def test_the_order_of_the_runs_changes_nothing() -> None:
    runs = sample.runs()
    random.Random(7).shuffle(runs)  # noqa: S311 - a shuffle, no secret
    assert build(sample.experiment(), runs) == sample.report()


def test_an_earlier_attempt_is_listed_and_does_not_count() -> None:
    report = sample.report()
    (lost,) = report.earlier_attempts
    assert lost.outcome is Outcome.INFRA_FAILED
    assert report.ended_runs == report.expected_runs == 9
    assert report.complete


def test_a_superseded_attempt_leaves_its_slot_open() -> None:
    lost = replace(sample.outcome("x@1", 1, Outcome.INFRA_FAILED), superseded=True)
    report = build(
        Experiment(sample.EXPERIMENT, (Task(lost.task),), 1, (lost.agent,), 1), [AnalysedRun(lost)]
    )
    assert (report.ended_runs, report.runs, report.earlier_attempts) == (0, (), (lost,))
    assert report.agents[0].score.outcomes.pending == 1


def test_claims_are_counted_by_kind_over_judged_runs() -> None:
    *_, wide = sample.report().agents
    counts = wide.claims
    assert (counts.judged_runs, counts.true, counts.truth_missing) == (1, 0, 4)
    assert (counts.contradictory, counts.overgeneralized, counts.unrelated, counts.alternative) == (
        1,
        2,
        0,
        0,
    )


def test_a_judge_is_named_once_whatever_it_notes_on_a_run() -> None:
    noted = [
        replace(item, judge=replace(sample.JUDGE, quality=f"{sample.JUDGE.quality}; note {item.run.run_id}"))
        for item in sample.runs()
        if item.judge
    ]
    report = build(sample.experiment(), noted)
    assert report.judges == (sample.JUDGE,)
    page = html(report)
    assert page.count(sample.JUDGE.quality) == 1
    assert all(f"note {item.run.run_id}</dd>" in page for item in noted)


def test_a_report_of_part_of_the_plan_says_so() -> None:
    report = build(sample.experiment(), sample.runs()[:3])
    assert (report.complete, report.ended_runs, report.expected_runs) == (False, 3, 9)
    coverage = {agent.agent: agent.score.f1.coverage for agent in report.agents}
    assert coverage == {
        sample.AGENTS[0]: "2 of 3 runs",
        sample.AGENTS[1]: "1 of 3 runs",
        sample.AGENTS[2]: "0 of 3 runs",
    }


def test_an_agent_without_a_counted_run_comes_last() -> None:
    lost = AnalysedRun(sample.outcome("aaa@1", 1, Outcome.INFRA_FAILED))
    failed = AnalysedRun(sample.outcome("bbb@1", 1, Outcome.AGENT_FAILED))
    report = build(Experiment(sample.EXPERIMENT, (), 2), [lost, failed])
    assert [agent.agent for agent in report.agents] == ["bbb@1", "aaa@1"]


def test_the_times_are_those_of_the_runs() -> None:
    report = sample.report()
    assert report.started_at == sample.START.replace(minute=1)
    assert report.ended_at is not None
    assert report.ended_at > report.started_at


def test_runs_of_another_experiment_are_refused() -> None:
    stray = AnalysedRun(replace(sample.outcome("x@1", 1, Outcome.CANCELLED), experiment="e-other"))
    with pytest.raises(FiretrialError) as error:
        build(sample.experiment(), [*sample.runs(), stray])
    assert error.value.reason is Reason.INVALID
    assert [fault.field for fault in error.value.faults] == ["experiment"]


def test_json_comes_back_as_the_same_report() -> None:
    report = sample.report()
    text = json_text(report)
    assert from_json(text) == report
    assert json_text(from_json(text)) == text


def test_a_lone_surrogate_does_not_break_the_json() -> None:
    run = AnalysedRun(replace(sample.outcome("x@1", 1, Outcome.AGENT_FAILED), reason="bad \udc80 byte"))
    text = json_text(build(Experiment(sample.EXPERIMENT, (), 1), [run]))
    assert "bad \ufffd byte" in text
    assert from_json(text.encode()).runs[0].run.reason == "bad \ufffd byte"


def test_intervals_costs_and_the_front_are_in_the_report() -> None:
    report = sample.report()
    careful = report.agents[0]
    assert careful.variation is not None
    interval = careful.variation.interval
    assert interval is not None
    assert careful.score.f1.mean is not None
    assert interval.low < careful.score.f1.mean < interval.high
    assert [offer.agent for offer in report.front.line] == [careful.agent]
    assert report.front.unknown == 2
    assert report.comparisons == (), "one task compares nothing"


def test_a_probe_is_shown_beside_the_others_and_compared_with_none() -> None:
    old = Task("t1", difficulty="easy", published="2023-05")
    new = Task("t2", difficulty="easy", published="2025-05")
    runs = [
        AnalysedRun(sample.outcome(agent, repeat, Outcome.SCORED, f1=f1, task=task.id))
        for task in (old, new)
        for agent, f1 in (("a", 0.5), ("b", 0.25), ("probe", 0.75))
        for repeat in (1, 2)
    ]
    experiment = Experiment(sample.EXPERIMENT, (old, new), 12, ("a", "b", "probe"), 2, "gpt-5", "probe")
    report = build(experiment, runs)
    assert [agent.agent for agent in report.agents] == ["a", "b", "probe"]
    assert {(pair.left, pair.right) for pair in report.comparisons} <= {("a", "b"), ("b", "a")}
    assert report.memory is not None
    assert [(one.task, one.agent, one.agent_f1, one.probe_f1) for one in report.memory.probes] == [
        ("t1", "a", 0.5, 0.75), ("t1", "b", 0.25, 0.75), ("t2", "a", 0.5, 0.75), ("t2", "b", 0.25, 0.75),
    ]  # fmt: skip
    assert [one.agent for one in report.memory.agents] == ["a", "b"]


def test_where_no_model_is_used_nothing_can_be_remembered() -> None:
    assert build(sample.experiment(), sample.runs()).memory is None


def test_repeats_that_printed_the_same_are_counted_among_the_findings() -> None:
    def told(agent: str, repeat: int, fingerprint: str) -> AnalysedRun:
        run = sample.outcome(agent, repeat, Outcome.SCORED, f1=0.5)
        return AnalysedRun(run, integrity=Integrity((), (), complete=True, fingerprint=fingerprint))

    same, other = f"{'a' * 16}:", f"{'b' * 16}:"
    runs = [
        told("a", 1, same),
        told("a", 2, same),
        told("a", 3, other),
        told("b", 1, same),
        told("b", 2, ":"),
    ]
    report = build(Experiment(sample.EXPERIMENT, (Task(sample.TASK),), 6, ("a", "b"), 3), runs)
    first, second = sorted(report.agents, key=lambda agent: agent.agent)
    assert first.integrity is not None
    assert first.integrity.findings == (("identical_outputs", 2),)
    assert second.integrity is not None
    assert second.integrity.findings == ()

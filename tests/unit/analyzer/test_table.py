"""What is computed from columns is what the definitions give for one run after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from firetrial_analyzer import scores, table, variation
from firetrial_analyzer.analysis import AnalysedRun, analyse_judged
from firetrial_analyzer.attribution import Missed, attribute_failure
from firetrial_analyzer.claims import JudgedClaim, Judgement, Verdict
from firetrial_analyzer.columns import frame, row
from firetrial_analyzer.components import Judged, split
from firetrial_analyzer.compose import build
from firetrial_analyzer.cost import costs, task_costs
from firetrial_analyzer.distributions import distributions, errors_of
from firetrial_analyzer.false_claims import FalsePositive
from firetrial_analyzer.integrity.findings import Finding, Integrity, NumberTrace, Trace
from firetrial_analyzer.outcomes import Outcome, RunOutcome, Slot, Usage, latest_attempts
from firetrial_analyzer.report import ClaimCounts, Experiment, IntegrityCounts, Task
from firetrial_analyzer.taxonomy.catalogue import ErrorType, FalsePositiveKind, load
from firetrial_analyzer.taxonomy.settle import Settled
from unit.analyzer import sample

TASKS, AGENTS = ("s", "t"), ("a@1", "b@2", "c@3")
units = st.none() | st.floats(0, 1)
usages = st.builds(
    Usage,
    st.none() | st.floats(0, 1e5),
    st.none() | st.floats(0, 1e5),
    st.none() | st.integers(0, 2**40),
    st.none() | st.integers(0, 10**7),
    st.none() | st.floats(0, 100),
    st.none() | st.floats(0, 1e5),
    model_calls=st.none() | st.integers(0, 1000),
)
claims = st.lists(st.sampled_from(Verdict), max_size=3)
kinds = st.sampled_from(FalsePositiveKind)
types = st.sampled_from(["", *ErrorType])
traces = st.builds(NumberTrace, st.just("1"), st.just(0), st.just(1), st.sampled_from(Trace))
findings = st.builds(Finding, st.sampled_from(["other_model", "fewer_samples"]), st.just("x"))
integrities = st.none() | st.builds(
    Integrity,
    st.lists(traces, max_size=4).map(tuple),
    st.lists(findings, max_size=2).map(tuple),
    st.booleans(),
)
plans = st.tuples(st.sets(st.sampled_from(TASKS)), st.sets(st.sampled_from(AGENTS)), st.integers(0, 4))


@st.composite
def analysed(draw: st.DrawFn) -> list[AnalysedRun]:
    """Attempts of some slots; some were judged, some twice, and some by a panel."""
    slots = draw(
        st.sets(
            st.tuples(st.sampled_from(TASKS), st.sampled_from(AGENTS), st.integers(1, 3), st.integers(1, 3)),
            max_size=14,
        )
    )
    found: list[AnalysedRun] = []
    for number, (task, agent, repeat, attempt) in enumerate(sorted(slots)):
        run = RunOutcome(
            f"r-{number:02d}", "e-1", task, agent, repeat, attempt, draw(st.sampled_from(Outcome)),
            draw(units), draw(units), draw(units), draw(usages), reason=draw(st.sampled_from(["", "why"])),
            superseded=draw(st.booleans()), ended_at=sample.START + timedelta(minutes=number),
        )  # fmt: skip
        found += draw(st.sampled_from([_judged, _failed, _bare]))(draw, run)
    return found


def _bare(_: st.DrawFn, run: RunOutcome) -> list[AnalysedRun]:
    return [AnalysedRun(run)]


def _failed(draw: st.DrawFn, run: RunOutcome) -> list[AnalysedRun]:
    attribution = attribute_failure(run.run_id, Settled(None, (), ()))
    return [AnalysedRun(run, attribution=replace(attribution, missed=(Missed("run", type=draw(types)),)))]


def _judged(draw: st.DrawFn, run: RunOutcome) -> list[AnalysedRun]:
    agent, truth = draw(claims), draw(claims)
    judgement = Judgement(
        run.run_id,
        tuple(JudgedClaim(f"a{n}", "x", verdict) for n, verdict in enumerate(agent)),
        tuple(JudgedClaim(f"t{n}", "y", verdict) for n, verdict in enumerate(truth)),
        sample.START,
        judgings=tuple(draw(st.lists(st.floats(0, 1), max_size=3))),
    )
    item = analyse_judged(run, "j-1", sample.JUDGE, judgement)
    assert item.attribution
    attribution = replace(
        item.attribution,
        missed=tuple(replace(missed, type=draw(types)) for missed in item.attribution.missed),
        false_positives=tuple(
            FalsePositive(false.claim_id, draw(kinds), "", "") for false in item.attribution.false_positives
        ),
    )
    item = replace(item, attribution=attribution, integrity=draw(integrities))
    if not draw(st.booleans()):
        return [item]
    later = replace(judgement, judged_at=sample.START + timedelta(hours=1))
    again = replace(item, run=replace(run, f1=draw(units)), judgement_id="j-2", judgement=later)
    return [item, again]


def latest_judgements(items: Sequence[AnalysedRun]) -> list[AnalysedRun]:
    """One for each attempt: what the definitions are given."""
    return list({item.run.run_id: item for item in items}.values())


@settings(max_examples=200, deadline=None)
@given(analysed(), plans, st.randoms())
def test_a_report_from_columns_is_what_the_definitions_give(
    items: list[AnalysedRun], plan: tuple[set[str], set[str], int], shuffler: object
) -> None:
    tasks, agents, repeats = sorted(plan[0]), sorted(plan[1]), plan[2]
    experiment = Experiment("e-1", tuple(map(Task, tasks)), 9, tuple(agents), repeats)
    shuffled = list(items)
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    report = build(experiment, shuffled)

    held = latest_judgements(items)
    runs = [item.run for item in held]
    ended = latest_attempts(runs)
    by_id = {item.run.run_id: item for item in held}
    known = {*tasks, *(run.task for run in ended)}
    grid = [Slot(t, a, n) for t in known for a in agents for n in range(1, repeats + 1)]
    expected = scores.aggregate(runs, grid if len(grid) <= experiment.expected_runs else [])
    assert report.task_scores == expected.tasks
    assert sorted((one.score for one in report.agents), key=lambda one: one.agent) == list(expected.agents)
    assert [item.run for item in report.runs] == ended
    assert list(report.earlier_attempts) == sorted(
        (run for run in runs if run not in ended), key=lambda run: (run.slot, run.attempt)
    )
    samples = variation.samples(runs)
    assert report.comparisons == variation.comparisons(samples)
    spent = {cost.agent: cost for cost in costs(runs)}
    assert report.task_costs == task_costs(runs)
    for agent in report.agents:
        name = agent.agent
        mine = [by_id[run.run_id] for run in ended if run.agent == name]
        assert agent.cost == spent.get(name)
        assert agent.variation == variation.variation(samples.get(name, {}))
        assert agent.passes == variation.passes(samples.get(name, {}))
        assert agent.claims == counted(mine)
        assert (agent.split or split({})) == split(judgings(mine))
        assert agent.integrity == looked_up(mine)
        counting = [item.run for item in mine if item.run.outcome.counts]
        assert [(point.task, point.repeat) for point in agent.points] == [
            (run.task, run.repeat) for run in counting
        ]
    taxonomy = load()
    errors = errors_of([by_id[run.run_id] for run in ended], taxonomy)
    assert report.errors == (distributions(errors, taxonomy) if errors.agents else None)
    reasons = Counter((run.outcome, run.reason) for run in ended if run.outcome is not Outcome.SCORED)
    assert {(told.outcome, told.reason): told.runs for told in report.reasons} == dict(reasons)


def counted(items: Sequence[AnalysedRun]) -> ClaimCounts:
    """`ClaimCounts`, claim by claim."""
    judged = [item for item in items if item.judgement]
    verdicts = Counter(c.verdict for i in judged if i.judgement for c in i.judgement.agent_claims)
    found = Counter(f.kind for i in judged if i.attribution for f in i.attribution.false_positives)
    return ClaimCounts(
        judged_runs=len(judged),
        true=verdicts[Verdict.ENTAILED],
        contradictory=found[FalsePositiveKind.CONTRADICTORY],
        unrelated=found[FalsePositiveKind.UNRELATED],
        overgeneralized=found[FalsePositiveKind.OVERGENERALIZED],
        alternative=found[FalsePositiveKind.ALTERNATIVE],
        unscored=verdicts[Verdict.UNSCORED],
        truth_missing=sum(len(item.attribution.missing) for item in judged if item.attribution),
    )


def looked_up(items: Sequence[AnalysedRun]) -> IntegrityCounts | None:
    """`IntegrityCounts`, number by number."""
    found = [item.integrity for item in items if item.integrity]
    if not found:
        return None
    traces = Counter(number.trace for one in found for number in one.numbers)
    names = Counter(name for one in found for name in {finding.name for finding in one.findings})
    return IntegrityCounts(
        runs=len(found),
        traced=traces[Trace.TRACED],
        derived=traces[Trace.DERIVED],
        untraced=traces[Trace.UNTRACED],
        given=traces[Trace.GIVEN],
        not_a_result=traces[Trace.NOT_A_RESULT],
        findings=tuple(sorted(names.items())),
    )


def judgings(items: Sequence[AnalysedRun]) -> dict[str, Judged]:
    """Task → its runs, those with several judgings and the others, in the order of slots."""
    found: dict[str, tuple[list[float], list[tuple[float, ...]]]] = {}
    for item in items:
        once, several = found.setdefault(item.run.task, ([], []))
        turns = item.judgement.judgings if item.judgement else ()
        score = item.run.score("f1")
        if score is None:
            continue
        if len(turns) > 1 and item.run.outcome is Outcome.SCORED:
            several.append(turns)
        else:
            once.append(score)
    return {task: Judged(*held) for task, held in found.items() if any(held)}


def test_points_are_evenly_chosen_and_the_first_repeats_are_shown() -> None:
    runs = [
        AnalysedRun(sample.outcome(agent, repeat, Outcome.SCORED, f1=0.5, task=task))
        for agent in ("a@1", "b@2")
        for task in ("s", "t")
        for repeat in range(1, 51)
    ]
    rows = table.attempts(frame([row(item) for item in runs]))
    few = table.points(rows, 10)
    assert {agent: len(points) for agent, points in few.items()} == {"a@1": 10, "b@2": 10}
    assert Counter(point["task"] for point in few["a@1"]) == {"s": 5, "t": 5}
    assert {len(points) for points in table.points(rows, 1000).values()} == {100}
    shown = table.first_repeats(rows, 8)
    assert list(shown.select("task", "agent", "repeat").iter_rows()) == [
        (task, agent, repeat) for task in ("s", "t") for agent in ("a@1", "b@2") for repeat in (1, 2)
    ]
    report = build(sample.experiment(), runs, shown=8)
    assert (len(report.runs), report.omitted.runs, report.ended_runs) == (8, 192, 200)

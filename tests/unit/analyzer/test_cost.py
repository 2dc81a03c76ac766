from firetrial_analyzer.cost import costs
from firetrial_analyzer.outcomes import Outcome, RunOutcome, Usage
from firetrial_analyzer.scores import Mean


def run(
    agent: str, repeat: int, usage: Usage, outcome: Outcome = Outcome.SCORED, attempt: int = 1
) -> RunOutcome:
    return RunOutcome(f"{agent}{repeat}.{attempt}", "e", "t", agent, repeat, attempt, outcome, usage=usage)


def test_unknown_stays_unknown_and_is_counted() -> None:
    (cost,) = costs([run("a", 0, Usage(wall_seconds=2.0, usd=0.5)), run("a", 1, Usage(wall_seconds=4.0))])
    assert (cost.spent.usd.total, cost.spent.usd.known, cost.spent.usd.unknown) == (0.5, 1, 1)
    assert (cost.spent.tokens.total, cost.spent.tokens.unknown) == (None, 2)
    assert cost.per_run.usd == Mean(0.5, 0.0, 1, 2)
    assert cost.per_run.tokens == Mean(None, None, 0, 2)
    assert cost.per_run.wall_seconds == Mean(3.0, 1.0, 2, 2)


def test_zero_is_a_figure_and_not_unknown() -> None:
    (cost,) = costs([run("a", 0, Usage(usd=0.0))])
    assert (cost.spent.usd.total, cost.spent.usd.unknown) == (0.0, 0)


def test_every_attempt_is_paid_for_but_only_counted_runs_describe_the_agent() -> None:
    (cost,) = costs(
        [
            run("a", 0, Usage(usd=1.0), Outcome.INFRA_FAILED, attempt=1),
            run("a", 0, Usage(usd=2.0), Outcome.SCORED, attempt=2),
            run("a", 1, Usage(usd=4.0), Outcome.CANCELLED),
            run("a", 2, Usage(usd=8.0), Outcome.AGENT_FAILED),
        ]
    )
    assert (cost.attempts, cost.spent.usd.total) == (4, 15.0)
    assert cost.per_run.usd == Mean(5.0, 3.0, 2, 2)


def test_memory_is_the_peak_and_not_a_sum() -> None:
    (cost,) = costs(
        [run("a", 0, Usage(max_rss_bytes=3_000_000)), run("a", 1, Usage(max_rss_bytes=5_000_000))]
    )
    assert cost.spent.max_rss_bytes.total == 5e6


def test_agents_are_apart_and_in_order() -> None:
    found = costs([run("b", 0, Usage(wall_seconds=1)), run("a", 0, Usage(wall_seconds=2))])
    assert [(cost.agent, cost.spent.wall_seconds.total) for cost in found] == [("a", 2.0), ("b", 1.0)]

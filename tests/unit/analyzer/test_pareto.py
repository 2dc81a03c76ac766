from hypothesis import given
from hypothesis import strategies as st

from firetrial_analyzer.cost import costs
from firetrial_analyzer.outcomes import Outcome, RunOutcome, Usage
from firetrial_analyzer.pareto import Offer, Place, front, offers, usd_per_point
from firetrial_analyzer.scores import aggregate


def offer(agent: str, score: float | None, usd: float | None) -> Offer:
    return Offer(agent, score, usd, 3, 0)


PUBLISHED = [
    offer("openhands_o4-mini", 0.319, 0.59),
    offer("openhands_gpt-5", 0.379, 0.72),
    offer("codex_gpt-5-medium", 0.419, 0.15),
    offer("claude-code_sonnet-4", 0.467, 0.84),
]


def test_two_of_the_four_published_agents_are_on_the_front() -> None:
    found = front(PUBLISHED)
    assert [item.agent for item in found.line] == ["codex_gpt-5-medium", "claude-code_sonnet-4"]
    beaten = {item.offer.agent: item.beaten_by for item in found.agents if item.place is Place.DOMINATED}
    assert beaten == {
        "openhands_o4-mini": ("codex_gpt-5-medium",),
        "openhands_gpt-5": ("codex_gpt-5-medium",),
    }


def test_cost_per_point() -> None:
    assert usd_per_point(offer("a", 0.5, 2.0)) == 0.04
    assert usd_per_point(offer("a", 0.0, 2.0)) is None
    assert usd_per_point(offer("a", None, 2.0)) is None
    assert usd_per_point(offer("a", 0.5, None)) is None
    assert usd_per_point(offer("a", 0.5, 0.0)) == 0.0


def test_an_unknown_price_is_not_free_and_is_counted() -> None:
    found = front([offer("dear", 0.5, 2.0), offer("unpriced", 0.9, None), offer("unscored", None, 0.1)])
    assert found.unknown == 2
    assert [(item.offer.agent, item.place) for item in found.agents] == [
        ("unscored", Place.UNKNOWN),
        ("dear", Place.FRONT),
        ("unpriced", Place.UNKNOWN),
    ]


def test_equals_share_the_front_and_a_tie_on_one_side_is_decided_by_the_other() -> None:
    twins = front([offer("a", 0.5, 1.0), offer("b", 0.5, 1.0)])
    assert {item.place for item in twins.agents} == {Place.FRONT}
    tie = front([offer("a", 0.5, 1.0), offer("b", 0.6, 1.0), offer("c", 0.6, 2.0)])
    assert [item.agent for item in tie.line] == ["b"]


values = st.one_of(st.none(), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))


@given(st.lists(st.tuples(values, values), max_size=12))
def test_the_front_rises_and_everyone_else_is_beaten_by_someone_on_it(
    pairs: list[tuple[float | None, float | None]],
) -> None:
    found = front([offer(f"a{n}", score, usd) for n, (score, usd) in enumerate(pairs)])
    line = [(item.usd, item.score) for item in found.line if item.usd is not None and item.score is not None]
    assert line == sorted(line)
    assert [score for _, score in line] == sorted(score for _, score in line)
    on_front = {item.agent for item in found.line}
    assert all(on_front & set(item.beaten_by) for item in found.agents if item.place is Place.DOMINATED)


def test_offers_of_an_experiment_count_the_runs_without_a_price() -> None:
    def run(agent: str, repeat: int, f1: float, usd: float | None) -> RunOutcome:
        return RunOutcome(
            f"{agent}{repeat}", "e", "t", agent, repeat, 1, Outcome.SCORED, f1, f1, f1, Usage(usd=usd)
        )

    runs = [run("a", 0, 0.5, 1.0), run("a", 1, 0.7, None), run("b", 0, 0.1, None)]
    found = offers(aggregate(runs).agents, costs(runs))
    assert found == (Offer("a", 0.6, 1.0, 1, 1), Offer("b", 0.1, None, 0, 1))

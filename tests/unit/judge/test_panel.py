"""Majorities, abstentions and repeats: what votes come to, and what is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from firetrial.judge.v1 import judge_service_pb2, judgement_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_judge.claims import Claim, Kind, extract
from firetrial_judge.judge import JudgeConfig, Question
from firetrial_judge.judgement import judge_texts
from firetrial_judge.judges import Judges, Spec
from firetrial_judge.metrics import JudgeMetrics
from firetrial_judge.model_judge import clients, model_judges
from firetrial_judge.panel import Panel, Vote, flip_rate, majority
from firetrial_judge.verdict import Ruling, Verdict
from firetrial_kit.asking import Spent, UpstreamRefused, UpstreamUnavailable, Usage
from firetrial_kit.cache import NoCache
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.models import Endpoint
from support.scripted_models import Reply, Request, ScriptedModels, answer
from unit.judge.world import WordJudge, World
from unit.judge.wrong import CONCLUSION, TRUTH, right_value

E, C, N, U = Verdict.ENTAILED, Verdict.CONTRADICTED, Verdict.NEUTRAL, Verdict.UNSCORED
CLAIMS = tuple(Claim(f"a{n}", f"Claim {n}", 0, 1, Kind.OTHER) for n in (1, 2))


@pytest.mark.parametrize(
    ("votes", "verdict"),
    [
        ([E], E),
        ([E, E, N], E),
        ([E, N, C], N),
        ([E, C, C], C),
        ([E, N], U),
        ([E, C], U),
        ([C, N], N),
        ([C, C, N], C),
        ([E, U], E),
        ([E, N, U], U),
        ([E, E, N, U], E),
        ([C, U, U], C),
        ([U, U], U),
        ([], U),
        ([E, E, C, N], U),
        ([C, C, N, N, E], N),
    ],
)
def test_votes_come_to_a_verdict_in_any_order(votes: list[Verdict], verdict: Verdict) -> None:
    assert {majority(order) for order in permutations(votes)} == {verdict}


@given(st.lists(st.sampled_from([E, C, N, U]), max_size=12))
def test_abstentions_never_decide_and_entailed_needs_more_than_half(votes: list[Verdict]) -> None:
    verdict = majority(votes)
    assert verdict is majority([*votes, U, U])
    cast = [v for v in votes if v is not U]
    assert (verdict is E) == (2 * cast.count(E) > len(cast))
    assert (verdict is U) == (2 * cast.count(E) == len(cast))
    assert verdict is U or verdict in cast or verdict is N


def test_the_flip_rate_is_the_share_of_cast_votes_that_differ() -> None:
    def votes(*verdicts: Verdict) -> list[Vote]:
        return [Vote("m", n, v) for n, v in enumerate(verdicts, 1)]

    assert flip_rate(E, votes(E, E, N, U)) == pytest.approx(1 / 3)
    assert flip_rate(E, votes(E, E)) == 0.0
    assert flip_rate(U, votes(E, N)) == 1.0
    assert flip_rate(E, votes(E, U)) is None


@dataclass
class Scripted:
    """A judge whose verdicts are given in advance, one list for each turn."""

    name: str
    turns: list[list[Verdict] | Exception]
    quality: str = "for tests"
    config: JudgeConfig = field(init=False)

    def __post_init__(self) -> None:
        self.config = JudgeConfig("words", self.name, "1")

    async def claims(self, text: str) -> tuple[object, Spent]:
        return extract(text), Spent(1, 1, 1)

    async def rule(self, claims: Sequence[Claim], reference: str) -> tuple[Sequence[Ruling], Spent]:
        turn = self.turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return [Ruling(c.id, v, f"{self.name} says") for c, v in zip(claims, turn, strict=True)], Spent(
            1, 10, 1
        )


def refused() -> UpstreamRefused:
    return UpstreamRefused(Reason.PRECONDITION, "no such model", Usage())


async def test_three_judges_twice() -> None:
    members = [
        Scripted("x", [[E, N], [E, N]]),
        Scripted("y", [[E, E], [N, N]]),
        Scripted("z", [[N, U], [E, E]]),
    ]
    panel = Panel(members, repeats=2)  # type: ignore[arg-type]
    (opinions,), spent, notes = await panel.consider([Question(CLAIMS, "text")])
    first, second = opinions
    assert (first.ruling.verdict, first.ruling.rationale, second.ruling.verdict) == (E, "x says", N)
    assert [first.flip_rate, second.flip_rate] == [pytest.approx(2 / 6), pytest.approx(2 / 5)]
    assert [(v.judge, v.repeat, v.verdict) for v in second.votes] == [
        ("x", 1, N), ("y", 1, E), ("z", 1, U), ("x", 2, N), ("y", 2, N), ("z", 2, E),
    ]  # fmt: skip
    assert spent.calls == 6
    assert notes == (
        "the judges disagree on a1: 4 ENTAILED, 2 NEUTRAL",
        "the judges disagree on a2: 2 ENTAILED, 3 NEUTRAL, 1 UNSCORED",
    )
    assert (panel.config.panel, panel.config.repeats) == (("y", "z"), 2)


async def test_an_odd_panel_that_becomes_even_breaks_no_tie() -> None:
    for order in permutations([Scripted("x", [[E, E]]), Scripted("y", [[N, E]]), Scripted("z", [refused()])]):
        copies = [Scripted(m.name, list(m.turns)) for m in order]
        (opinions,), _, notes = await Panel(copies).consider([Question(CLAIMS, "text")])  # type: ignore[arg-type]
        assert [o.ruling.verdict for o in opinions] == [U, E]
        assert "z abstained: no such model" in notes


async def test_what_may_pass_is_waited_for_and_a_panel_without_answers_is_an_error() -> None:
    down = UpstreamUnavailable(Reason.UNAVAILABLE, "down", Usage())
    broke = FiretrialError(Reason.PRECONDITION, "no money left")
    for error in (down, broke):
        panel = Panel([Scripted("x", [[E, E]]), Scripted("y", [error])])  # type: ignore[list-item]
        with pytest.raises(FiretrialError, match=error.message):
            await panel.consider([Question(CLAIMS, "text")])
    with pytest.raises(UpstreamRefused):
        await Panel([Scripted("x", [refused()])]).consider([Question(CLAIMS, "text")])  # type: ignore[list-item]


async def test_one_judge_once_has_no_votes() -> None:
    (opinions,), _, notes = await Panel([WordJudge()]).consider([Question(CLAIMS, "Claim 1")])
    assert [(o.votes, o.flip_rate) for o in opinions] == [((), None)] * 2
    assert notes == ()


async def test_a_disagreement_is_told_in_flags_and_notes_of_the_judgement() -> None:
    members = [Scripted("x", [[E], [E]]), Scripted("y", [[N], [E]])]
    judgement = await judge_texts(
        Panel(members),  # type: ignore[arg-type]
        run_id="r",
        conclusion="Accuracy falls with noise.",
        truth="Accuracy drops with noise.",
    )
    assert judgement.flags == ("unscored_claims", "panel_disagreement")
    assert judgement.notes == ("the judges disagree on a1: 1 ENTAILED, 1 NEUTRAL",)
    assert (judgement.score.precision, judgement.score.recall, judgement.score.unscored) == (None, 1.0, 1)
    registry = CollectorRegistry()
    JudgeMetrics(registry).count(judgement)
    counted = [
        registry.get_sample_value(f"firetrial_judge_{name}_total", {"backend": "words"})
        for name in ("votes", "flips")
    ]
    assert counted == [4, 2], "a tie has no verdict for either vote to agree with"


@dataclass
class SameMeaning(WordJudge):
    """Claims with the same words, in any order, entail each other."""

    async def rule(self, claims: Sequence[Claim], reference: str) -> tuple[Sequence[Ruling], Spent]:
        def bag(text: str) -> set[str]:
            return set(text.lower().strip(". ").split())

        return [Ruling(c.id, E if bag(c.text) <= bag(reference) else N, "") for c in claims], Spent()


async def test_claims_that_entail_each_other_are_merged_and_those_that_only_look_alike_are_not() -> None:
    text = (
        "Accuracy falls when label noise increases. When label noise increases accuracy falls. "
        "Accuracy falls when label noise increases strongly."
    )
    extraction, _ = await Panel([SameMeaning()]).claims(text)
    assert [claim.id for claim in extraction.claims] == ["c1", "c3"]
    assert extraction.notes == ("1 claims merged with another that says the same",)
    assert extraction.beyond == 0


async def test_a_plan_s_panel_is_asked_model_by_model_and_its_votes_are_kept() -> None:
    def script(request: Request) -> Reply:
        value = right_value(request)
        if request.body["model"] == "n":  # it takes every claim for entailed
            for entry in value.get("verdicts", []):
                entry["verdict"] = "ENTAILED"
        return answer(value)

    world = World()
    await world.task(truth=TRUTH)
    async with AsyncExitStack() as stack:
        models = stack.enter_context(ScriptedModels(script))
        client = clients(lambda name: Endpoint(models.base_url, name or "m"), stack)
        world.start(model=model_judges(client, NoCache(), {}))
        plan = plan_pb2.JudgeConfig(panel=["n", "o"], judge_repeats=2)
        await world.finish(await world.run(conclusion=CONCLUSION), plan)
        assert await world.deliver() == ["done"]
    request = judge_service_pb2.GetJudgementRequest(run_id="r-1")
    judgement = (await world.servicer.GetJudgement(request, None)).judgement
    verdicts = {c.id: Verdict(judgement_pb2.Verdict.Name(c.verdict)[8:]) for c in judgement.agent_claims}
    assert verdicts == {"a1": E, "a2": N, "a3": C}
    assert [(v.judge, v.repeat) for v in judgement.agent_claims[0].votes] == [
        (name, turn) for turn in (1, 2) for name in ("m", "n", "o")
    ]
    assert [c.flip_rate for c in judgement.agent_claims] == [0.0, pytest.approx(1 / 3), pytest.approx(1 / 3)]
    assert (judgement.config.model, list(judgement.config.panel)) == ("m", ["n", "o"])
    assert list(judgement.flags) == ["panel_disagreement"]
    assert judgement.usage.calls == len(models.requests) == 8


async def test_a_model_sits_once() -> None:
    judges = Judges(WordJudge(), lambda name: Scripted(name or "m", []))  # type: ignore[arg-type,return-value]
    with pytest.raises(FiretrialError, match="needs a model"):
        judges.seat(Spec(panel=("m",)))
    async with AsyncExitStack() as stack:
        client = clients(lambda name: Endpoint("http://127.0.0.1:9/v1", name or "m"), stack)
        judges = Judges(WordJudge(), model_judges(client, NoCache(), {}))
        with pytest.raises(FiretrialError, match="name each model once"):
            judges.seat(Spec(panel=("m",)))
        assert judges.seat(Spec(panel=("n",))).config.panel == ("n",)


async def test_connections_are_not_made_to_ever_more_models() -> None:
    async with AsyncExitStack() as stack:
        client = clients(lambda name: Endpoint("http://127.0.0.1:9/v1", name or "m"), stack)
        made = [client(f"m{number}") for number in range(16)]
        assert client("m3") is made[3]
        with pytest.raises(FiretrialError) as refused:
            client("m16")
        assert refused.value.reason is Reason.INVALID

"""What a text gives away, by the judge's own judges."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from firetrial.judge.v1 import entailment_pb2 as pb
from firetrial.judge.v1.judgement_pb2 import VERDICT_ENTAILED, VERDICT_NEUTRAL
from firetrial.plan.v1 import plan_pb2
from firetrial_judge.entailing import Entailing, entail
from firetrial_judge.judges import Judges
from firetrial_judge.metrics import JudgeMetrics
from firetrial_judge.offline import OfflineBackend
from firetrial_judge.panel import Panel
from firetrial_judge.spending import Purses
from firetrial_judge.verdict import Verdict
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.records import Records
from firetrial_kit.spending import Account
from unit.judge.world import WordJudge, World

TRUTH = [
    "Accuracy falls when the relevant document is in the middle, and longer contexts do not help.",
    "Larger models are more robust to label noise.",
]
TOLD = "Vary the place of the document. Larger models are more robust to label noise. Measure it five times."
SPLIT = "Performance gets worse. This happens when the relevant document is in the middle of the context."
ASKED = "How does accuracy change with the place of the relevant document, for models of several sizes?"


async def test_each_hypothesis_is_ruled_on_with_the_sentence_that_decides(offline: OfflineBackend) -> None:
    checked = await entail(Panel([offline]), TOLD, TRUTH, atomic=False, searching=False)
    assert [(e.hypothesis, e.ruling.verdict) for e in checked.found] == [
        (0, Verdict.NEUTRAL),
        (1, Verdict.ENTAILED),
    ]
    evidence = checked.found[1].ruling.evidence
    assert evidence is not None
    assert TOLD[evidence.start : evidence.end] == "Larger models are more robust to label noise."


async def test_a_hypothesis_is_taken_apart(offline: OfflineBackend) -> None:
    premise = "It is known that longer contexts do not help."
    checked = await entail(Panel([offline]), premise, TRUTH, atomic=True, searching=True)
    first = [e for e in checked.found if e.hypothesis == 0]
    assert len(first) == 2
    assert [e.ruling.verdict for e in first] == [Verdict.NEUTRAL, Verdict.ENTAILED]


async def test_what_two_sentences_tell_together_is_found_by_a_search_only(offline: OfflineBackend) -> None:
    claim = ["Performance degrades when the relevant document is in the middle."]
    panel = Panel([offline])
    plain = await entail(panel, SPLIT, claim, atomic=False, searching=False)
    search = await entail(panel, SPLIT, claim, atomic=False, searching=True)
    assert plain.found[0].ruling.verdict is not Verdict.ENTAILED
    assert search.found[0].ruling.verdict is Verdict.ENTAILED
    evidence = search.found[0].ruling.evidence
    assert evidence is not None
    assert SPLIT[evidence.start : evidence.end] == SPLIT


async def test_a_question_gives_nothing_away(offline: OfflineBackend) -> None:
    checked = await entail(Panel([offline]), ASKED, TRUTH, atomic=True, searching=True)
    assert {e.ruling.verdict for e in checked.found} == {Verdict.NEUTRAL}


async def test_what_holds_no_claim_is_ruled_on_as_it_stands() -> None:
    judge = WordJudge()
    checked = await entail(Panel([judge]), "Results", ["Results", "  "], atomic=True, searching=False)
    assert [(e.hypothesis, e.claim.text, e.ruling.verdict) for e in checked.found] == [
        (0, "Results", Verdict.ENTAILED)
    ]


async def test_a_missing_verdict_is_unscored() -> None:
    checked = await entail(Panel([WordJudge(mute=True)]), TOLD, TRUTH, atomic=False, searching=False)
    assert {e.ruling.verdict for e in checked.found} == {Verdict.UNSCORED}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    premise=st.text(max_size=300),
    hypotheses=st.lists(st.text(min_size=1, max_size=80), min_size=1, max_size=4),
    atomic=st.booleans(),
)
async def test_any_texts_are_taken(premise: str, hypotheses: list[str], *, atomic: bool) -> None:
    checked = await entail(Panel([WordJudge()]), premise, hypotheses, atomic=atomic, searching=True)
    ids = [e.claim.id for e in checked.found]
    assert len(ids) == len(set(ids))
    assert {e.hypothesis for e in checked.found} == {n for n, h in enumerate(hypotheses) if h.strip()}
    for e in checked.found:
        span = e.ruling.evidence
        assert span is None or 0 <= span.start <= span.end <= len(premise)


def _world(judge: WordJudge | OfflineBackend) -> tuple[World, CollectorRegistry]:
    world, registry = World(), CollectorRegistry()
    purses = Purses(Records(world.state, "budget", Account), world.clock)
    world.servicer.entailing = Entailing(Judges(judge, None), purses, JudgeMetrics(registry))
    return world, registry


async def test_the_rpc(offline: OfflineBackend) -> None:
    world, registry = _world(offline)
    request = pb.CheckEntailmentRequest(premise=TOLD, hypotheses=TRUTH, atomic=True, searching=True)
    answer = await world.servicer.CheckEntailment(request, None)
    assert [(e.hypothesis, e.verdict) for e in answer.entailments] == [
        (0, VERDICT_NEUTRAL),
        (0, VERDICT_NEUTRAL),
        (1, VERDICT_ENTAILED),
    ]
    assert answer.entailments[2].evidence == "Larger models are more robust to label noise."
    assert answer.config_hash == Panel([offline]).config.hash
    assert answer.quality == offline.quality
    counted = registry.get_sample_value(
        "firetrial_judge_verdicts_total", {"backend": "offline", "verdict": "ENTAILED"}
    )
    assert counted == 1


async def test_the_rpc_refuses_with_every_fault() -> None:
    world, _ = _world(WordJudge())
    with pytest.raises(FiretrialError) as refused:
        await world.servicer.CheckEntailment(pb.CheckEntailmentRequest(hypotheses=["x", " "]), None)
    assert refused.value.reason is Reason.INVALID
    assert [fault.field for fault in refused.value.faults] == ["premise", "hypotheses[1]"]


async def test_the_rpc_asks_no_model_that_is_not_there() -> None:
    world, _ = _world(WordJudge())
    model = plan_pb2.JudgeConfig(backend=plan_pb2.JudgeConfig.BACKEND_MODEL)
    request = pb.CheckEntailmentRequest(premise=TOLD, hypotheses=TRUTH, config=model)
    with pytest.raises(FiretrialError) as refused:
        await world.servicer.CheckEntailment(request, None)
    assert refused.value.reason is Reason.PRECONDITION

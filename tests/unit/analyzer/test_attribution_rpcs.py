"""Attributions asked for and reviewed over the servicer, on the fakes."""

from __future__ import annotations

import pytest

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1 import attribution_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_analyzer.reviewing import Reviewing
from firetrial_analyzer.reviews import RunReviews
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.records import Records
from unit.analyzer.bench import EXPERIMENT, Bench, run


@pytest.fixture
async def bench() -> Bench:
    """One judged run, and one that failed."""
    bench = Bench()
    await bench.judged(run(1), expected=3)
    await bench.deliver("run_judged")
    await bench.finished(run(2), expected=3)
    await bench.finished(run(3), run_pb2.OUTCOME_INFRA_FAILED, expected=3)
    await bench.deliver("run_finished")
    return bench


async def shown(bench: Bench, number: int = 1) -> attribution_pb2.Attribution:
    request = pb.GetAttributionRequest(run_id=run(number).id)
    return (await bench.servicer.GetAttribution(request, None)).attribution


async def say(
    bench: Bench, claim: str, type_: str = "", *, reviewer: str = "ada", note: str = "", number: int = 1
) -> attribution_pb2.Attribution:
    request = pb.ReviewAttributionRequest(
        run_id=run(number).id, claim_id=claim, reviewer=reviewer, type=type_, note=note
    )
    return (await bench.servicer.ReviewAttribution(request, None)).attribution


async def test_an_attribution_is_whole_on_the_wire(bench: Bench) -> None:
    found = await shown(bench)
    assert (found.run_id, found.experiment_id, found.method) == (run(1).id, EXPERIMENT, "signals")
    (missed,) = found.missed
    assert (missed.claim_id, missed.text, missed.type) == ("t2", "The loss shrinks as k grows.", "")
    (false,) = found.false_claims
    assert (false.claim_id, false.kind, false.settled_by) == ("a2", "OVERGENERALIZED", "rules")
    assert found.cost_usd == 0.0
    assert found.HasField("cost_usd"), "nothing was asked, so it cost nothing"


async def test_a_failed_run_is_attributed_as_a_whole_and_can_be_corrected(bench: Bench) -> None:
    assert [missed.claim_id for missed in (await shown(bench, 2)).missed] == ["run"]
    (review,) = (await say(bench, "run", "ENVIRONMENT_SETUP", number=2)).reviews
    assert (review.confirmed, review.type) == (False, "ENVIRONMENT_SETUP")


async def test_a_run_that_says_nothing_of_its_agent_has_none(bench: Bench) -> None:
    with pytest.raises(FiretrialError, match="INFRA_FAILED") as error:
        await shown(bench, 3)
    assert error.value.reason is Reason.PRECONDITION


async def test_a_later_word_replaces_the_earlier_of_the_same_reviewer_alone(bench: Bench) -> None:
    await say(bench, "a2", note="looks right")
    await say(bench, "a2", "UNRELATED", reviewer="bob")
    bench.clock.advance(60)
    found = await say(bench, "a2", "ALTERNATIVE", note="on second thoughts")
    assert [(one.reviewer, one.type, one.confirmed, one.note) for one in found.reviews] == [
        ("ada", "ALTERNATIVE", False, "on second thoughts"), ("bob", "UNRELATED", False, "")
    ]  # fmt: skip
    assert found.reviews[0].reviewed_at.seconds > found.reviews[1].reviewed_at.seconds
    assert (await shown(bench)).reviews == found.reviews


async def test_agreement_is_over_one_experiment_or_all(bench: Bench) -> None:
    await say(bench, "a2")
    await say(bench, "t2", "LAZINESS")
    await say(bench, "run", "TIMEOUT", number=2)
    for experiment in (EXPERIMENT, ""):
        found = await bench.servicer.GetAgreement(pb.GetAgreementRequest(experiment_id=experiment), None)
        assert (found.false_claims.reviewed, found.false_claims.confirmed, found.false_claims.share) == (
            1,
            1,
            1.0,
        )
        assert not found.false_claims.HasField("kappa")
        assert (found.missed.reviewed, found.missed.confirmed) == (2, 0)
        assert found.missed.high > found.missed.low == 0.0
    none = await bench.servicer.GetAgreement(pb.GetAgreementRequest(experiment_id="e-other"), None)
    assert none.missed.reviewed == 0
    assert not none.missed.HasField("share")


async def test_words_survive_a_new_process_and_a_note_that_is_gone(bench: Bench) -> None:
    found = await say(bench, "a2", note="for others")
    fresh = Reviewing(bench.archive, Records(bench.state, "review", RunReviews), bench.objects, bench.clock)
    _, (kept,) = await fresh.attributed(run(1).id)
    assert kept.note == found.reviews[0].note == "for others"
    (uri,) = [uri for uri in bench.everything.held if uri.startswith("results/reviews/")]
    del bench.everything.held[uri]
    _, (kept,) = await fresh.attributed(run(1).id)
    assert (kept.type, kept.note) == ("OVERGENERALIZED", "")


@pytest.mark.parametrize(("claim", "type_"), [("t77", ""), ("a2", "LAZINESS"), ("t2", ""), ("t2", "lazy")])
async def test_a_wrong_word_is_refused_and_nothing_is_kept(bench: Bench, claim: str, type_: str) -> None:
    with pytest.raises(FiretrialError) as error:
        await say(bench, claim, type_)
    assert error.value.reason is Reason.INVALID
    assert not (await shown(bench)).reviews


async def test_a_run_that_there_is_not() -> None:
    bench = Bench()
    with pytest.raises(FiretrialError) as error:
        await shown(bench)
    assert error.value.reason is Reason.NOT_FOUND
    with pytest.raises(FiretrialError) as error:
        await bench.servicer.GetAttribution(pb.GetAttributionRequest(run_id="../x"), None)
    assert error.value.reason is Reason.INVALID

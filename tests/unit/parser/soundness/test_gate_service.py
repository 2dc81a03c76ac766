"""Proposals over the parser's RPCs and events: kept, assessed, paid for once, failed and tried again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from firetrial.parser.v1 import events_pb2, proposal_pb2
from firetrial.parser.v1 import parser_service_pb2 as pb
from firetrial.plan.v1 import plan_pb2
from firetrial_kit.cache import StoreTier
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.models import Endpoint
from firetrial_kit.settings import PriceSetting
from firetrial_parser.asking import KEPT, opened
from firetrial_parser.soundness.outcomes import MASK
from firetrial_parser.soundness.proposal import Proposal
from firetrial_parser.soundness.proposal_wire import parts_to_wire, proposal_to_domain
from firetrial_parser.wire import plan_faults
from support import scripted_models as scripted
from support.scripted_models import ScriptedModels
from unit.parser.soundness.proposals import SOUND, WEAK
from unit.parser.world import World

ASSESSED = proposal_pb2.PROPOSAL_STATE_ASSESSED
FAILED = proposal_pb2.PROPOSAL_STATE_FAILED
MASKED = pb.SubmitProposalRequest.OUTCOMES_MASK
LOW, HIGH = proposal_pb2.Assessment.BUCKET_LOW, proposal_pb2.Assessment.BUCKET_HIGH
TOLD = "We train on SST-2, and our method outperforms the baseline by 3.2 points."


async def submit(world: World, proposal: Proposal = SOUND, **more: object) -> proposal_pb2.Proposal:
    parts = None if "paper_id" in more else parts_to_wire(proposal)
    request = pb.SubmitProposalRequest(parts=parts, title=proposal.title, **more)  # type: ignore[arg-type]
    return (await world.servicer.SubmitProposal(request, None)).proposal


async def deliver(world: World) -> list[str]:
    (consumer,) = world.gate.consumers
    return await world.bus.deliver(consumer)


async def get(world: World, id_: str) -> proposal_pb2.Proposal:
    return (await world.servicer.GetProposal(pb.GetProposalRequest(id=id_), None)).proposal


async def test_a_submitted_proposal_is_assessed_in_both_modes_and_announced() -> None:
    world = World()
    sent = await submit(world, agent_id="a@1", task_id="t-1")
    assert proposal_to_domain(sent.parts, sent.title) == SOUND
    assert await deliver(world) == ["done"]
    found = await get(world, sent.id)
    assert found.state == ASSESSED
    assert [one.bucket for one in found.assessments] == [HIGH, HIGH]
    assert [one.mode for one in found.assessments] == [
        plan_pb2.Gate.MODE_STANDARD,
        plan_pb2.Gate.MODE_AGGRESSIVE,
    ]
    assert all("no known quality" in one.quality for one in found.assessments)
    assert (found.support.ratio, found.support.method) == (1.0, "lexical")
    (event,) = world.told("proposal_assessed", events_pb2.ProposalAssessed)
    assert (event.proposal_id, event.agent_id, event.task_id) == (sent.id, "a@1", "t-1")
    assert [one.bucket for one in event.assessments] == [HIGH, HIGH]


async def test_a_runner_sees_the_mark_and_none_of_the_text() -> None:
    world = World()
    sent = await submit(world, agent_id="a@1")
    mark = json.loads(world.everything.held[f"runs/proposals/{sent.id}.json"][0])
    assert mark == {"id": sent.id, "agent_id": "a@1", "task_id": ""}
    shown = [uri for uri, (data, _) in world.everything.held.items() if SOUND.hypothesis.encode() in data]
    assert shown == [f"papers/proposals/{sent.id}/proposal.json"]


async def test_results_are_refused_all_at_once_or_masked_and_listed() -> None:
    world = World()
    (first, *rest) = SOUND.experiments
    told = replace(SOUND, abstract="We find that it works.", experiments=(replace(first, setup=TOLD), *rest))
    with pytest.raises(FiretrialError) as caught:
        await submit(world, told)
    assert [fault.field for fault in caught.value.faults] == ["abstract", "experiments[0].setup"]
    sent = await submit(world, told, outcomes=MASKED)
    assert sent.parts.experiments[0].setup == f"We train on SST-2, and {MASK}."
    assert [(one.part, one.text) for one in sent.masked] == [
        ("abstract", "We find that it works"),
        ("experiments[0].setup", "our method outperforms the baseline by 3.2 points"),
    ]
    one = sent.masked[1]
    assert TOLD[one.start : one.end] == one.text


async def test_what_is_wrong_is_told_at_once() -> None:
    world = World()
    with pytest.raises(FiretrialError) as caught:
        await submit(world, replace(SOUND, hypothesis="", experiments=()), agent_id="x" * 200)
    assert {fault.field for fault in caught.value.faults} == {"hypothesis", "experiments", "agent_id"}
    for request in (pb.SubmitProposalRequest(), pb.SubmitProposalRequest(paper_id="", outcomes=7)):  # type: ignore[arg-type]
        with pytest.raises(FiretrialError, match="must be"):
            await world.servicer.SubmitProposal(request, None)
    with pytest.raises(FiretrialError) as missing:
        await get(world, "q-none")
    assert missing.value.reason is Reason.NOT_FOUND


async def test_the_same_again_is_the_same_and_redelivery_is_a_no_op() -> None:
    world = World()
    first, second = await submit(world), await submit(world)
    assert first.id == second.id != (await submit(world, agent_id="b@1")).id
    await deliver(world)
    puts = world.objects.puts
    (consumer,) = world.gate.consumers
    assert await world.again(consumer, "proposal_submitted") == ["done"]
    assert world.objects.puts == puts
    assert len(world.told("proposal_assessed", events_pb2.ProposalAssessed)) == 2


async def test_a_crash_between_object_and_event_is_made_good() -> None:
    world = World()
    await submit(world)
    world.bus.fail_next = FiretrialError(Reason.UNAVAILABLE, "the broker is away")
    assert await deliver(world) == ["later"]
    assert world.told("proposal_assessed", events_pb2.ProposalAssessed) == []
    (consumer,) = world.gate.consumers
    assert await world.again(consumer, "proposal_submitted") == ["done"]
    assert len(world.told("proposal_assessed", events_pb2.ProposalAssessed)) == 1


async def test_pages_and_watch() -> None:
    world = World()
    ids = sorted([(await submit(world, plan)).id for plan in (SOUND, WEAK)])
    await deliver(world)
    page = await world.servicer.ListProposals(pb.ListProposalsRequest(page_size=1), None)
    rest = await world.servicer.ListProposals(pb.ListProposalsRequest(page_token=page.next_page_token), None)
    listed = [*page.proposals, *rest.proposals]
    assert [one.id for one in listed] == ids
    assert {one.assessments[0].bucket for one in listed} == {LOW, HIGH}
    assert not any(one.HasField("parts") or one.assessments[0].rationale for one in listed)
    seen = [one async for one in world.servicer.WatchProposal(pb.WatchProposalRequest(id=ids[0]), None)]
    assert [one.proposal.state for one in seen] == [ASSESSED]


def script(request: scripted.Request) -> scripted.Reply:
    """Extracts, takes apart, supports and approves."""
    if "what its authors meant to find out" in request.prompt:
        return scripted.answer({**WEAK.to_json(), "abstract": "We find that it works. It is tried."})
    if "atomic claims" in request.prompt:
        return scripted.answer({"claims": [{"part": "abstract", "text": "The idea is tried."}]})
    if '"YES" or "NO"' in request.prompt:
        return scripted.answer({"answers": [{"id": "c1", "explanation": "no word of it", "answer": "NO"}]})
    bucket = "low" if "last gate" in request.prompt else "high"
    return scripted.answer({"rationale": f"because {bucket}", "bucket": bucket, "confidence": 4})


@asynccontextmanager
async def modelled(models: ScriptedModels) -> AsyncIterator[World]:
    """A parser with a model that has a price and a cache in the store."""
    world = World()
    price = PriceSetting(prompt=1, completion=10, cached=0.5).price()
    endpoint = Endpoint(models.base_url, "small", patience=0, repairs=0)
    async with opened(endpoint, cache=StoreTier(world.objects, *KEPT), price=price) as asker:
        world.start(asker=asker)
        yield world


async def read_paper(world: World) -> str:
    """A paper that was read, without a model."""
    paper = (await world.submit()).paper.id
    record = await world.papers.records.get(paper)
    assert record.id == paper
    await world.run()
    return paper


async def test_a_model_assesses_and_its_cost_is_known_to_the_call() -> None:
    with ScriptedModels(script) as models:
        async with modelled(models) as world:
            sent = await submit(world)
            assert await deliver(world) == ["done"]
            found = await get(world, sent.id)
            assert [(one.bucket, one.confidence) for one in found.assessments] == [(HIGH, 4), (LOW, 4)]
            assert found.assessments[1].rationale == "because low"
            assert found.assessments[0].assessor == "small, prompts v1"
            assert found.support.ratio == 0
            usage = {one.purpose: one for one in found.usage}
            assert set(usage) == {"assess-standard", "assess-aggressive", "claims", "support"}
            assert len(models.requests) == sum(one.calls for one in usage.values()) == 4
            # 80 fresh and 20 cached prompt tokens, 10 completion tokens
            assert usage["claims"].cost_usd == pytest.approx((80 + 10 + 100) / 1e6)
            again = await submit(world, agent_id="other@1")
            await deliver(world)
            found = await get(world, again.id)
            assert [one.calls for one in found.usage] == [0] * 4
            assert sum(one.cache_hits for one in found.usage) == len(models.requests) == 4


async def test_a_broken_assessor_fails_the_proposal_and_says_nothing_of_it() -> None:
    broken = True

    def reply(request: scripted.Request) -> scripted.Reply:
        return scripted.text("I would rather not.") if broken else script(request)

    with ScriptedModels(reply) as models:
        async with modelled(models) as world:
            sent = await submit(world)
            assert await deliver(world) == ["failed"]
            found = await get(world, sent.id)
            assert (found.state, list(found.assessments)) == (FAILED, [])
            assert "gave no usable answer" in found.failure
            (event,) = world.told("proposal_assess_failed", events_pb2.ProposalAssessFailed)
            assert (event.proposal_id, event.attempt) == (sent.id, 1)
            assert found.usage[0].calls > 0  # what it cost is written down all the same
            broken = False
            assert (await submit(world)).id == sent.id
            assert await deliver(world) == ["done"]
            assert (await get(world, sent.id)).state == ASSESSED


async def test_an_endpoint_that_is_away_is_waited_for() -> None:
    with ScriptedModels([scripted.status(503)]) as models:
        async with modelled(models) as world:
            sent = await submit(world)
            assert await deliver(world) == ["later"]
            assert (await get(world, sent.id)).state == proposal_pb2.PROPOSAL_STATE_SUBMITTED


async def test_what_is_extracted_from_a_paper_is_masked_and_held_against_it() -> None:
    plain = World()
    paper = await read_paper(plain)
    with pytest.raises(FiretrialError, match="only a model extracts"):
        await submit(plain, paper_id=paper)
    with pytest.raises(FiretrialError) as caught:
        await submit(plain, paper_id="0" * 64)
    assert caught.value.reason is Reason.NOT_FOUND
    with ScriptedModels(script) as models:
        endpoint = Endpoint(models.base_url, "small", patience=0, repairs=0)
        async with opened(endpoint) as asker:
            plain.start(asker=asker)
            sent = await submit(plain, paper_id=paper)
            assert not sent.HasField("parts")
            assert await deliver(plain) == ["done"]
            found = await get(plain, sent.id)
    assert found.parts.abstract == f"{MASK}. It is tried."
    assert [one.text for one in found.masked] == ["We find that it works"]
    assert (found.paper_id, found.state, found.support.ratio) == (paper, ASSESSED, 0)
    assert {one.purpose for one in found.usage} >= {"proposal", "assess-standard"}


def test_the_gate_of_a_plan_is_checked_before_anything_is_taken() -> None:
    plan = plan_pb2.Plan(agents=["a@1"], repeats=1, gate=plan_pb2.Gate(min_confidence=6))
    for agent in ("a@1", "a@1", "b@1"):
        plan.gate.proposals.add(agent_id=agent, proposal_id="q-1")
    assert [fault.field for fault in plan_faults(plan)] == [
        "plan.gate.min_confidence",
        "plan.gate.proposals[2].agent_id",
        "plan.gate.proposals",
    ]
    assert list(plan_faults(plan_pb2.Plan(agents=["a@1"], repeats=1, gate=plan_pb2.Gate()))) == []

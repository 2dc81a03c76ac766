"""What was paid for once is not paid for again; what changed is."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

from firetrial_judge.claims import Claim, Kind
from firetrial_judge.instructions import Prompt, Prompts, load_prompts
from firetrial_judge.judgement import judge_texts
from firetrial_judge.model_judge import ModelJudge
from firetrial_judge.panel import Panel
from firetrial_kit.cache import NoCache, StoreTier
from firetrial_kit.models import Endpoint, ModelClient
from firetrial_kit.testing import InMemoryObjects
from support.scripted_models import Request, ScriptedModels, claim_ids
from unit.judge.wrong import CONCLUSION, TRUTH, right, wants_claims


def _store(objects: InMemoryObjects) -> StoreTier:
    return StoreTier(objects, "results", "judge-cache")


class Scorer:
    """Judges the same texts again and again, in whatever way it is told; counts what is asked."""

    def __init__(self, models: ScriptedModels, stack: AsyncExitStack, cache: StoreTier | NoCache) -> None:
        self._models = models
        self._stack = stack
        self._cache = cache

    async def paid(
        self, prompts: Prompts, model: str = "m", *, repeats: int = 1, conclusion: str = CONCLUSION
    ) -> list[str]:
        """The kinds of requests that one judgement made."""
        self._models.requests.clear()
        client = ModelClient(Endpoint(self._models.base_url, model))
        self._stack.push_async_callback(client.aclose)
        panel = Panel([ModelJudge(client, prompts, cache=self._cache)], repeats=repeats)
        judgement = await judge_texts(panel, run_id="r", conclusion=conclusion, truth=TRUTH)
        assert judgement.score.precision == 1 / 3
        assert judgement.spent.calls == len(self._models.requests)
        return sorted(_kind(request) for request in self._models.requests)


def _kind(request: Request) -> str:
    return "claims" if wants_claims(request) else "verdicts"


async def test_a_change_pays_for_what_it_changes_and_for_nothing_else() -> None:
    prompts = load_prompts()
    verdicts = replace(prompts, verdicts=Prompt("verdicts-next", prompts.verdicts.text + "\nThink."))
    claims = replace(prompts, claims=Prompt("claims-next", prompts.claims.text + "\nThink."))
    async with AsyncExitStack() as stack:
        models = stack.enter_context(ScriptedModels(right))
        scorer = Scorer(models, stack, _store(InMemoryObjects()))
        assert await scorer.paid(prompts) == ["claims", "claims", "verdicts"]
        assert await scorer.paid(prompts) == []
        assert await scorer.paid(verdicts) == ["verdicts"]
        # The claims come out the same, so their verdicts are at hand.
        assert await scorer.paid(claims) == ["claims", "claims"]
        assert await scorer.paid(prompts, "other") == ["claims", "claims", "verdicts"]
        assert await scorer.paid(prompts, repeats=3) == ["verdicts", "verdicts"]
        assert await scorer.paid(prompts, conclusion=CONCLUSION + " ") == ["claims", "verdicts"]
        assert len(models.requests[1].prompt) < 10_000
        assert await scorer.paid(prompts) == []


async def test_without_a_cache_everything_is_paid_for() -> None:
    async with AsyncExitStack() as stack:
        scorer = Scorer(stack.enter_context(ScriptedModels(right)), stack, NoCache())
        for _ in range(2):
            assert await scorer.paid(load_prompts()) == ["claims", "claims", "verdicts"]


async def test_an_entry_of_another_form_is_paid_for_again() -> None:
    objects = InMemoryObjects()
    async with AsyncExitStack() as stack:
        scorer = Scorer(stack.enter_context(ScriptedModels(right)), stack, _store(objects))
        await scorer.paid(load_prompts())
        for uri, (_, media_type) in list(objects.held.items()):
            objects.held[uri] = (b'{"older": "form"}', media_type)
        assert await scorer.paid(load_prompts()) == ["claims", "claims", "verdicts"]


async def test_of_claims_against_the_same_reference_only_new_ones_are_asked() -> None:
    cache = _store(InMemoryObjects())
    async with AsyncExitStack() as stack:
        models = stack.enter_context(ScriptedModels(right))
        client = ModelClient(Endpoint(models.base_url, "m"))
        stack.push_async_callback(client.aclose)
        judge = ModelJudge(client, load_prompts(), cache=cache)
        claims = [Claim(id_, f"Claim {id_}", 0, 1, Kind.OTHER) for id_ in ("a1", "a2", "a3")]
        await asyncio.gather(judge.rule(claims[:1], TRUTH), judge.rule(claims[1:2], TRUTH))
        renamed = [replace(claims[2], id="a1"), replace(claims[0], id="a2")]
        rulings, spent = await judge.rule(renamed, TRUTH)
        assert {r.claim_id: r.verdict for r in rulings} == {"a1": "ENTAILED", "a2": "ENTAILED"}
        assert (claim_ids(models.requests[-1].prompt), spent.cache_hits) == (["a1"], 1)
        assert (await judge.rule(claims, TRUTH))[1].calls == 0
        assert (await judge.rule(claims, CONCLUSION))[1].calls == 1


async def test_what_two_want_at_once_is_paid_for_once() -> None:
    async with AsyncExitStack() as stack:
        models = stack.enter_context(ScriptedModels(right))
        client = ModelClient(Endpoint(models.base_url, "m"))
        stack.push_async_callback(client.aclose)
        judge = ModelJudge(client, load_prompts(), cache=_store(InMemoryObjects()))
        found = await asyncio.gather(*(judge.claims(TRUTH) for _ in range(5)))
    assert sorted(spent.calls for _, spent in found) == [0, 0, 0, 0, 1]
    assert len({extraction for extraction, _ in found}) == 1
    assert len(models.requests) == 1

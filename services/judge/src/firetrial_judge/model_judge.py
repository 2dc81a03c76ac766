"""The judge that asks a model: claims and verdicts by JSON schema, one entry per claim id.

What was asked before is taken from the cache. What the model leaves out or gets wrong is asked for again, one
claim at a time; what stays wrong is UNSCORED. The texts come from agents and are hostile: each request fences
them with a marker that no writer can know. Of a small model verdicts are asked in one word (`one_word`).
"""

from __future__ import annotations

import asyncio
import copy
import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Self

from pydantic import TypeAdapter, ValidationError

from firetrial_judge import entries
from firetrial_judge.claims import Claim, Extraction
from firetrial_judge.instructions import Prompt, Prompts, load_prompts
from firetrial_judge.judge import Judge, JudgeConfig, Purse, Question
from firetrial_judge.judges import no_model, one_more
from firetrial_judge.one_word import WORDS, Examined, OneWord
from firetrial_judge.shelf import Shelf
from firetrial_judge.text import MAX_CHARS, clean, units
from firetrial_judge.verdict import Ruling, Verdict
from firetrial_kit.asking import Meter, Price, Schema, Spent, Usage
from firetrial_kit.cache import Cache, NoCache
from firetrial_kit.ids import digest
from firetrial_kit.models import Answer, Call, Endpoint, MalformedAnswer, Message, ModelClient
from firetrial_kit.once import Turns

_BATCH = 60  # claims in one request
_GIVE_UP = 3  # malformed answers in a row after which the rest is left UNSCORED
_TOGETHER = 16  # claims asked about in one word at once; where none is answered, the rest is left UNSCORED
_EXTRACTION: TypeAdapter[Extraction] = TypeAdapter(Extraction)


@dataclass(frozen=True, slots=True)
class _Asked:
    """One claim with what decides it."""

    claim: Claim
    reference: str

    @property
    def hash(self) -> str:
        """Tells the verdicts of one shelf apart, whatever the claim's id is this time."""
        return digest(self.claim.text, self.reference, length=32)


class ModelJudge:
    """The `Judge` port over a model. `token` makes the markers; they must be unguessable."""

    quality = "model judge, not calibrated against people"

    def __init__(
        self,
        client: ModelClient,
        prompts: Prompts,
        *,
        cache: Cache | None = None,
        price: Price | None = None,
        one_word: OneWord | None = None,
        token: Callable[[], str] = lambda: secrets.token_hex(12),
        looked: Callable[[int, int], None] = lambda *_: None,
    ) -> None:
        self._client = client
        self._prompts = prompts
        self._cache = cache or NoCache()
        self._shelf = Shelf(self._cache)
        self._turns = Turns()
        self._price = price
        self._one_word = one_word
        self._token = token
        self._looked = looked
        self._meter: Meter | None = None
        self.prompts_sha256 = prompts.sha256
        self.config = JudgeConfig(
            backend="model",
            model=client.endpoint.model,
            prompts=f"{prompts.version}+{one_word.version}" if one_word else prompts.version,
            endpoint=client.endpoint.base_url,
        )

    def charged(self, purse: Purse) -> Self:
        """The same judge, paid for out of `purse`. Raises PRECONDITION where that needs an unknown price."""
        paid = copy.copy(self)
        paid._meter = purse.meter(self.config.model, self._price)  # noqa: SLF001 - of the same class
        return paid

    async def claims(self, text: str) -> tuple[Extraction, Spent]:
        """The claims of a text, each with the span of its sentence. Raises the client's ModelErrors."""
        cleaned = clean(text)
        sentences = units(cleaned)
        if not sentences:
            return Extraction(()), Spent()
        key = self._key("claims", self._prompts.claims.version, cleaned)
        async with self._turns.of(key):  # who asks for the same text meanwhile finds it in the cache
            kept = _read((await self._cache.get([key])).get(key))
            self._looked(*_hit(kept))
            if kept is not None:
                return kept, Spent(cache_hits=1)
            answer = await self._ask(self._prompts.claims, ["TEXT", cleaned], entries.CLAIMS, "claims")
            found = entries.extraction(answer.value["claims"], cleaned, sentences)
            if len(text) > MAX_CHARS:
                note = f"text cut at {MAX_CHARS} of {len(text)} characters"
                found = replace(found, notes=(note, *found.notes))
            await self._cache.put({key: _EXTRACTION.dump_json(found)})
        return found, self._spent(answer.usage)

    async def core_idea(self, text: str) -> tuple[str, Spent]:
        """See `ModelBacked`. Raises the client's ModelErrors."""
        cleaned = clean(text)
        key = self._key("core_idea", self._prompts.core_idea.version, cleaned)
        kept = (await self._cache.get([key])).get(key)
        self._looked(*_hit(kept))
        if kept is not None:
            return kept.decode("utf-8", "replace"), Spent(cache_hits=1)
        answer = await self._ask(
            self._prompts.core_idea, ["CONCLUSION", cleaned], entries.CORE_IDEA, "core_idea"
        )
        idea = clean(str(answer.value["core_idea"])).strip()
        await self._cache.put({key: idea.encode("utf-8", "replace")})
        return idea, self._spent(answer.usage)

    async def rule(self, claims: Sequence[Claim], reference: str) -> tuple[Sequence[Ruling], Spent]:
        """One ruling per claim. Raises UpstreamUnavailable and UpstreamRefused, never MalformedAnswer."""
        (rulings,), spent = await self.rule_all([Question(tuple(claims), reference)])
        return rulings, spent

    async def rule_all(
        self, questions: Sequence[Question], repeat: int = 1
    ) -> tuple[list[Sequence[Ruling]], Spent]:
        """See `ModelBacked`. Raises as `rule` does, and ValueError for an id that two claims have."""
        references = {question.reference: clean(question.reference) for question in questions}
        asked = [_Asked(c, references[q.reference]) for q in questions for c in q.claims]
        if len({a.claim.id for a in asked}) != len(asked):
            raise ValueError("two claims have one id")
        version = self._one_word.version if self._one_word else self._prompts.verdicts.version
        key = self._key("verdicts", version, sorted(references.values()), repeat)
        rulings = _known(asked, await self._shelf.find(key) if asked else {})
        spent = Spent(cache_hits=len(rulings))
        missing = [a for a in asked if a.claim.id not in rulings]
        self._looked(len(rulings), len(missing))
        fresh, cost = await self._fresh(missing)
        await self._shelf.add(key, {a.hash: fresh[a.claim.id] for a in missing if a.claim.id in fresh})
        rulings |= fresh
        return [
            [rulings.get(claim.id) or _unscored(claim) for claim in question.claims] for question in questions
        ], spent + cost

    async def _fresh(self, asked: Sequence[_Asked]) -> tuple[dict[str, Ruling], Spent]:
        """Ask for verdicts: all in batches, then those that did not come one by one; or each in one word."""
        if self._one_word:
            return await self._in_a_word(asked, self._one_word)
        batches = [asked[at : at + _BATCH] for at in range(0, len(asked), _BATCH)]
        answers = await asyncio.gather(*map(self._batch, batches))
        rulings = {id_: ruling for found, _ in answers for id_, ruling in found.items()}
        spent = sum((cost for _, cost in answers), Spent())
        strikes = 0
        for a in asked:
            if a.claim.id in rulings or strikes >= _GIVE_UP:
                continue
            found, cost = await self._batch([a])
            rulings |= found
            spent += cost
            strikes = 0 if a.claim.id in found else strikes + 1
        return rulings, spent

    async def _batch(self, asked: Sequence[_Asked]) -> tuple[dict[str, Ruling], Spent]:
        """The well-formed verdicts on these claims by id; fewer than asked for where some are not."""
        try:
            answer = await self._ask(
                self._prompts.verdicts,
                _lists(asked),
                entries.VERDICTS,
                "verdicts",
                accept=entries.VERDICTS_ACCEPTED,
            )
        except MalformedAnswer as error:
            return {}, self._spent(error.usage)
        references = {a.claim.id: a.reference for a in asked}
        return entries.rulings(answer.value["verdicts"], references), self._spent(answer.usage)

    async def _in_a_word(self, asked: Sequence[_Asked], one_word: OneWord) -> tuple[dict[str, Ruling], Spent]:
        """Ask about each claim by itself."""
        pairs = [(a.claim.id, a.claim.text, a.reference) for a in asked]
        examined = await asyncio.to_thread(one_word.examine, pairs)
        rulings: dict[str, Ruling] = {}
        spent = Spent()
        for at in range(0, len(examined), _TOGETHER):
            batch = examined[at : at + _TOGETHER]
            answers = await asyncio.gather(*(self._word(one, one_word) for one in batch))
            rulings |= {ruling.claim_id: ruling for ruling, _ in answers if ruling}
            spent = sum((cost for _, cost in answers), spent)
            if not any(ruling for ruling, _ in answers):
                break
        return rulings, spent

    async def _word(self, examined: Examined, one_word: OneWord) -> tuple[Ruling | None, Spent]:
        if not examined.passage:
            return examined.offline, Spent()
        try:
            choice = await self._client.choose(one_word.messages(examined), WORDS, meter=self._meter)
        except MalformedAnswer as error:
            return None, self._spent(error.usage)
        return one_word.ruling(examined, choice.chances), self._spent(choice.usage)

    async def _ask(
        self, prompt: Prompt, titled: Sequence[str], schema: Schema, name: str, accept: Schema | None = None
    ) -> Answer:
        """Ask with titled texts between markers; a text that holds the marker gets another."""
        marker = self._token()
        while any(marker in text for text in titled):
            marker = self._token()
        fenced = [
            f"<<{marker} {title}\n{text}\n{marker}>>"
            for title, text in zip(titled[::2], titled[1::2], strict=True)
        ]
        messages = [
            Message("system", prompt.text.format(marker=marker)),
            Message("user", "\n\n".join(fenced)),
        ]
        return await self._client.ask(messages, schema, name=name, accept=accept, meter=self._meter)

    def _key(self, task: str, version: str, *content: object) -> str:
        endpoint = self._client.endpoint
        return digest(task, version, endpoint.dialect, endpoint.base_url, endpoint.model, content)

    def _spent(self, usage: Usage) -> Spent:
        return Spent.of(usage, self._price)


def clients(
    endpoint: Callable[[str], Endpoint] | None,
    stack: AsyncExitStack,
    observe: Callable[[Call], None] = lambda _: None,
    payer: Callable[[str], Meter | None] = lambda _: None,
) -> Callable[[str], ModelClient]:
    """The client of a model by name, made once; `stack` closes its connections.

    Without an endpoint, being asked for one raises PRECONDITION, and one too many INVALID.
    """
    made: dict[str, ModelClient] = {}

    def client(model: str) -> ModelClient:
        if endpoint is None:
            raise no_model()
        where = endpoint(model)
        if where.model not in made:
            one_more(where.model, made)
            made[where.model] = ModelClient(where, observe=observe, payer=payer)
            stack.push_async_callback(made[where.model].aclose)
        return made[where.model]

    return client


def model_judges(
    client: Callable[[str], ModelClient],
    cache: Cache,
    prices: Mapping[str, Price],
    one_word: OneWord | None = None,
    looked: Callable[[int, int], None] = lambda *_: None,
) -> Callable[[str], Judge]:
    """Makes the judge of a model by name. `looked` is told of each look into the cache: found, not found."""
    prompts = load_prompts()

    def judge(model: str) -> Judge:
        asked = client(model)
        price = prices.get(asked.endpoint.model)
        return ModelJudge(asked, prompts, cache=cache, price=price, one_word=one_word, looked=looked)

    return judge


def _known(asked: Iterable[_Asked], kept: Mapping[str, Ruling]) -> dict[str, Ruling]:
    """By claim id, what is at hand: verdicts paid for before, and those on nothing at all."""
    known: dict[str, Ruling] = {}
    for a in asked:
        if not a.reference.strip():
            known[a.claim.id] = Ruling(a.claim.id, Verdict.NEUTRAL, "there is nothing to compare with")
        elif a.hash in kept:
            known[a.claim.id] = replace(kept[a.hash], claim_id=a.claim.id)
    return known


def _lists(asked: Sequence[_Asked]) -> list[str]:
    """Each reference once, followed by the claims that are judged by it: titles and texts by turns."""
    by_reference: dict[str, list[Claim]] = {}
    for a in asked:
        by_reference.setdefault(a.reference, []).append(a.claim)
    titled: list[str] = []
    for number, (reference, claims) in enumerate(by_reference.items(), 1):
        titled += [f"REFERENCE {number}", reference, f"CLAIMS {number}", _listed(claims)]
    return titled


def _listed(claims: Iterable[Claim]) -> str:
    return json.dumps([{"id": c.id, "claim": c.text} for c in claims], ensure_ascii=False, indent=1)


def _unscored(claim: Claim) -> Ruling:
    return Ruling(claim.id, Verdict.UNSCORED, "the model gave no usable verdict")


def _hit(kept: object | None) -> tuple[int, int]:
    """One look, as (found, missed)."""
    return (0, 1) if kept is None else (1, 0)


def _read(data: bytes | None) -> Extraction | None:
    """What was kept, None where nothing was or it has an older form."""
    try:
        return None if data is None else _EXTRACTION.validate_json(data)
    except ValidationError:
        return None

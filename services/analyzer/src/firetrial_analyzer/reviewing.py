"""Keeping people's words on attributions: the whole word as an object, then all but its note as state."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from pydantic import TypeAdapter, ValidationError

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.archive import Archive
from firetrial_analyzer.attribution import Attribution
from firetrial_analyzer.reviews import MAX_REVIEWS, Agreement, Review, RunReviews, agreement, word
from firetrial_analyzer.taxonomy.catalogue import load
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import Objects
from firetrial_kit.records import Records

_REVIEW: TypeAdapter[Review] = TypeAdapter(Review)
_AT_ONCE = 16


class Reviewing:
    def __init__(
        self, archive: Archive, records: Records[RunReviews], objects: Objects, clock: Clock
    ) -> None:
        self._archive = archive
        self._records = records
        self._objects = objects
        self._clock = clock

    async def attributed(self, run_id: str) -> tuple[AnalysedRun, list[Review]]:
        """A run with its attribution, and what people said of it, by claim and reviewer.

        Raises NOT_FOUND for a run that has not ended, PRECONDITION for one that says nothing of its agent.
        """
        item, _ = await self._analysed(run_id)
        record = await self._records.find(run_id)
        known = record.reviews.values() if record else ()
        whole = await asyncio.gather(*(self._whole(run_id, review) for review in known))
        return item, sorted(whole, key=lambda review: (review.claim_id, review.reviewer))

    async def review(self, run_id: str, claim_id: str, *, reviewer: str, type_: str, note: str) -> None:
        """Keep a word. Raises as `attributed` does, INVALID, and PRECONDITION for a run with too many."""
        item, attribution = await self._analysed(run_id)
        said = word(
            attribution,
            load(attribution.taxonomy_version),
            claim_id,
            reviewer=reviewer,
            type_=type_,
            note=note,
            at=self._clock.now(),
        )
        await self._objects.put("results", _key(run_id, said), _REVIEW.dump_json(said), "application/json")
        await self._records.create(run_id, RunReviews(run_id, item.run.experiment))
        await self._records.change(run_id, lambda record: _with(record, replace(said, note="")))

    async def agreement(self, experiment_id: str) -> tuple[Agreement, Agreement]:
        """Of missed and of false claims, over one experiment, or all where that is empty."""
        turn = asyncio.Semaphore(_AT_ONCE)

        async def one(run_id: str) -> RunReviews | None:
            async with turn:
                return await self._records.find(run_id)

        found = await asyncio.gather(*map(one, await self._records.ids()))
        words = [
            review
            for record in found
            if record and experiment_id in ("", record.experiment_id)
            for review in record.reviews.values()
        ]
        missed = [review for review in words if review.missed]
        return agreement(missed), agreement(review for review in words if not review.missed)

    async def _analysed(self, run_id: str) -> tuple[AnalysedRun, Attribution]:
        item = await self._archive.analysis(run_id)
        if item.attribution is None:
            raise FiretrialError(
                Reason.PRECONDITION,
                f"run {run_id!r} ended as {item.run.outcome} and has no attribution: only judged runs and "
                "those whose agent failed have one",
            )
        return item, item.attribution

    async def _whole(self, run_id: str, review: Review) -> Review:
        """With its note, where the object can be read and is the word that stands in the state."""
        try:
            found = _REVIEW.validate_json(await self._objects.get(f"results/{_key(run_id, review)}"))
        except FiretrialError as error:
            if error.retryable:
                raise
            return review
        except ValidationError:
            return review
        return found if replace(found, note="") == review else review


def _with(record: RunReviews, said: Review) -> RunReviews:
    if said.key not in record.reviews and len(record.reviews) >= MAX_REVIEWS:
        raise FiretrialError(
            Reason.PRECONDITION, f"run {record.run_id!r} has {MAX_REVIEWS} reviews, more are not kept"
        )
    return replace(record, reviews={**record.reviews, said.key: said})


def _key(run_id: str, review: Review) -> str:
    return f"reviews/{run_id}/{review.key}.json"

"""A proposal's way: stored or extracted, held against its source, assessed in both modes; or failed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from firetrial_kit import tenants
from firetrial_kit.asking import Spent
from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_kit.records import Records
from firetrial_parser.asking import Asker, Bill
from firetrial_parser.document import Document
from firetrial_parser.papers import Papers
from firetrial_parser.records import billed
from firetrial_parser.soundness import outcomes
from firetrial_parser.soundness.announcing import ProposalAnnouncer
from firetrial_parser.soundness.assessment import Assessor, Mode, assess
from firetrial_parser.soundness.model import extract
from firetrial_parser.soundness.proposal import Proposal
from firetrial_parser.soundness.record import Kept, ProposalRecord, Said, Source, State, Verdict
from firetrial_parser.soundness.shelf import Shelf
from firetrial_parser.soundness.support import Support, Verifier, own_source, supported

MAX_ID = 128
_MAX_FAILURE = 2000


@dataclass(frozen=True, slots=True)
class Means:
    """Who extracts, assesses and verifies; `asker` is None where no model is configured."""

    assessor: Assessor
    verifier: Verifier
    asker: Asker | None = None


class Proposals:
    """The proposals of this installation."""

    def __init__(
        self,
        *,
        records: Records[ProposalRecord],
        shelf: Shelf,
        papers: Papers,
        announcer: ProposalAnnouncer,
        clock: Clock,
        means: Means,
    ) -> None:
        self.records = records
        self.shelf = shelf
        self._papers = papers
        self._announcer = announcer
        self._clock = clock
        self._means = means

    async def submit(self, proposal: Proposal, source: Source, *, mask: bool) -> ProposalRecord:
        """Keep and announce a proposal; its results are taken out or, without `mask`, refused.

        Raises INVALID with every fault and every result.
        """
        check("the proposal", [*proposal.faults(), *_source_faults(source)])
        clean, found = await asyncio.to_thread(outcomes.masked, proposal)
        if not mask:
            check("the proposal", outcomes.faults(found))
        id_ = tenants.mine(source.id(clean))
        kept = await self.shelf.put_kept(id_, Kept(clean, found))
        return await self._begin(
            ProposalRecord(id_, State.SUBMITTED, source, *self._now(), kept=kept, title=clean.title)
        )

    async def submit_paper(self, source: Source) -> ProposalRecord:
        """Announce that a proposal is to be extracted from a paper.

        Raises NOT_FOUND for no paper, PRECONDITION for one that was not read, or where there is no model.
        """
        check("the proposal", _source_faults(source))
        paper = await self._papers.records.get(source.paper_id)
        if paper.document is None:
            cure = paper.failure or "it has not been read yet: watch it, then submit again"
            raise _refused("paper_id", source.paper_id, cure)
        if self._means.asker is None:
            cure = "only a model extracts proposals: set FIRETRIAL_PARSER_MODEL_URL, or submit the parts"
            raise _refused("paper_id", source.paper_id, cure)
        return await self._begin(
            ProposalRecord(
                tenants.mine(source.id(None)), State.SUBMITTED, source, *self._now(), title=paper.title
            )
        )

    async def _begin(self, fresh: ProposalRecord) -> ProposalRecord:
        """Mark, record and announce; one that failed gets another attempt."""
        await self.shelf.mark(fresh.id, fresh.source)
        record = fresh
        if not await self.records.create(fresh.id, fresh):
            record = await self.records.change(fresh.id, self._reopened)
        await self._announcer.submitted(record)
        return record

    def _reopened(self, record: ProposalRecord) -> ProposalRecord | None:
        if record.state is not State.FAILED:
            return None
        again = record.attempt + 1
        return replace(record, state=State.SUBMITTED, attempt=again, failure="", changed_at=self._clock.now())

    async def assess(self, id_: str) -> None:
        """Assess a proposal, unless that was done, and announce it.

        Raises ModelErrors, what the judge raises, CORRUPT for answers that cannot be read; what was spent by
        then is written down.
        """
        record = await self.records.get(id_)
        if record.state is State.SUBMITTED:
            bill = Bill()
            try:
                record = await self._assess(record, bill)
            finally:
                await asyncio.shield(self._pay(id_, bill.spent))
        await self._announce(record)

    async def _assess(self, record: ProposalRecord, bill: Bill) -> ProposalRecord:
        document = await self._document(record)
        if record.kept is None:
            record = await self._extract(record, document, bill)
        kept = await self._kept(record)
        said = await self._said(kept.proposal, document, bill)
        ref = await self.shelf.put_said(record.id, said)

        def assessed(current: ProposalRecord) -> ProposalRecord | None:
            if current.state is not State.SUBMITTED:
                return None
            verdicts = tuple(Verdict(one.mode, one.bucket, one.confidence) for one in said.assessments)
            return replace(
                current,
                state=State.ASSESSED,
                said=ref,
                verdicts=verdicts,
                support_ratio=said.support.ratio if said.support else None,
                model=self._model,
                changed_at=self._clock.now(),
            )

        return await self.records.change(record.id, assessed)

    async def _said(self, proposal: Proposal, document: Document | None, bill: Bill) -> Said:
        means = self._means
        source = document.text if document else own_source(proposal)
        support = await _support(proposal, source, means, bill)
        opinions = [await assess(proposal, mode, means.assessor, bill) for mode in Mode]
        return Said(tuple(opinions), support)

    async def _document(self, record: ProposalRecord) -> Document | None:
        """The paper that it comes from, if it does."""
        if not record.source.paper_id:
            return None
        paper = await self._papers.records.get(record.source.paper_id)
        if paper.document is None:
            raise _refused("paper_id", paper.id, "it has no document: submit the paper again")
        return await self._papers.archive.document(paper.document)

    async def _extract(self, record: ProposalRecord, document: Document | None, bill: Bill) -> ProposalRecord:
        """Read the proposal out of its paper, results masked."""
        if document is None or self._means.asker is None:
            raise _refused("paper_id", record.source.paper_id, "only a model extracts proposals from papers")
        told = await extract(document, self._means.asker, bill)
        clean, found = await asyncio.to_thread(outcomes.masked, told)
        ref = await self.shelf.put_kept(record.id, Kept(clean, found))
        return await self.records.change(record.id, lambda current: replace(current, kept=ref))

    async def _kept(self, record: ProposalRecord) -> Kept:
        if record.kept is None:
            raise ValueError(f"proposal {record.id} was assessed before it was kept")
        return await self.shelf.kept(record.kept)

    async def _pay(self, id_: str, spent: Mapping[str, Spent]) -> None:
        """Add what an attempt cost to the record, whatever became of it."""

        def paid(record: ProposalRecord) -> ProposalRecord:
            return replace(record, spent=billed(record.spent, spent), model=self._model)

        if spent:
            await self.records.change(id_, paid)

    async def fail(self, id_: str, reason: str) -> None:
        """Record that it could not be assessed, and announce it; one that was stays so."""

        def failed(record: ProposalRecord) -> ProposalRecord | None:
            if record.state.settled:
                return None
            now = self._clock.now()
            return replace(record, state=State.FAILED, failure=reason[:_MAX_FAILURE], changed_at=now)

        if await self.records.find(id_) is not None:
            await self._announce(await self.records.change(id_, failed))

    async def _announce(self, record: ProposalRecord) -> None:
        if record.state is State.FAILED:
            await self._announcer.failed(record)
        elif record.said is not None:
            await self._announcer.assessed(record, await self.shelf.said(record.said))

    @property
    def _model(self) -> str:
        return self._means.asker.model if self._means.asker else ""

    def _now(self) -> tuple[datetime, datetime]:
        now = self._clock.now()
        return now, now


async def _support(proposal: Proposal, source: str, means: Means, bill: Bill) -> Support | None:
    """What its source bears out; None where nobody can rule for good: the gate does not need it."""
    try:
        return await supported(proposal, source, means.asker, means.verifier, bill)
    except FiretrialError as error:
        if error.retryable:
            raise
        return None


def _source_faults(source: Source) -> list[Fault]:
    told = {"paper_id": source.paper_id, "agent_id": source.agent_id, "task_id": source.task_id}
    return [
        Fault(name, value[:80], f"at most {MAX_ID} characters")
        for name, value in told.items()
        if len(value) > MAX_ID
    ]


def _refused(field: str, value: str, cure: str) -> FiretrialError:
    fault = Fault(field, value, cure)
    return FiretrialError(Reason.PRECONDITION, str(fault), faults=[fault])

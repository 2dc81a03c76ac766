"""People's work on the queue: what they see, what they decide, how they edit trees, and what follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from firetrial_kit.clock import Clock
from firetrial_kit.errors import Fault, FiretrialError, Reason, check, invalid
from firetrial_kit.ids import digest
from firetrial_kit.records import Records
from firetrial_parser.papers import Papers
from firetrial_parser.quoting import quoted
from firetrial_parser.records import PaperRecord
from firetrial_parser.selection import review
from firetrial_parser.selection.agreement import Agreement, agreement
from firetrial_parser.selection.announcing import SelectionAnnouncer
from firetrial_parser.selection.editing import Change, Edit, apply
from firetrial_parser.selection.review import (
    Decision,
    Kind,
    Resolution,
    ReviewRecord,
    State,
    TreeVersion,
    Verdict,
    name_faults,
)
from firetrial_parser.selection.shelf import Note
from firetrial_parser.selection.versions import Versions
from firetrial_parser.tree import Tree

MAX_FAULTS = 100  # lines kept in a paper's record
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Edited:
    """A review after an edit, with what changed and what is wrong with the tree now."""

    record: ReviewRecord
    changes: tuple[Change, ...]
    faults: tuple[Fault, ...]


class Reviewing:
    """The review queue. Names are taken as given: who may decide is not for this service to say yet."""

    def __init__(
        self,
        records: Records[ReviewRecord],
        versions: Versions,
        papers: Papers,
        announcer: SelectionAnnouncer,
        clock: Clock,
    ) -> None:
        self.records = records
        self._versions = versions
        self._papers = papers
        self._announcer = announcer
        self._clock = clock

    async def page(
        self, kind: Kind | None, states: frozenset[State], size: int, token: str
    ) -> tuple[list[ReviewRecord], str]:
        """Reviews by id. A page may hold fewer than `size`, also where more follow."""
        found, following = await self.records.page(size, token)
        return [
            one for one in found if kind in (None, one.kind) and (not states or one.state in states)
        ], following

    async def tree(self, record: ReviewRecord, number: int = 0) -> Tree:
        """The tree of a version. Raises NOT_FOUND, PRECONDITION for a screened paper."""
        return await self._versions.tree(record.at(number).tree)

    async def note(self, record: ReviewRecord, number: int = 0) -> Note:
        """What changed in a version, and what the validation found in it last."""
        return await self._versions.note(record.at(number).note)

    # ---- deciding

    async def decide(
        self, id_: str, reviewer: str, verdict: Verdict, reason: str, *, version: int, request_id: str = ""
    ) -> ReviewRecord:
        """One person's decision. Raises as `review.decided` does, and NOT_FOUND."""
        decision = Decision(_name(reviewer), verdict, reason.strip(), self._clock.now())
        asked = digest("decide", decision.reviewer, verdict, decision.reason, version, length=16)
        return await self._settled(
            await self._once(id_, request_id, asked, lambda record: review.decided(record, decision, version))
        )

    async def resolve(
        self,
        id_: str,
        by: Sequence[str],
        verdict: Verdict,
        reason: str,
        *,
        version: int,
        request_id: str = "",
    ) -> ReviewRecord:
        """End a disagreement. Raises as `review.resolved` does, and NOT_FOUND."""
        resolution = Resolution(verdict, tuple(map(_name, by)), reason.strip(), self._clock.now())
        asked = digest("resolve", resolution.by, verdict, resolution.reason, version, length=16)
        return await self._settled(
            await self._once(
                id_, request_id, asked, lambda record: review.resolved(record, resolution, version)
            )
        )

    async def reopen(self, id_: str, reviewer: str, reason: str, *, request_id: str = "") -> ReviewRecord:
        """Begin a new round. Raises as `review.reopened` does, and NOT_FOUND."""
        by, why, now = _name(reviewer), reason.strip(), self._clock.now()
        asked = digest("reopen", by, why, length=16)
        return await self._once(id_, request_id, asked, lambda record: review.reopened(record, by, why, now))

    async def _once(
        self, id_: str, request_id: str, asked: str, change: Callable[[ReviewRecord], ReviewRecord]
    ) -> ReviewRecord:
        """Make a change by compare-and-set, unless this request has made it before."""

        def changed(record: ReviewRecord) -> ReviewRecord | None:
            if record.knows(request_id, asked):
                return None
            return change(record).remembering(request_id, asked)

        return await self.records.change(id_, changed)

    async def _settled(self, record: ReviewRecord) -> ReviewRecord:
        """What follows from a decision. It is done again with the request, and changes nothing then."""
        if record.state.settled:
            if record.kind is Kind.TREE and record.state is State.ACCEPTED:
                await self._take(record)
            await self._announcer.paper_reviewed(record)
        return record

    async def _take(self, record: ReviewRecord) -> None:
        """Make the accepted version the tree from which the paper's tasks are made."""
        accepted = record.at(0)
        note = await self._versions.note(accepted.note)
        faults = tuple(map(str, note.faults[:MAX_FAULTS]))

        def taken(paper: PaperRecord) -> PaperRecord | None:
            if paper.tree == accepted.tree or paper.document is None:
                return None
            return replace(paper, tree=accepted.tree, faults=faults, changed_at=self._clock.now())

        await self._papers.records.change(record.paper_id, taken)

    async def accepted(self, id_: str, version: int) -> ReviewRecord:
        """The review with an accepted tree of this version, 0 for whichever it is.

        Raises NOT_FOUND, PRECONDITION where that version is not accepted.
        """
        record = await self.records.get(id_)
        record.at(version)
        if record.state is not State.ACCEPTED or version not in (0, record.version):
            cure = f"version {record.version} is {record.state}: two people must accept the version first"
            fault = Fault("version", str(version), cure)
            raise FiretrialError(Reason.PRECONDITION, str(fault), faults=[fault])
        await self._take(record)
        return record

    # ---- trees

    async def edit(
        self, id_: str, reviewer: str, version: int, edits: Sequence[Edit], *, request_id: str = ""
    ) -> Edited:
        """Make a new version. Raises INVALID, and as `review.edited` does.

        The new tree is stored before the record points to it; a request that is overtaken leaves it behind.
        """
        by = _name(reviewer)
        check("the request", name_faults("reviewer", reviewer))
        asked = digest("edit", by, version, [[e.path, e.field, e.values, e.remove] for e in edits], length=16)
        record = await self.records.get(id_)
        if record.knows(request_id, asked):
            return await self._as_edited(record, version + 1)
        paper = await self._papers.records.get(record.paper_id) if record.paper_id else None
        tree = await self.tree(record, version)
        if paper is None:
            raise ValueError(f"review {id_} has a tree and no paper")
        document = await self._versions.document(paper)
        root, changes = await asyncio.to_thread(apply, tree.root, edits, lambda text: quoted(text, document))
        if not changes:
            raise invalid("the edits", [Fault("edits", f"{len(edits)} edits", "must change something")])
        ref, note = await self._versions.keep(paper, replace(tree, root=root), changes)
        made = TreeVersion(version + 1, ref, note.ref, by, self._clock.now(), len(changes), len(note.faults))
        record = await self._once(id_, request_id, asked, lambda found: review.edited(found, made, version))
        return await self._as_edited(record, version + 1)

    async def _as_edited(self, record: ReviewRecord, number: int) -> Edited:
        note = await self.note(record, number)
        return Edited(record, note.changes, note.faults)

    async def revalidate(self, id_: str, version: int) -> tuple[ReviewRecord, tuple[Fault, ...]]:
        """Hold a version against its paper again, and keep what is found. Raises NOT_FOUND, PRECONDITION."""
        record = await self.records.get(id_)
        stands = record.at(version)
        paper = await self._papers.records.get(record.paper_id)
        tree, before = await self._versions.tree(stands.tree), await self._versions.note(stands.note)
        note = await self._versions.validate(paper, tree, before.changes)
        now = replace(stands, note=note.ref, faults=len(note.faults))
        return await self.records.change(id_, lambda found: review.revalidated(found, now)), note.faults

    # ---- agreement

    async def agreement(self, kind: Kind | None) -> tuple[Agreement, list[Agreement]]:
        """How far people agree, over the whole queue or one kind, and for each two of them."""
        turns = asyncio.Semaphore(_AT_ONCE)

        async def one(id_: str) -> ReviewRecord | None:
            async with turns:
                return await self.records.find(id_)

        found = await asyncio.gather(*map(one, await self.records.ids()))
        return agreement(record for record in found if record and kind in (None, record.kind))


def _name(name: str) -> str:
    return " ".join(name.split())

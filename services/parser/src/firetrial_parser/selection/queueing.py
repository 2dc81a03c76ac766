"""What comes into the review queue: screened papers that nothing speaks against, and trees that were read."""

from __future__ import annotations

from firetrial_kit import tenants
from firetrial_kit.clock import Clock
from firetrial_kit.ids import digest
from firetrial_kit.records import Records
from firetrial_parser.papers import Papers
from firetrial_parser.selection.announcing import SelectionAnnouncer
from firetrial_parser.selection.candidates import Candidate
from firetrial_parser.selection.deciding import Read
from firetrial_parser.selection.review import EXTRACTION, Kind, ReviewRecord, TreeVersion
from firetrial_parser.selection.screening import Screened
from firetrial_parser.selection.versions import Versions

_ID = 12  # hex digits; what people type


def screened_id(candidate: Candidate, read: Read) -> str:
    """The review of a screened paper: the same paper in two batches has one."""
    what = candidate.paper_id or [read.title.strip(), read.abstract.strip()]
    return f"s-{digest('screened', what, length=_ID)}"


def tree_id(paper_id: str) -> str:
    """The review of a paper's tree."""
    return tenants.beside(paper_id, f"t-{tenants.bare(paper_id)[:_ID]}")


class Queueing:
    """Queues what is to be reviewed. Queueing a thing twice queues it once."""

    def __init__(
        self,
        records: Records[ReviewRecord],
        versions: Versions,
        papers: Papers,
        announcer: SelectionAnnouncer,
        clock: Clock,
    ) -> None:
        self._records = records
        self._versions = versions
        self._papers = papers
        self._announcer = announcer
        self._clock = clock

    async def screened(self, screening_id: str, item: Screened) -> None:
        """Queue a screened paper and announce it."""
        candidate, now = item.candidate, self._clock.now()
        record = ReviewRecord(
            item.review_id,
            Kind.SCREENED,
            candidate.title or candidate.id,
            now,
            now,
            paper_id=candidate.paper_id,
            screening_id=screening_id,
            place=item.place,
        )
        if not await self._records.create(item.review_id, record):
            record = await self._records.get(item.review_id)
        await self._announcer.paper_screened(record, candidate.id)

    async def tree(self, paper_id: str) -> None:
        """Queue the tree of a paper as it was read. One that people have worked on stays as it is."""
        paper = await self._papers.records.get(paper_id)
        if paper.tree is None or await self._records.find(tree_id(paper_id)) is not None:
            return
        tree = await self._papers.archive.tree(paper.tree)
        ref, note = await self._versions.keep(paper, tree, ())
        now = self._clock.now()
        first = TreeVersion(1, ref, note.ref, EXTRACTION, now, 0, len(note.faults))
        record = ReviewRecord(
            tree_id(paper_id), Kind.TREE, paper.title or paper.filename, now, now, paper_id, versions=(first,)
        )
        await self._records.create(record.id, record)

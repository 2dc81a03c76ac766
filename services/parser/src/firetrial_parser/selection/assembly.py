"""The parts of choosing put together, for `main`."""

from __future__ import annotations

from dataclasses import dataclass

from firetrial_kit.bus import Consumer
from firetrial_kit.records import Records
from firetrial_kit.service import Parts
from firetrial_kit.spending import Account, Purses
from firetrial_parser.archive import Archive
from firetrial_parser.asking import Asker
from firetrial_parser.papers import Papers
from firetrial_parser.selection.announcing import SelectionAnnouncer
from firetrial_parser.selection.deciders import TERMS, Deciders
from firetrial_parser.selection.handlers import SelectionHandlers
from firetrial_parser.selection.metrics import SelectionMetrics
from firetrial_parser.selection.queueing import Queueing
from firetrial_parser.selection.review import ReviewRecord
from firetrial_parser.selection.reviewing import Reviewing
from firetrial_parser.selection.screening import ScreeningRecord
from firetrial_parser.selection.screenings import Screenings
from firetrial_parser.selection.shelf import Shelf
from firetrial_parser.selection.versions import Versions
from firetrial_parser.selection.working import Worker


@dataclass(frozen=True, slots=True)
class Selection:
    """What is served, and what is run."""

    screenings: Screenings
    reviewing: Reviewing
    consumers: tuple[Consumer, ...]


def selection(parts: Parts, archive: Archive, papers: Papers, asker: Asker | None) -> Selection:
    """Screening and review over the same state, store and bus as the rest of the parser."""
    shelf, announcer = Shelf(parts.objects), SelectionAnnouncer(parts.bus, parts.clock)
    versions, metrics = Versions(archive, shelf), SelectionMetrics(parts.registry)
    reviews = Records(parts.state, "review", ReviewRecord)
    batches = Records(parts.state, "screening", ScreeningRecord)
    purses = Purses(Records(parts.state, "screening_budget", Account), parts.clock, TERMS)
    deciders = Deciders(purses, asker)
    queueing = Queueing(reviews, versions, papers, announcer, parts.clock)
    worker = Worker(
        records=batches,
        shelf=shelf,
        papers=papers,
        deciders=deciders,
        queueing=queueing,
        announcer=announcer,
        clock=parts.clock,
        metrics=metrics,
    )
    return Selection(
        Screenings(batches, shelf, deciders, announcer, parts.clock),
        Reviewing(reviews, versions, papers, announcer, parts.clock),
        SelectionHandlers(worker, queueing, parts.log).consumers(),
    )

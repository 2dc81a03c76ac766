"""What stands behind the analyzer's RPCs, put together."""

from __future__ import annotations

from firetrial_analyzer.archive import Archive
from firetrial_analyzer.embedding import Embedder
from firetrial_analyzer.exports import Exports
from firetrial_analyzer.ledger import Ledger
from firetrial_analyzer.release import Release
from firetrial_analyzer.releases import Releases
from firetrial_analyzer.reports import Reports
from firetrial_analyzer.reviewing import Reviewing
from firetrial_analyzer.reviews import RunReviews
from firetrial_analyzer.servicer import AnalyzerServicer
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_kit.objects import Objects
from firetrial_kit.records import Records
from firetrial_kit.state import State


def servicer(
    reports: Reports,
    ledger: Ledger,
    archive: Archive,
    *,
    bus: Bus,
    state: State,
    objects: Objects,
    clock: Clock,
    embedder: Embedder | None = None,
) -> AnalyzerServicer:
    """The RPCs over these reports."""
    releases = Releases(Records(state, "release", Release), objects, clock)
    return AnalyzerServicer(
        reports=reports,
        archive=archive,
        releases=releases,
        exports=Exports(ledger, releases, archive, objects),
        reviewing=Reviewing(archive, Records(state, "review", RunReviews), objects, clock),
        bus=bus,
        embedder=embedder,
    )

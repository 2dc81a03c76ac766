"""What lasts of the analyzer's state: all of it. Records of reports can be made from the analyses alone."""

from __future__ import annotations

from collections.abc import Collection

from prometheus_client import CollectorRegistry

from firetrial_analyzer.announce import Announcer
from firetrial_analyzer.archive import Archive
from firetrial_analyzer.ledger import Ledger
from firetrial_analyzer.metrics import AnalyzerMetrics
from firetrial_analyzer.record import ReportRecord
from firetrial_analyzer.release import Release
from firetrial_analyzer.reports import Reports
from firetrial_kit.keeping import Belongings, Installation, Steward
from firetrial_kit.records import Records

_SHARED = "named by what was asked, which other experiments may ask too"
_TABLES = "tables/"


async def complete(to: Installation) -> list[str]:
    """The records of reports have all rows that there are analyses for: copies are some seconds behind."""
    made = await _reports(to).rebuild(keep=True)
    return [f"report of {id_}: completed from the analyses of its runs" for id_ in made]


async def belongings(to: Installation, experiment_id: str, run_ids: Collection[str]) -> Belongings:
    """Its analyses, tables, reports, and what people said of it. A release that it belongs to protects it."""
    record = await _records(to).find(experiment_id)
    release = record.plan.release if record else ""
    held = bool(release) and await Records(to.state, "release", Release).find(release) is not None
    folders = [f"{_TABLES}{experiment_id}/", f"reports/{experiment_id}/"]
    folders += [f"reviews/{id_}/" for id_ in run_ids]
    objects = [f"results/{key}" for folder in folders for key in await to.objects.keys("results", folder)]
    analyses = [f"results/analyses/{id_}.json" for id_ in run_ids]
    return Belongings(
        records=(
            *(f"review.{id_}" for id_ in run_ids),
            f"attribution-budget.{experiment_id}",
            f"report.{experiment_id}",
        ),
        objects=(*[uri for uri in analyses if await to.objects.stat(uri)], *objects),
        others=(("results/attribution-cache/", _SHARED),),
        protected=f"release {release}" if held else "",
    )


async def unused(to: Installation) -> list[str]:
    """Parts of tables that no record names: what a merge replaced, or a crash left.

    Only of experiments that are complete: a part is stored before it is named, and may be stored again.
    """
    known = await _records(to).all()
    complete = {record.experiment_id: record for record in known if record.complete}
    named = {part.ref.uri for record in complete.values() for part in record.parts}
    lying = [
        f"results/{key}" for id_ in complete for key in await to.objects.keys("results", f"{_TABLES}{id_}/")
    ]
    return [uri for uri in lying if uri.endswith(".parquet") and uri not in named]


def _records(to: Installation) -> Records[ReportRecord]:
    return Records(to.state, "report", ReportRecord)


def _reports(to: Installation) -> Reports:
    return Reports(
        ledger=Ledger(_records(to), to.objects, to.clock),
        archive=Archive(to.objects),
        announcer=Announcer(to.bus, to.clock),
        metrics=AnalyzerMetrics(CollectorRegistry()),
    )


STEWARD = Steward("analyzer", "results", complete=complete, belongings=belongings, unused=unused)

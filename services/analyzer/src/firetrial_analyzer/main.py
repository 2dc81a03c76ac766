"""The analyzer as a process of its own, and as a part of `firetrial up`."""

from __future__ import annotations

import os

from firetrial.analyzer.v1 import analyzer_service_pb2_grpc
from firetrial_analyzer.analysing import Analysing
from firetrial_analyzer.announce import Announcer
from firetrial_analyzer.archive import Archive
from firetrial_analyzer.assembly import servicer
from firetrial_analyzer.attributing.assembly import attributor
from firetrial_analyzer.config import AnalyzerSettings
from firetrial_analyzer.fleet import Fleet
from firetrial_analyzer.handlers import Handlers
from firetrial_analyzer.kinds.repository_runs import RepositoryRuns
from firetrial_analyzer.ledger import Ledger
from firetrial_analyzer.metrics import AnalyzerMetrics
from firetrial_analyzer.onnx_embedding import chosen
from firetrial_analyzer.record import ReportRecord
from firetrial_analyzer.reports import Reports
from firetrial_kit import rpc, service
from firetrial_kit.records import Records
from firetrial_kit.service import Parts, Service

NAME = "analyzer"


async def build(parts: Parts) -> Service:
    settings = AnalyzerSettings.from_env(parts.environ, NAME)
    archive = Archive(parts.objects)
    ledger = Ledger(Records(parts.state, "report", ReportRecord), parts.objects, parts.clock)
    reports = Reports(
        ledger=ledger, archive=archive,
        announcer=Announcer(parts.bus, parts.clock), metrics=AnalyzerMetrics(parts.registry),
        cutoffs=settings.cutoff_table(), shown_runs=settings.shown_runs,
    )  # fmt: skip
    embedder = chosen(settings.embedder_model, settings.embedder_tokenizer)
    rpcs = servicer(
        reports, ledger, archive,
        bus=parts.bus, state=parts.state, objects=parts.objects, clock=parts.clock,
        embedder=embedder,
    )  # fmt: skip

    def register(server: rpc.Server) -> None:
        server.add(
            "firetrial.analyzer.v1.AnalyzerService",
            analyzer_service_pb2_grpc.add_AnalyzerServiceServicer_to_server,
            rpcs,
        )

    steps = RepositoryRuns(parts.objects, embedder)
    rpcs.analysing = Analysing(archive, *attributor(settings, parts), repositories=steps)
    handlers = Handlers(reports, archive, parts.log, rpcs.analysing)
    fleet = Fleet(parts.registry, parts.broker, parts.log)
    return Service(NAME, register, handlers.consumers(settings.analyses_at_once), [fleet.run])


def main() -> None:
    service.main({NAME: build}, os.environ)

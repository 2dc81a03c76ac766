"""The parser as a process of its own, and as a part of `firetrial up`."""

from __future__ import annotations

import os
from functools import partial

from firetrial.parser.v1 import parser_service_pb2_grpc
from firetrial_kit import rpc, service
from firetrial_kit.records import Records
from firetrial_kit.service import Parts, Service
from firetrial_parser import assembly
from firetrial_parser.announcing import SERVICE, Announcer
from firetrial_parser.archive import Archive
from firetrial_parser.config import ParserSettings
from firetrial_parser.handlers import Handlers
from firetrial_parser.metrics import ParserMetrics
from firetrial_parser.papers import Papers
from firetrial_parser.reading import read_apart
from firetrial_parser.records import PaperRecord
from firetrial_parser.selection.assembly import selection
from firetrial_parser.servicer import ParserServicer
from firetrial_parser.soundness.assembly import soundness
from firetrial_parser.trees import Trees


async def build(parts: Parts) -> Service:
    settings = ParserSettings.from_env(parts.environ, SERVICE)
    archive, metrics = Archive(parts.objects), ParserMetrics(parts.registry)
    announcer = Announcer(parts.bus, parts.clock)
    asker, judge = await assembly.asker(settings, parts), await assembly.judge(settings, parts)
    tasking = assembly.tasking(parts, archive, metrics, announcer, asker=asker, judge=judge)
    papers = Papers(
        records=Records(parts.state, "paper", PaperRecord),
        archive=archive,
        making=tasking.making,
        publishing=tasking.publishing,
        announcer=announcer,
        clock=parts.clock,
        metrics=metrics,
        trees=Trees(asker, judge=judge, context=settings.model_context),
        reads=partial(read_apart, timeout=settings.parse_timeout, limit=settings.max_paper_bytes),
        limit=settings.max_paper_bytes,
    )
    submitting = assembly.submitting(settings, parts, papers, tasking, announcer)
    chosen = selection(parts, archive, papers, asker)
    gate = soundness(parts, papers, asker, judge)
    servicer = ParserServicer(submitting, papers, tasking, chosen, gate.proposals)
    add = parser_service_pb2_grpc.add_ParserServiceServicer_to_server

    def register(server: rpc.Server) -> None:
        server.add("firetrial.parser.v1.ParserService", add, servicer)

    own = Handlers(papers, parts.log).consumers(settings.parses_at_once)
    return Service(SERVICE, register, (*own, *chosen.consumers, *gate.consumers))


def main() -> None:
    service.main({SERVICE: build}, os.environ)

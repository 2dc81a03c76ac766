"""The judge as a process of its own, and as a part of `firetrial up`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

from firetrial.judge.v1 import judge_service_pb2_grpc
from firetrial_judge import offline
from firetrial_judge.archive import Archive
from firetrial_judge.cache import Cache, LocalTier, StoreTier, Tiers
from firetrial_judge.config import JudgeSettings
from firetrial_judge.handlers import Handlers
from firetrial_judge.judges import Judges
from firetrial_judge.judging import SERVICE, Judging
from firetrial_judge.metrics import JudgeMetrics
from firetrial_judge.model_judge import clients, model_judges
from firetrial_judge.records import JudgedRun, JudgementRecord
from firetrial_judge.rubric.grader import Grader
from firetrial_judge.servicer import JudgeServicer
from firetrial_judge.spending import Account, Purses
from firetrial_kit import rpc, service
from firetrial_kit.objects import Objects
from firetrial_kit.records import Records
from firetrial_kit.service import Parts, Service


async def build(parts: Parts) -> Service:
    settings = JudgeSettings.from_env(parts.environ, SERVICE)
    prices = settings.price_table()
    metrics = JudgeMetrics(parts.registry, prices)
    client = clients(settings.endpoint if settings.model_url else None, parts.stack, metrics.observe)
    models = model_judges(client, Tiers(*_tiers(settings, parts.objects)), prices)
    archive = Archive(parts.objects)
    judgements = Records(parts.state, "judgement", JudgementRecord)
    runs = Records(parts.state, "run", JudgedRun)
    judging = Judging(
        judges=Judges(await asyncio.to_thread(offline.load), models if settings.model_url else None),
        archive=archive,
        judgements=judgements,
        runs=runs,
        bus=parts.bus,
        clock=parts.clock,
        metrics=metrics,
        purses=Purses(Records(parts.state, "budget", Account), parts.clock),
    )
    grader = Grader(parts.objects, client, parts.clock)
    servicer = JudgeServicer(judging, archive, judgements, runs, grader)

    def register(server: rpc.Server) -> None:
        server.add(
            "firetrial.judge.v1.JudgeService",
            judge_service_pb2_grpc.add_JudgeServiceServicer_to_server,
            servicer,
        )

    consumers = Handlers(judging, parts.log).consumers(settings.judgements_at_once)
    return Service(SERVICE, register, consumers)


def _tiers(settings: JudgeSettings, objects: Objects) -> Iterator[Cache]:
    if settings.cache_dir:
        yield LocalTier(settings.cache_dir, settings.cache_bytes)
    yield StoreTier(objects)


def main() -> None:
    service.main({SERVICE: build}, os.environ)

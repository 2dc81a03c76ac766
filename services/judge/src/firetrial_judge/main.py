"""The judge as a process of its own, and as a part of `firetrial up`."""

from __future__ import annotations

import asyncio
import os

from firetrial.judge.v1.judge_service_pb2_grpc import add_JudgeServiceServicer_to_server as add
from firetrial_judge import assembly, offline
from firetrial_judge.archive import Archive
from firetrial_judge.config import JudgeSettings
from firetrial_judge.entailing import Entailing
from firetrial_judge.handlers import Handlers
from firetrial_judge.judges import Judges
from firetrial_judge.judging import SERVICE, Judging
from firetrial_judge.kinds.lent import Lent
from firetrial_judge.kinds.tidying import Tidying
from firetrial_judge.metrics import JudgeMetrics
from firetrial_judge.records import JudgedRun, JudgementRecord
from firetrial_judge.servicer import JudgeServicer
from firetrial_judge.spending import Purses
from firetrial_kit import service
from firetrial_kit.records import Records
from firetrial_kit.spending import Account


async def build(parts: service.Parts) -> service.Service:
    settings, metrics = JudgeSettings.from_env(parts.environ, SERVICE), JudgeMetrics(parts.registry)
    archive, unaided = Archive(parts.objects), await asyncio.to_thread(offline.load)
    client, models = assembly.models(settings, parts, unaided.judge)
    judgements = Records(parts.state, "judgement", JudgementRecord)
    runs = Records(parts.state, "run", JudgedRun)
    judges, purses = Judges(unaided, models), Purses(Records(parts.state, "budget", Account), parts.clock)
    calibrating = assembly.calibrating(judges, parts)
    judging = Judging(
        judges=judges,
        archive=archive,
        judgements=judgements,
        runs=runs,
        bus=parts.bus,
        clock=parts.clock,
        metrics=metrics,
        purses=purses,
        standing=calibrating.standing,
    )
    lent = Lent(parts.objects, parts.state, parts.clock, parts.instance)
    grader = assembly.grader(settings, parts, client, purses, lent)
    kinds = await assembly.by_kind(settings, parts, archive, judging, grader)
    servicer = JudgeServicer(judging, archive, judgements, runs, kinds, calibrating=calibrating)
    servicer.entailing = Entailing(judges, purses, metrics)
    return service.Service(
        SERVICE,
        lambda server: server.add("firetrial.judge.v1.JudgeService", add, servicer),
        Handlers(kinds, parts.log).consumers(settings.judgements_at_once),
        [Tidying(kinds.sealing, lent, parts.log).run],
    )


def main() -> None:
    service.main({SERVICE: build}, os.environ)

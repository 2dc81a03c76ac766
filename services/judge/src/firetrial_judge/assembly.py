"""Parts of the judge put together from its settings, for `main`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from firetrial_judge.archive import Archive
from firetrial_judge.calibration.calibrating import Calibrating, CalibrationMetrics
from firetrial_judge.calibration.drift import CalibrationRecord
from firetrial_judge.config import JudgeSettings
from firetrial_judge.judge import Judge
from firetrial_judge.judges import Judges
from firetrial_judge.judging import Judging
from firetrial_judge.kinds.by_kind import ByKind
from firetrial_judge.kinds.findings_rpcs import AnalyzerByAddress
from firetrial_judge.kinds.follow_up import Checker, FollowUps
from firetrial_judge.kinds.lent import Lent
from firetrial_judge.kinds.looking_wire import SandboxedLooker
from firetrial_judge.kinds.sealing import SealedRun, Sealing
from firetrial_judge.model_judge import clients, model_judges
from firetrial_judge.offline import OfflineJudge
from firetrial_judge.one_word import OneWord
from firetrial_judge.rubric.grader import Grader
from firetrial_judge.rubric.grading import Looking
from firetrial_judge.spending import Purses
from firetrial_kit.cache import Cache, LocalTier, StoreTier, Tiers
from firetrial_kit.models import ModelClient
from firetrial_kit.monthly import Months
from firetrial_kit.neighbours import channel_to
from firetrial_kit.objects import Objects
from firetrial_kit.records import Records
from firetrial_kit.service import Parts


def models(
    settings: JudgeSettings, parts: Parts, offline: OfflineJudge
) -> tuple[Callable[[str], ModelClient], Callable[[str], Judge] | None]:
    """The client of a model by name, and its judge: None where no endpoint is configured."""
    endpoint = settings.endpoint if settings.model_url else None
    counts, prices = parts.metrics.models, settings.price_table()
    observe, payer = counts.observer(parts.service, prices), Months.of(parts, prices).meter
    client = clients(endpoint, parts.stack, observe, payer)
    if settings.cache_dir:
        parts.metrics.disks.watch(parts.service, "cache", settings.cache_dir)
    cache = Tiers(*_tiers(settings, parts.objects))
    one_word = OneWord(offline) if settings.model_verdicts == "one-word" else None
    judges = model_judges(client, cache, prices, one_word, counts.lookups(parts.service))
    return client, judges if endpoint else None


def _tiers(settings: JudgeSettings, objects: Objects) -> Iterator[Cache]:
    if settings.cache_dir:
        yield LocalTier(settings.cache_dir, settings.cache_bytes)
    yield StoreTier(objects, "results", "judge-cache")


async def by_kind(
    settings: JudgeSettings, parts: Parts, archive: Archive, judging: Judging, grader: Grader
) -> ByKind:
    """What judges runs of each kind of task."""
    records = Records(parts.state, "sealed", SealedRun)
    pool, wait_s = settings.test_pool, settings.test_wait_hours * 3600
    sealing = Sealing(archive, parts.objects, judging, records, parts.bus, parts.clock, pool, wait_s)
    by_model = bool(settings.model_url)
    checker = await analyzer(settings, parts)
    follow_ups = FollowUps(archive, parts.objects, judging, grader, parts.clock, checker, by_model)
    return ByKind(archive, judging, sealing, follow_ups)


async def analyzer(settings: JudgeSettings, parts: Parts) -> Checker | None:
    """The analyzer of the settings, None where they name none."""
    if settings.analyzer_address is None:
        return None
    channel = await channel_to(
        settings.analyzer_address,
        parts.stack,
        ca=settings.analyzer_tls_ca,
        cert=settings.tls_cert,
        key=settings.tls_key,
        token=parts.settings.service_token.get_secret_value(),
    )
    return AnalyzerByAddress(settings.analyzer_address, channel)


def grader(
    settings: JudgeSettings, parts: Parts, client: Callable[[str], ModelClient], purses: Purses, lent: Lent
) -> Grader:
    """What grades submissions, by models alone."""
    pool = settings.test_pool or "default"
    looker = SandboxedLooker(parts.objects, lent, parts.bus, parts.clock, pool)
    looking = Looking(looker, settings.looks) if settings.looks else None
    prices = settings.price_table()
    return Grader(parts.objects, client, parts.clock, prices=prices, purses=purses, looking=looking)


def calibrating(judges: Judges, parts: Parts) -> Calibrating:
    """What measures these judges against people's labels."""
    return Calibrating(
        judges=judges,
        objects=parts.objects,
        records=Records(parts.state, "calibration", CalibrationRecord, shared=True),
        bus=parts.bus,
        clock=parts.clock,
        metrics=CalibrationMetrics(parts.registry),
    )

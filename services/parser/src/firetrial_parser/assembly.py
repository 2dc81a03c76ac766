"""Parts of the parser put together from its settings, for `main`."""

from __future__ import annotations

from collections.abc import Iterator

from firetrial_kit.cache import Cache, LocalTier, StoreTier, Tiers
from firetrial_kit.monthly import Months
from firetrial_kit.neighbours import channel_to
from firetrial_kit.objects import Objects
from firetrial_kit.records import Records
from firetrial_kit.service import Parts
from firetrial_parser.announcing import Announcer
from firetrial_parser.archive import Archive
from firetrial_parser.asking import KEPT, Asker, opened
from firetrial_parser.config import ParserSettings
from firetrial_parser.entailment import Entails
from firetrial_parser.judge_rpc import JudgeByAddress
from firetrial_parser.leaks.checking import LeakChecker
from firetrial_parser.making import Making
from firetrial_parser.metrics import ParserMetrics
from firetrial_parser.papers import Papers
from firetrial_parser.publishing import Publishing
from firetrial_parser.records import RequestRecord, TaskRecord
from firetrial_parser.submitting import Submitting
from firetrial_parser.task_rpcs import Tasking
from firetrial_parser.tasks import Tasks


async def asker(settings: ParserSettings, parts: Parts) -> Asker | None:
    """What asks the model of the settings, None where they name none. Made once: everybody shares it."""
    if not settings.model_url:
        return None
    if settings.cache_dir:
        parts.metrics.disks.watch(parts.service, "cache", settings.cache_dir)
    models = parts.metrics.models
    asking = opened(
        settings.endpoint(),
        cache=Tiers(*_tiers(settings, parts.objects)),
        price=settings.price(),
        looked=models.lookups(parts.service),
        observe=models.observer(parts.service, settings.price_table(), budget="screening"),
        payer=Months.of(parts, settings.price_table()).meter,
    )
    return await parts.stack.enter_async_context(asking)


async def judge(settings: ParserSettings, parts: Parts) -> JudgeByAddress | None:
    """The judge of the settings, None where they name none."""
    if settings.judge_address is None:
        return None
    channel = await channel_to(
        settings.judge_address,
        parts.stack,
        ca=settings.judge_tls_ca,
        cert=settings.tls_cert,
        key=settings.tls_key,
        token=parts.settings.service_token.get_secret_value(),
    )
    return JudgeByAddress(settings.judge_address, channel)


def tasking(
    parts: Parts,
    archive: Archive,
    metrics: ParserMetrics,
    announcer: Announcer,
    *,
    asker: Asker | None,
    judge: Entails | None,
) -> Tasking:
    """What keeps, makes and publishes tasks."""
    records = Records(parts.state, "task", TaskRecord)
    tasks = Tasks(records, archive, parts.clock, metrics, LeakChecker(judge))
    return Tasking(tasks, Making(tasks, asker), Publishing(tasks, announcer))


def submitting(
    settings: ParserSettings, parts: Parts, papers: Papers, tasking: Tasking, announcer: Announcer
) -> Submitting:
    """What takes in papers and tasks."""
    return Submitting(
        papers,
        tasking.tasks,
        announcer,
        Records(parts.state, "request", RequestRecord),
        max_paper=settings.max_paper_bytes,
        max_data=settings.max_data_bytes,
    )


def _tiers(settings: ParserSettings, objects: Objects) -> Iterator[Cache]:
    if settings.cache_dir:
        yield LocalTier(settings.cache_dir, settings.cache_mib * 1024 * 1024)
    yield StoreTier(objects, *KEPT)

"""Parts of the parser put together from its settings, for `main`."""

from __future__ import annotations

from collections.abc import Iterator

from firetrial_kit.cache import Cache, LocalTier, StoreTier, Tiers
from firetrial_kit.objects import Objects
from firetrial_kit.service import Parts
from firetrial_parser.asking import KEPT, Asker, opened
from firetrial_parser.config import ParserSettings
from firetrial_parser.metrics import AskingMetrics


async def asker(settings: ParserSettings, parts: Parts) -> Asker | None:
    """What asks the model of the settings, None where they name none. Made once: everybody shares it."""
    if not settings.model_url:
        return None
    metrics = AskingMetrics(parts.registry)
    asking = opened(
        settings.endpoint(),
        cache=Tiers(*_tiers(settings, parts.objects)),
        price=settings.price(),
        observe=metrics.asked,
        observe_call=metrics.observe,
    )
    return await parts.stack.enter_async_context(asking)


def _tiers(settings: ParserSettings, objects: Objects) -> Iterator[Cache]:
    if settings.cache_dir:
        yield LocalTier(settings.cache_dir, settings.cache_mib * 1024 * 1024)
    yield StoreTier(objects, *KEPT)

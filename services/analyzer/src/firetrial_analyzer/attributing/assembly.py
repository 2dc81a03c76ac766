"""Attribution by a model put together from the settings, for `main`."""

from __future__ import annotations

from firetrial_analyzer.attributing.answers import Answers
from firetrial_analyzer.attributing.attributor import Attributor
from firetrial_analyzer.attributing.instructions import load_prompts
from firetrial_analyzer.attributing.pieces import Size
from firetrial_analyzer.attributing.spending import Account, Accounts
from firetrial_analyzer.config import AnalyzerSettings
from firetrial_analyzer.taxonomy.catalogue import load
from firetrial_kit.monthly import Months
from firetrial_kit.records import Records
from firetrial_kit.service import Parts


def attributor(settings: AnalyzerSettings, parts: Parts) -> tuple[Attributor | None, Accounts | None]:
    """The attributor and what pays for it: nothing where no model is set, no accounts without a cap."""
    if not settings.model_url:
        return None, None
    from firetrial_kit.models import ModelClient  # noqa: PLC0415 - brings the openai package

    price = settings.price()
    counts = parts.metrics.models
    observe = counts.observer(parts.service, settings.price_table())
    payer = Months.of(parts, settings.price_table()).meter
    client = ModelClient(settings.endpoint(), observe=observe, payer=payer)
    parts.stack.push_async_callback(client.aclose)
    size = Size(settings.model_part_characters, settings.model_parts)
    answers = Answers(parts.objects, counts.lookups(parts.service))
    made = Attributor(client, load_prompts(), load(), answers, size=size, price=price)
    cap = settings.attribution_max_usd
    if cap is None or price is None:  # the settings allow no cap without a price
        return made, None
    return made, Accounts(Records(parts.state, "attribution-budget", Account), cap, price)

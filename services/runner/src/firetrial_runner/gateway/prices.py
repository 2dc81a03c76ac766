"""What an exchange costs: the operator's own prices first, else the table of genai-prices, else unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from genai_prices import Usage, calc_price

from firetrial_runner.gateway.exchange import Tokens

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens. Where they are None, cached and cache-written tokens cost what others do."""

    prompt: float
    completion: float
    cached: float | None = None
    cache_written: float | None = None

    def of(self, tokens: Tokens) -> float:
        """USD."""
        cached = self.prompt if self.cached is None else self.cached
        written = self.prompt if self.cache_written is None else self.cache_written
        plain = tokens.prompt - tokens.cached - tokens.cache_written
        read = plain * self.prompt + tokens.cached * cached + tokens.cache_written * written
        return (read + tokens.completion * self.completion) / _MILLION


@dataclass(frozen=True, slots=True)
class Prices:
    """`own` are the operator's prices by the model's name as agents ask for it."""

    own: Mapping[str, Price] = field(default_factory=dict)

    def cost(self, model: str, provider: str, url: str, tokens: Tokens) -> float | None:
        """USD, or None where the price is unknown, which is not 0.

        The table is read by `provider`, a name of genai-prices, or where that is empty by the provider
        whose address `url` is: a model of the same name elsewhere has no known price. The table is the
        one that the package brings; nothing is fetched.
        """
        if price := self.own.get(model):
            return price.of(tokens)
        usage = Usage(
            input_tokens=tokens.prompt,
            output_tokens=tokens.completion,
            cache_read_tokens=tokens.cached,
            cache_write_tokens=tokens.cache_written,
        )
        try:
            if provider:
                return float(calc_price(usage, model, provider_id=provider).total_price)
            return float(calc_price(usage, model, provider_api_url=url).total_price)
        except (LookupError, ValueError):
            return None

"""What is counted of the models that services ask: the same for all of them, by service and purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram

from firetrial_kit.asking import Call, Price
from firetrial_kit.labels import Bounded

_SECONDS = (0.05, 0.2, 1, 2.5, 5, 10, 20, 60, 120, 300, 600)
_KINDS = ("prompt", "completion", "cached")


class ModelMetrics:
    """One for a process. A model may be any that a plan names: those labels are bounded."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, told: str, *labels: str) -> Counter:
            return Counter(f"firetrial_{name}_total", told, labels, registry=registry)

        by = ("service", "purpose", "model")
        self._models = Bounded()
        self._calls = counter("model_calls", "Requests to models, answered or failed.", *by, "result")
        told = "Tokens paid for, cached ones among the prompt's."
        self._tokens = counter("model_tokens", told, *by, "kind")
        self._cost = counter("model_cost_usd", "Cost where the price is known.", *by)
        self._unpriced = counter("model_unpriced_calls", "Answered requests of unknown price.", *by)
        self._seconds = Histogram(
            "firetrial_model_call_seconds",
            "Time of one request to a model, answered or not.",
            ("service", "model"),
            buckets=_SECONDS,
            registry=registry,
        )
        told = "Looks for answers that were paid for before: hit, or miss."
        self._lookups = counter("cache_lookups", told, "service", "result")
        told = "Requests that were not made, for want of room in a budget."
        self._refusals = counter("budget_refusals", told, "service", "scope")

    def observer(
        self, service: str, prices: Mapping[str, Price], budget: str = "experiment"
    ) -> Callable[[Call], None]:
        """What a client tells its requests; `budget` is whose the service's caps are."""
        over_budget = self.over_budget(service, budget)

        def observe(call: Call) -> None:
            if call.refused:
                over_budget(budget)
            else:
                self._count(service, call, prices.get(call.model))

        return observe

    def over_budget(self, service: str, *budgets: str) -> Callable[[str], None]:
        """What is told whose budget had no room for a request: one of these."""
        counts = {budget: self._refusals.labels(service, budget) for budget in budgets}

        def refused(budget: str) -> None:
            counts[budget].inc()

        return refused

    def lookups(self, service: str) -> Callable[[int, int], None]:
        """What a cache tells of a look: how many answers it had, and how many it had not."""
        hits, misses = (self._lookups.labels(service, result) for result in ("hit", "miss"))

        def looked(hit: int, missed: int) -> None:
            hits.inc(hit)
            misses.inc(missed)

        return looked

    def _count(self, service: str, call: Call, price: Price | None) -> None:
        (model,) = self._models.of(call.model)
        by = (service, call.purpose, model)
        self._seconds.labels(service, model).observe(call.seconds)
        self._calls.labels(*by, "answered" if call.answered else "failed").inc()
        if not call.answered:
            return
        for kind in _KINDS:
            self._tokens.labels(*by, kind).inc(getattr(call.usage, f"{kind}_tokens"))
        if price is None:
            self._unpriced.labels(*by).inc()
        else:
            self._cost.labels(*by).inc(price.of(call.usage))

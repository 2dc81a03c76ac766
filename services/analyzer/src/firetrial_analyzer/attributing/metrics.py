"""What is counted of the attributing model."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

from firetrial_kit.asking import Call, Price


class AttributionMetrics:
    """Registered once per process; `price` is None where it is unknown."""

    def __init__(self, registry: CollectorRegistry, price: Price | None) -> None:
        self._price = price
        self._calls = Counter(
            "firetrial_attribution_calls_total",
            "Requests to the attributing model, by result.",
            ["result"],
            registry=registry,
        )
        self._tokens = Counter(
            "firetrial_attribution_tokens_total", "Tokens paid for.", ["kind"], registry=registry
        )
        self._cost = Counter(
            "firetrial_attribution_cost_usd_total", "Cost where the price is known.", registry=registry
        )
        self._seconds = Histogram(
            "firetrial_attribution_call_seconds",
            "Time of one request, answered or not.",
            buckets=(0.2, 1, 5, 20, 60, 300),
            registry=registry,
        )

    def observe(self, call: Call) -> None:
        """Add one request."""
        self._seconds.observe(call.seconds)
        priced = "answered" if self._price else "unpriced"
        self._calls.labels(priced if call.answered else "failed").inc()
        for kind in ("prompt", "completion", "cached"):
            self._tokens.labels(kind).inc(getattr(call.usage, f"{kind}_tokens"))
        if self._price:
            self._cost.inc(self._price.of(call.usage))

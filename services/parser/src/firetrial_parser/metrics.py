"""What the parser counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

from firetrial_kit.asking import Call, Spent


class ParserMetrics:
    """Papers by how they ended, the time to read one, tasks by where they came from."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.papers = Counter(
            "firetrial_papers_total", "Papers read or failed.", ["result"], registry=registry
        )
        self.parsing = Histogram(
            "firetrial_paper_parse_seconds",
            "Time to read a paper and build its tree.",
            buckets=(0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300),
            registry=registry,
        )
        self.tasks = Counter("firetrial_tasks_total", "Tasks stored.", ["origin"], registry=registry)


class AskingMetrics:
    """What was asked of models: by `purpose` (the prompt's name) what was paid, by model how it answers."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, told: str, *labels: str) -> Counter:
            return Counter(f"firetrial_parser_model_{name}_total", told, labels, registry=registry)

        self._calls = counter("calls", "Requests that a model answered.", "purpose", "model")
        self._tokens = counter("tokens", "Tokens paid for.", "purpose", "model", "kind")
        self._cost = counter("cost_usd", "Cost where the price is known.", "purpose", "model")
        self._unpriced = counter("unpriced_calls", "Requests whose cost is unknown.", "purpose", "model")
        self._hits = counter("cache_hits", "Answers at hand instead of paid for.", "purpose")
        self._failures = counter("failures", "Requests without an answer.", "model")
        self._seconds = Histogram(
            "firetrial_parser_model_seconds",
            "Time of one request, answered or not.",
            ["model"],
            buckets=(0.2, 1, 5, 20, 60, 300),
            registry=registry,
        )

    def asked(self, purpose: str, model: str, spent: Spent) -> None:
        """Add what one answer took."""
        self._calls.labels(purpose, model).inc(spent.calls)
        for kind in ("prompt", "completion", "cached"):
            self._tokens.labels(purpose, model, kind).inc(getattr(spent, f"{kind}_tokens"))
        self._hits.labels(purpose).inc(spent.cache_hits)
        if spent.known_cost is None:
            self._unpriced.labels(purpose, model).inc(spent.calls)
        else:
            self._cost.labels(purpose, model).inc(spent.known_cost)

    def observe(self, call: Call) -> None:
        """Add one request."""
        self._seconds.labels(call.model).observe(call.seconds)
        if not call.answered:
            self._failures.labels(call.model).inc()

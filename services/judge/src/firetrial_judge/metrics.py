"""What the judge counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram

from firetrial_judge.judgement import Judgement
from firetrial_judge.verdict import Verdict
from firetrial_kit.asking import Call, Price, Spent

_SECONDS = (0.05, 0.2, 1, 5, 20, 60, 300, 1800)


class JudgeMetrics:
    """Registered once per process."""

    def __init__(self, registry: CollectorRegistry, prices: Mapping[str, Price] | None = None) -> None:
        self.seconds = Histogram(
            "firetrial_judge_seconds",
            "Time to judge one conclusion.",
            ["backend"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._verdicts = Counter(
            "firetrial_judge_verdicts_total", "Verdicts given.", ["backend", "verdict"], registry=registry
        )
        self._calls = Counter(
            "firetrial_judge_model_calls_total", "Requests answered by a model.", ["model"], registry=registry
        )
        self._failures = Counter(
            "firetrial_judge_model_failures_total",
            "Requests that a model's endpoint did not answer: limits, errors, time-outs.",
            ["model"],
            registry=registry,
        )
        self._latency = Histogram(
            "firetrial_judge_model_seconds",
            "Time of one request to a model, answered or not.",
            ["model"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._tokens = Counter(
            "firetrial_judge_model_tokens_total", "Tokens paid for.", ["model", "kind"], registry=registry
        )
        self._cost = Counter(
            "firetrial_judge_model_cost_usd_total",
            "Cost of the models whose price is known.",
            ["model"],
            registry=registry,
        )
        self._unpriced = Counter(
            "firetrial_judge_model_unpriced_calls_total",
            "Requests whose cost is unknown.",
            ["model"],
            registry=registry,
        )
        self._hits = Counter(
            "firetrial_judge_cache_hits_total", "Answers at hand instead of paid for.", registry=registry
        )
        self._prices = dict(prices or {})

    def count(self, judgement: Judgement) -> None:
        """Add one judgement."""
        rulings = (*judgement.agent_rulings, *judgement.truth_rulings)
        self.count_verdicts(judgement.config.backend, (r.verdict for r in rulings), judgement.spent)

    def count_verdicts(self, backend: str, verdicts: Iterable[Verdict], spent: Spent) -> None:
        """Add verdicts that belong to no judgement."""
        for verdict in verdicts:
            self._verdicts.labels(backend, verdict).inc()
        self._hits.inc(spent.cache_hits)

    def observe(self, call: Call) -> None:
        """Add one request to a model."""
        self._latency.labels(call.model).observe(call.seconds)
        if not call.answered:
            self._failures.labels(call.model).inc()
            return
        self._calls.labels(call.model).inc(call.usage.calls)
        self._tokens.labels(call.model, "prompt").inc(call.usage.prompt_tokens)
        self._tokens.labels(call.model, "completion").inc(call.usage.completion_tokens)
        self._tokens.labels(call.model, "cached").inc(call.usage.cached_tokens)
        price = self._prices.get(call.model)
        if price is None:
            self._unpriced.labels(call.model).inc()
        else:
            self._cost.labels(call.model).inc(price.of(call.usage))

"""What the judge counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

from firetrial_judge.judgement import Judgement

_SECONDS = (0.05, 0.2, 1, 5, 20, 60, 300, 1800)


class JudgeMetrics:
    """Registered once per process."""

    def __init__(self, registry: CollectorRegistry) -> None:
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
            "firetrial_judge_model_calls_total", "Calls to a model.", ["model"], registry=registry
        )
        self._tokens = Counter(
            "firetrial_judge_model_tokens_total", "Tokens paid for.", ["model", "kind"], registry=registry
        )

    def count(self, judgement: Judgement) -> None:
        """Add one judgement."""
        backend, model = judgement.config.backend, judgement.config.model
        for ruling in (*judgement.agent_rulings, *judgement.truth_rulings):
            self._verdicts.labels(backend, ruling.verdict).inc()
        self._calls.labels(model).inc(judgement.spent.calls)
        self._tokens.labels(model, "prompt").inc(judgement.spent.prompt_tokens)
        self._tokens.labels(model, "completion").inc(judgement.spent.completion_tokens)

"""What the analyzer counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.outcomes import RunOutcome
from firetrial_kit.labels import Bounded

_SECONDS = (0.02, 0.1, 0.5, 2, 10, 60, 300, 1800)


class AnalyzerMetrics:
    """Redelivered runs are counted once."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._labels = Bounded()
        self._outcomes = Counter(
            "firetrial_run_outcomes_total",
            "Attempts that ended for good, by outcome. One that is tried again counts, too.",
            ["pool", "outcome", "agent", "model"],
            registry=registry,
        )
        self._false_claims = Counter(
            "firetrial_false_claims_total", "False claims of agents, by kind.", ["kind"], registry=registry
        )
        self.analysing = Histogram(
            "firetrial_analysis_seconds",
            "Time to analyse one run.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.rendering = Histogram(
            "firetrial_report_seconds",
            "Time to build and render a report.",
            buckets=(0.1, 0.5, 1, 2, 5, 10, 30, 60, 300),
            registry=registry,
        )

    def ended(self, run: RunOutcome) -> None:
        """A run has ended that was not known before."""
        pool, agent, model = self._labels.of(run.pool, run.agent, run.model)
        self._outcomes.labels(pool, run.outcome.value.lower(), agent, model).inc()

    def analysed(self, item: AnalysedRun) -> None:
        for false in item.attribution.false_positives if item.attribution else ():
            self._false_claims.labels(false.kind.value).inc()

"""What the analyzer counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

from firetrial_analyzer.analysis import AnalysedRun


class AnalyzerMetrics:
    """Redelivered runs are counted once."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._runs = Counter(
            "firetrial_analyzed_runs_total", "Runs analysed, by outcome.", ["outcome"], registry=registry
        )
        self._false_claims = Counter(
            "firetrial_false_claims_total", "False claims of agents, by kind.", ["kind"], registry=registry
        )
        self.rendering = Histogram(
            "firetrial_report_seconds",
            "Time to build and render a report.",
            buckets=(0.1, 0.5, 1, 2, 5, 10, 30, 60),
            registry=registry,
        )

    def analysed(self, item: AnalysedRun) -> None:
        self._runs.labels(item.run.outcome.value).inc()
        for false in item.attribution.false_positives if item.attribution else ():
            self._false_claims.labels(false.kind.value).inc()

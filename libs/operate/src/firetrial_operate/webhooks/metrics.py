"""What is counted of webhooks."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.01, 0.05, 0.2, 1, 5, 15, 60)
RESULTS = ("delivered", "later", "dead")


class WebhookMetrics:
    """By endpoint, of which there are few."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.deliveries = Counter(
            "firetrial_webhook_deliveries",
            "Attempts to send, by what came of them: delivered, later, or dead for one that was the last.",
            ["endpoint", "result"],
            registry=registry,
        )
        self.seconds = Histogram(
            "firetrial_webhook_seconds",
            "Time of one attempt to send.",
            ["endpoint"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.waiting = Gauge(
            "firetrial_webhook_waiting", "Events in hand that were not sent yet.", ["endpoint"],
            registry=registry,
        )  # fmt: skip

    def expect(self, endpoint: str) -> None:
        """Zeros for an endpoint from which nothing was heard yet."""
        for result in RESULTS:
            self.deliveries.labels(endpoint, result)
        self.seconds.labels(endpoint)
        self.waiting.labels(endpoint)

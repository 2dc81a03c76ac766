"""The Prometheus registry of a process and the page that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.process_collector import ProcessCollector

_SECONDS = (0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300, 1800, 7200, 28800)


class KitMetrics:
    """What every service counts, whatever it does."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.rpc = Histogram(
            "firetrial_rpc_seconds",
            "Duration of RPCs.",
            ["method", "code"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.settled = Counter(
            "firetrial_messages_total",
            "Deliveries, by how they were settled: done, later or failed.",
            ["consumer", "result"],
            registry=registry,
        )
        self.handling = Histogram(
            "firetrial_message_seconds", "Time to handle a message.", ["consumer"], buckets=_SECONDS,
            registry=registry,
        )  # fmt: skip
        self.in_hand = Gauge(
            "firetrial_messages_in_hand", "Messages being handled now.", ["consumer"], registry=registry
        )


def new_registry() -> CollectorRegistry:
    """A registry with the process's own figures (memory, CPU, open files)."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


@contextmanager
def serving(registry: CollectorRegistry, address: str) -> Iterator[int]:
    """Show `registry` at http://`address`/metrics while inside; gives the port that was taken."""
    host, _, port = address.rpartition(":")
    server, thread = start_http_server(int(port), addr=host, registry=registry)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

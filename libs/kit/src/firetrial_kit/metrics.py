"""The Prometheus registry of a process, the page that shows it, and the page that says whether it serves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

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
def serving(registry: CollectorRegistry, address: str, ready: Callable[[], bool]) -> Iterator[int]:
    """Show `registry` at http://`address`/metrics while inside; gives the port that was taken.

    /healthz answers 200 while `ready`, else 503: for probes, which have no client's certificate.
    """
    host, _, port = address.rpartition(":")
    server, thread = start_http_server(int(port), addr=host, registry=registry)
    pages = server.get_app()

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/healthz":
            return pages(environ, start_response) if pages else []
        start_response("200 OK" if ready() else "503 Service Unavailable", [("Content-Type", "text/plain")])
        return [b"serving\n" if ready() else b"not serving\n"]

    server.set_app(app)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""The Prometheus registry of a process, the page that shows it, and the page that says whether it serves."""

from __future__ import annotations

import platform
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from itertools import product
from threading import Thread
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    make_wsgi_app,
)
from prometheus_client.process_collector import ProcessCollector

from firetrial_kit.disks import Disks
from firetrial_kit.model_metrics import ModelMetrics
from firetrial_kit.objects import Grants
from firetrial_kit.pages import PageServer

READS, WRITES, DELETES = ("get", "stream", "stat", "keys"), ("put", "put_file"), ("delete",)
"""The operations on objects, by the right that they need."""
_RPC_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 3600)
# Of a runner's messages, one is a run.
_MESSAGE_SECONDS = (0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300, 1800, 7200, 28800, 86400, 604800)
_STORE_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300)


class KitMetrics:
    """What every service counts, whatever it does. One for a process, however many services it runs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.rpc = Histogram(
            "firetrial_rpc_seconds",
            "Duration of RPCs.",
            ["method", "code"],
            buckets=_RPC_SECONDS,
            registry=registry,
        )
        self.settled = Counter(
            "firetrial_messages_total",
            "Deliveries, by how they were settled: done, later or failed.",
            ["consumer", "result"],
            registry=registry,
        )
        self.redelivered = Counter(
            "firetrial_messages_redelivered_total",
            "Deliveries that were not the first of their message.",
            ["consumer"],
            registry=registry,
        )
        self.handling = Histogram(
            "firetrial_message_seconds", "Time to handle a message.", ["consumer"], buckets=_MESSAGE_SECONDS,
            registry=registry,
        )  # fmt: skip
        self.in_hand = Gauge(
            "firetrial_messages_in_hand", "Messages being handled now.", ["consumer"], registry=registry
        )
        self._build = Gauge(
            "firetrial_build_info", "1, of the service that runs.", ["service", "version", "python"],
            registry=registry,
        )  # fmt: skip
        self.objects = ObjectMetrics(registry)
        self.models = ModelMetrics(registry)
        self.disks = Disks(registry)

    def runs(self, service: str) -> None:
        """A service is a part of this process."""
        version = metadata.version(f"firetrial-{service}")
        self._build.labels(service, version, platform.python_version()).set(1)


class ObjectMetrics:
    """Operations on the object store, by bucket and result: ok, or the reason of the failure."""

    def __init__(self, registry: CollectorRegistry) -> None:
        by = ["operation", "bucket"]
        self.seconds = Histogram(
            "firetrial_object_store_seconds",
            "Time of one operation on the object store.",
            [*by, "result"],
            buckets=_STORE_SECONDS,
            registry=registry,
        )
        self.refusals = Counter(
            "firetrial_object_store_refusals_total",
            "Operations that the object store refused: denied, or unavailable.",
            [*by, "reason"],
            registry=registry,
        )

    def expect(self, grants: Grants) -> None:
        """Show what may be refused from its beginning: an increase from nothing is none to a monitor."""
        for operations, buckets in ((READS, grants.read), (WRITES, grants.write), (DELETES, grants.delete)):
            for labels in product(operations, sorted(buckets), ("denied", "unavailable")):
                self.refusals.labels(*labels)


def new_registry() -> CollectorRegistry:
    """A registry with the process's own figures (memory, CPU, open files).

    Without the series that say when each other one began, which would double what is scraped.
    """
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


def reachable(address: str, port: int) -> str:
    """Where a page served at `address` with the port that it got is for other machines; "" where nowhere."""
    host = address.rpartition(":")[0].strip("[]")
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 - is told from it
        host = socket.gethostname()
    elif host == "localhost" or host.startswith("127.") or host == "::1":
        return ""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@contextmanager
def serving(registry: CollectorRegistry, address: str, ready: Callable[[], bool]) -> Iterator[int]:
    """Show `registry` at http://`address`/metrics while inside; gives the port that was taken.

    /healthz answers 200 while `ready`, else 503: for probes, which have no client's certificate.
    """
    host, _, port = address.rpartition(":")
    pages = make_wsgi_app(registry)

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/healthz":
            page: Iterable[bytes] = pages(environ, start_response)
            return page
        start_response("200 OK" if ready() else "503 Service Unavailable", [("Content-Type", "text/plain")])
        return [b"serving\n" if ready() else b"not serving\n"]

    with PageServer(host, int(port)) as server:
        server.set_app(app)
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()

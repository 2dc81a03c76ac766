"""A small OpenTelemetry collector: OTLP over HTTP in, spans out, or an answer that never comes."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue


@dataclass(frozen=True, slots=True)
class Seen:
    """A span as it came; ids in hex, `parent` empty for the first of a trace, times in nanoseconds."""

    service: str
    name: str
    kind: int
    trace: str
    id: str
    parent: str
    began: int
    ended: int
    failed: bool
    attributes: dict[str, object]


@dataclass(slots=True)
class Collector:
    """`url` is what OTEL_EXPORTER_OTLP_ENDPOINT must be; `bodies` are the requests as they came."""

    url: str
    spans: list[Seen] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        """Decode a request."""
        self.bodies.append(body)
        self.headers.append(headers)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = str(_values(resource.resource.attributes)["service.name"])
            for scope in resource.scope_spans:
                self.spans += [
                    Seen(
                        service,
                        span.name,
                        span.kind,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.start_time_unix_nano,
                        span.end_time_unix_nano,
                        span.status.code == span.status.STATUS_CODE_ERROR,
                        _values(span.attributes),
                    )
                    for span in scope.spans
                ]


@contextmanager
def collector(*, hang: bool = False) -> Iterator[Collector]:
    """A collector on a free port; one that hangs takes requests and never answers."""
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if hang:
                ended.wait()
                return
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            found.take(body, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _values(attributes: object) -> dict[str, object]:
    return {one.key: _value(one.value) for one in attributes if isinstance(one, KeyValue)}  # type: ignore[attr-defined]


def _value(value: AnyValue) -> object:
    which = value.WhichOneof("value")
    return getattr(value, which) if which else None

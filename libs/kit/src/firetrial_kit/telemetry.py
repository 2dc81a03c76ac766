"""Spans sent to an OpenTelemetry collector (OTLP over HTTP), where the standard environment names one.

OTEL_EXPORTER_OTLP_ENDPOINT (or …_TRACES_ENDPOINT) turns it on; OTEL_SDK_DISABLED=true or
OTEL_TRACES_EXPORTER=none turn it off; OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, the
exporter's headers, certificates and time-out, and the batches' OTEL_BSP_* are read by the SDK.
https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/

Spans are sent by a thread of their own out of a queue that drops what it has no room for: a collector that is
away or hangs holds nothing up.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from prometheus_client import CollectorRegistry, Counter

from firetrial_kit import trace
from firetrial_kit.settings import SettingsError
from firetrial_kit.trace import Kind, Value

if TYPE_CHECKING:  # without an endpoint nothing of it is imported
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.trace import Span, Tracer

LAST_S = 2.0
"""Seconds that the last spans have to be sent in when a service ends."""
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"


class SpanMetrics:
    """Spans that were sent, where any are."""

    def __init__(self, registry: CollectorRegistry) -> None:
        told = "Spans handed to the collector, by whether it took them: exported or failed."
        self.spans = Counter("firetrial_trace_spans_total", told, ["result"], registry=registry)


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for it. Raises SettingsError for what is not spoken here."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if environ.get("OTEL_TRACES_EXPORTER", "otlp").strip() == "none" or not any(map(environ.get, _ENDPOINTS)):
        return False
    said = next((name for name in _PROTOCOLS if environ.get(name)), "")
    if said and environ[said] != _PROTOCOL:
        raise SettingsError([f"{said}: only {_PROTOCOL} is spoken (found {environ[said]!r})"])
    return True


@contextmanager
def exporting(
    environ: Mapping[str, str],
    service: str,
    registry: CollectorRegistry,
    log: structlog.typing.FilteringBoundLogger,
) -> Iterator[None]:
    """Spans of this process are sent while inside, as those of `service`, where `environ` asks for it."""
    if not is_wanted(environ):
        yield
        return
    provider = _provider(environ, service, registry, log)
    trace.record_by(_Recorder(provider.get_tracer("firetrial")))
    try:
        yield
    finally:
        trace.record_by(trace.NOWHERE)
        # The SDK would wait for half a minute; its threads do not keep the process alive.
        last = threading.Thread(target=provider.shutdown, name="last spans", daemon=True)
        last.start()
        last.join(LAST_S)


def _provider(
    environ: Mapping[str, str],
    service: str,
    registry: CollectorRegistry,
    log: structlog.typing.FilteringBoundLogger,
) -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    # What it has to say is told once, by the exporter below, and not for each batch on standard error.
    quiet = logging.getLogger("opentelemetry")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    named = {} if environ.get("OTEL_SERVICE_NAME") else {"service.name": f"firetrial-{service}"}
    provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_counting(OTLPSpanExporter(), registry, log)))
    return provider


def _counting(
    exporter: SpanExporter, registry: CollectorRegistry, log: structlog.typing.FilteringBoundLogger
) -> SpanExporter:
    """The exporter, with its spans counted, and a word where the collector goes away or comes back."""
    from opentelemetry.sdk.trace import export  # noqa: PLC0415

    spans = SpanMetrics(registry).spans

    class Counting(export.SpanExporter):
        away = False

        def export(self, batch: Sequence[ReadableSpan]) -> SpanExportResult:
            result = exporter.export(batch)
            failed = result is not export.SpanExportResult.SUCCESS
            spans.labels("failed" if failed else "exported").inc(len(batch))
            if failed != self.away:
                self.away = failed
                log.warning("no collector takes the spans") if failed else log.info("spans are taken again")
            return result

        def shutdown(self) -> None:
            exporter.shutdown()

    return Counting()


@dataclass(frozen=True, slots=True)
class _Recorder:
    tracer: Tracer

    def begin(self, name: str, kind: Kind, parent: str | None, attributes: Mapping[str, Value]) -> trace.Span:
        from opentelemetry import trace as api  # noqa: PLC0415
        from opentelemetry.context import Context  # noqa: PLC0415

        context = Context()
        if match := trace.FORM.fullmatch(parent or ""):
            trace_id, span_id, flags = (int(part, 16) for part in match.groups())
            over = api.SpanContext(trace_id, span_id, is_remote=True, trace_flags=api.TraceFlags(flags))
            context = api.set_span_in_context(api.NonRecordingSpan(over), context)
        span = self.tracer.start_span(name, context, api.SpanKind[kind.name], attributes)
        return _Recorded(span)


@dataclass(slots=True)
class _Recorded:
    span: Span
    failed: bool = False

    @property
    def traceparent(self) -> str:
        mine = self.span.get_span_context()
        return f"00-{mine.trace_id:032x}-{mine.span_id:016x}-{mine.trace_flags & 1:02x}"

    def note(self, attributes: Mapping[str, Value]) -> None:
        self.span.set_attributes(attributes)

    def fail(self, what: str) -> None:
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415

        if self.failed:
            return
        self.failed = True
        self.span.set_attribute("error.type", what)
        self.span.set_status(Status(StatusCode.ERROR))

    def end(self) -> None:
        self.span.end()

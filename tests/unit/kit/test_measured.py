"""What a service does in its store is timed and counted, refusals beside it."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.measured import MeasuredObjects
from firetrial_kit.metrics import ObjectMetrics
from firetrial_kit.objects import GRANTS
from firetrial_kit.testing import InMemoryObjects


class Store:
    """Measured objects with an analyzer's rights."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.everything = InMemoryObjects()
        metrics = ObjectMetrics(self.registry)
        metrics.expect(GRANTS["analyzer"])
        inner = InMemoryObjects(GRANTS["analyzer"], sharing=self.everything)
        self.objects = MeasuredObjects(inner, metrics)

    def counted(self, operation: str, bucket: str, result: str) -> float | None:
        by = {"operation": operation, "bucket": bucket, "result": result}
        return self.registry.get_sample_value("firetrial_object_store_seconds_count", by)

    def refused(self, operation: str, bucket: str, reason: str) -> float | None:
        by = {"operation": operation, "bucket": bucket, "reason": reason}
        return self.registry.get_sample_value("firetrial_object_store_refusals_total", by)


async def test_each_operation_by_its_result() -> None:
    store = Store()
    ref = await store.objects.put("results", "a/b", b"x" * 10, "text/plain")
    assert await store.objects.get(ref.uri) == b"x" * 10
    assert b"".join([piece async for piece in store.objects.stream(ref.uri)]) == b"x" * 10
    assert await store.objects.stat("results/none") is None
    assert await store.objects.keys("results", "a/") == ["a/b"]
    with pytest.raises(FiretrialError, match="there is no object"):
        await store.objects.get("results/none")
    with pytest.raises(FiretrialError, match="there is no object"):
        [piece async for piece in store.objects.stream("results/none")]
    for operation in ("put", "get", "stream", "stat", "keys"):
        assert store.counted(operation, "results", "ok") == 1, operation
    for operation in ("get", "stream"):
        assert store.counted(operation, "results", "not_found") == 1, operation
    assert store.refused("get", "results", "denied") == 0, "what is missing was not refused"


async def test_what_is_refused_begins_at_nothing() -> None:
    store = Store()
    assert store.refused("get", "runs", "unavailable") == 0
    assert store.refused("get", "truth", "denied") is None, "nobody means to read it"
    for uri in ("truth/a", "nowhere/a"):
        with pytest.raises(FiretrialError):
            await store.objects.get(uri)
    assert store.refused("get", "truth", "denied") == 1
    assert store.counted("get", "other", "invalid") == 1, "a strange bucket makes no label of its own"


async def test_a_stream_that_is_left_is_closed_and_counted() -> None:
    store, closed = Store(), []

    class Streaming(InMemoryObjects):
        async def stream(self, uri: str):  # type: ignore[no-untyped-def]
            try:
                yield b"one"
                yield b"two"
            finally:
                closed.append(uri)

    objects = MeasuredObjects(Streaming(), ObjectMetrics(CollectorRegistry()))
    pieces = objects.stream("runs/a")
    assert await anext(pieces) == b"one"
    await pieces.aclose()  # type: ignore[attr-defined]
    assert closed == ["runs/a"]
    assert store.counted("stream", "runs", "ok") is None


async def test_a_store_that_is_away_refuses() -> None:
    class Away(InMemoryObjects):
        async def get(self, uri: str, *, sha256: str = "", max_size: int = 0) -> bytes:
            raise FiretrialError(Reason.UNAVAILABLE, "the store is away")

    registry = CollectorRegistry()
    objects = MeasuredObjects(Away(), ObjectMetrics(registry))
    with pytest.raises(FiretrialError, match="away"):
        await objects.get("runs/a")
    by = {"operation": "get", "bucket": "runs", "reason": "unavailable"}
    assert registry.get_sample_value("firetrial_object_store_refusals_total", by) == 1

"""Objects, with each operation timed and counted: what each service reaches its store through."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

from firetrial_kit import trace
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.metrics import ObjectMetrics
from firetrial_kit.objects import BUCKETS, DEFAULT_MAX_SIZE, ObjectRef, Objects
from firetrial_kit.trace import Kind

_REFUSALS = {Reason.DENIED, Reason.UNAVAILABLE}


class MeasuredObjects:
    """The `Objects` port over `objects`."""

    def __init__(self, objects: Objects, metrics: ObjectMetrics) -> None:
        self._objects, self._metrics = objects, metrics

    async def put(self, bucket: str, key: str, data: bytes, media_type: str) -> ObjectRef:
        with self._measured("put", bucket):
            return await self._objects.put(bucket, key, data, media_type)

    async def put_file(self, bucket: str, key: str, path: Path, media_type: str) -> ObjectRef:
        with self._measured("put_file", bucket):
            return await self._objects.put_file(bucket, key, path, media_type)

    async def get(self, uri: str, *, sha256: str = "", max_size: int = DEFAULT_MAX_SIZE) -> bytes:
        with self._measured("get", _bucket(uri)):
            return await self._objects.get(uri, sha256=sha256, max_size=max_size)

    async def stream(self, uri: str) -> AsyncIterator[bytes]:
        """Timed to its end, what is done with the pieces left out."""
        pieces, taken, reason = self._objects.stream(uri), 0.0, None
        try:
            while True:
                begun = time.perf_counter()
                try:
                    piece = await anext(pieces, None)
                finally:
                    taken += time.perf_counter() - begun
                if piece is None:
                    return
                yield piece
        except FiretrialError as error:
            reason = error.reason
            raise
        finally:
            self._observe("stream", _bucket(uri), reason, taken)
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()

    async def stat(self, uri: str) -> ObjectRef | None:
        with self._measured("stat", _bucket(uri)):
            return await self._objects.stat(uri)

    async def keys(self, bucket: str, prefix: str) -> list[str]:
        with self._measured("keys", bucket):
            return await self._objects.keys(bucket, prefix)

    async def delete(self, uri: str) -> None:
        with self._measured("delete", _bucket(uri)):
            await self._objects.delete(uri)

    @contextmanager
    def _measured(self, operation: str, bucket: str) -> Iterator[None]:
        begun, reason = time.perf_counter(), None
        told = {"firetrial.bucket": bucket}
        try:
            with trace.span(f"objects {operation}", Kind.CLIENT, told):
                yield
        except FiretrialError as error:
            reason = error.reason
            raise
        finally:
            self._observe(operation, bucket, reason, time.perf_counter() - begun)

    def _observe(self, operation: str, bucket: str, reason: Reason | None, seconds: float) -> None:
        known = bucket if bucket in BUCKETS else "other"
        result = reason.value.lower() if reason else "ok"
        self._metrics.seconds.labels(operation, known, result).observe(seconds)
        if reason in _REFUSALS:
            self._metrics.refusals.labels(operation, known, result).inc()


def _bucket(uri: str) -> str:
    return uri.partition("/")[0]

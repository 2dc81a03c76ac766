"""Objects in a dict."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

from firetrial_kit.errors import FiretrialError
from firetrial_kit.objects import (
    BUCKETS,
    DEFAULT_MAX_SIZE,
    Grants,
    ObjectRef,
    denied,
    missing,
    split_uri,
    too_large,
    verified,
)

EVERYTHING = Grants(*(frozenset(BUCKETS),) * 3)


class InMemoryObjects:
    """Same promises as the real stores. Stores made with `sharing` one another hold the same objects.

    `puts` counts completed writes; `fail_next` raises an error at the next call, once.
    """

    def __init__(self, grants: Grants = EVERYTHING, sharing: InMemoryObjects | None = None) -> None:
        self._grants = grants
        self.held: dict[str, tuple[bytes, str]] = sharing.held if sharing else {}
        self.puts = 0
        self.fail_next: FiretrialError | None = None

    async def put(self, bucket: str, key: str, data: bytes, media_type: str) -> ObjectRef:
        uri = f"{bucket}/{key}"
        self._enter("write", split_uri(uri)[0])
        self.held[uri] = (data, media_type)
        self.puts += 1
        return _ref(uri, data, media_type)

    async def put_file(self, bucket: str, key: str, path: Path, media_type: str) -> ObjectRef:
        return await self.put(bucket, key, path.read_bytes(), media_type)  # noqa: ASYNC240 - memory is the point

    async def get(self, uri: str, *, sha256: str = "", max_size: int = DEFAULT_MAX_SIZE) -> bytes:
        self._enter("read", split_uri(uri)[0])
        if uri not in self.held:
            raise missing(uri)
        data = self.held[uri][0]
        if len(data) > max_size:
            raise too_large(uri, len(data), max_size)
        return verified(uri, data, hashlib.sha256(data).hexdigest(), sha256)

    async def stream(self, uri: str) -> AsyncIterator[bytes]:
        data = await self.get(uri)
        for start in range(0, len(data), 1024 * 1024):
            yield data[start : start + 1024 * 1024]

    async def stat(self, uri: str) -> ObjectRef | None:
        self._enter("read", split_uri(uri)[0])
        return _ref(uri, *self.held[uri]) if uri in self.held else None

    async def keys(self, bucket: str, prefix: str) -> list[str]:
        self._enter("read", bucket)
        keys = (uri.removeprefix(f"{bucket}/") for uri in self.held if uri.startswith(f"{bucket}/"))
        return sorted(key for key in keys if key.startswith(prefix))

    async def delete(self, uri: str) -> None:
        self._enter("delete from", split_uri(uri)[0])
        self.held.pop(uri, None)

    def _enter(self, action: str, bucket: str) -> None:
        if self.fail_next:
            error, self.fail_next = self.fail_next, None
            raise error
        grants = self._grants
        allowed = {"read": grants.read, "write": grants.write, "delete from": grants.delete}[action]
        if bucket not in allowed:
            raise denied(action, bucket)


def _ref(uri: str, data: bytes, media_type: str) -> ObjectRef:
    return ObjectRef(uri, hashlib.sha256(data).hexdigest(), len(data), media_type)

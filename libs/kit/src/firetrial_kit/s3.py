"""Objects in MinIO or any other S3-compatible store, through the `minio` client.

The client blocks, so each call runs in a thread. Its errors become the few reasons that callers act on.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import minio
import urllib3
from minio.error import MinioException, S3Error

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import (
    BUCKETS,
    DEFAULT_MAX_SIZE,
    ObjectRef,
    denied,
    missing,
    split_uri,
    too_large,
    verified,
)

R = TypeVar("R")
PIECE = 1024 * 1024
_SHA256 = "x-amz-meta-sha256"
_GONE = {"NoSuchKey", "NoSuchBucket", "NoSuchObject", "ResourceNotFound"}
_REFUSED = {"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AllAccessDisabled"}


class S3Objects:
    """Objects in an S3-compatible store at `url` (http or https, host and port).

    `ca` is a PEM file of who signed its certificate, where the machine's own authorities did not.
    """

    def __init__(
        self,
        url: str,
        access_key: str,
        secret_key: str,
        *,
        region: str = "us-east-1",
        bucket_prefix: str = "",
        timeout: float = 30.0,
        ca: Path | None = None,
    ) -> None:
        parts = urlsplit(url)
        # The client's own pool would wait five minutes on a store that does not answer.
        pool = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=5, read=timeout),
            retries=urllib3.Retry(total=2, backoff_factor=0.2, status_forcelist=(502, 503, 504)),
            maxsize=16,
            cert_reqs="CERT_REQUIRED",
            ca_certs=str(ca) if ca else None,
        )
        self._client = minio.Minio(
            parts.netloc,
            access_key=access_key,
            secret_key=secret_key,
            secure=parts.scheme == "https",
            region=region,
            http_client=pool,
        )
        self._prefix = bucket_prefix

    async def ensure_buckets(self) -> None:
        """Make the buckets where they are missing; needs credentials that may."""

        def make() -> None:
            for bucket in BUCKETS:
                if not self._client.bucket_exists(bucket_name=self._prefix + bucket):
                    self._client.make_bucket(bucket_name=self._prefix + bucket)

        await self._call("", make)

    async def put(self, bucket: str, key: str, data: bytes, media_type: str) -> ObjectRef:
        sha256 = hashlib.sha256(data).hexdigest()
        await self._call(
            f"{bucket}/{key}",
            lambda: self._client.put_object(
                bucket_name=self._bucket(f"{bucket}/{key}"),
                object_name=key,
                data=io.BytesIO(data),
                length=len(data),
                content_type=media_type,
                metadata={_SHA256: sha256},
            ),
            "write",
        )
        return ObjectRef(f"{bucket}/{key}", sha256, len(data), media_type)

    async def put_file(self, bucket: str, key: str, path: Path, media_type: str) -> ObjectRef:
        def measure_and_put() -> tuple[str, int]:
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            self._client.fput_object(
                bucket_name=self._bucket(f"{bucket}/{key}"),
                object_name=key,
                file_path=str(path),
                content_type=media_type,
                metadata={_SHA256: sha256},
            )
            return sha256, path.stat().st_size

        sha256, size = await self._call(f"{bucket}/{key}", measure_and_put, "write")
        return ObjectRef(f"{bucket}/{key}", sha256, size, media_type)

    async def get(self, uri: str, *, sha256: str = "", max_size: int = DEFAULT_MAX_SIZE) -> bytes:
        def read() -> bytes:
            response = self._open(uri)
            try:
                size = int(response.headers.get("content-length", 0))
                if size > max_size:
                    raise too_large(uri, size, max_size)
                return bytes(response.read())
            finally:
                response.close()
                response.release_conn()

        data = await self._call(uri, read)
        return verified(uri, data, hashlib.sha256(data).hexdigest(), sha256)

    async def stream(self, uri: str) -> AsyncIterator[bytes]:
        response = await self._call(uri, lambda: self._open(uri))
        try:
            while piece := await self._call(uri, lambda: bytes(response.read(PIECE))):
                yield piece
        finally:
            response.close()
            response.release_conn()

    async def stat(self, uri: str) -> ObjectRef | None:
        bucket, key = self._bucket(uri), split_uri(uri)[1]
        try:
            found = await self._call(
                uri, lambda: self._client.stat_object(bucket_name=bucket, object_name=key)
            )
        except FiretrialError as error:
            if error.reason is Reason.NOT_FOUND:
                return None
            raise
        metadata = {name.lower(): value for name, value in (found.metadata or {}).items()}
        return ObjectRef(
            uri, metadata.get(_SHA256, ""), found.size or 0, found.content_type or "application/octet-stream"
        )

    async def keys(self, bucket: str, prefix: str) -> list[str]:
        def found_keys() -> list[str]:
            found = self._client.list_objects(
                bucket_name=self._prefix + bucket, prefix=prefix, recursive=True
            )
            return sorted(item.object_name for item in found if item.object_name and not item.is_dir)

        return await self._call(f"{bucket}/{prefix}", found_keys)

    async def delete(self, uri: str) -> None:
        bucket, key = self._bucket(uri), split_uri(uri)[1]
        try:
            await self._call(
                uri,
                lambda: self._client.remove_object(bucket_name=bucket, object_name=key),
                "delete from",
            )
        except FiretrialError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise

    def _bucket(self, uri: str) -> str:
        return self._prefix + split_uri(uri)[0]

    def _open(self, uri: str) -> urllib3.BaseHTTPResponse:
        response: urllib3.BaseHTTPResponse = self._client.get_object(
            bucket_name=self._bucket(uri), object_name=split_uri(uri)[1]
        )
        return response

    async def _call(self, uri: str, call: Callable[[], R], action: str = "read") -> R:
        try:
            return await asyncio.to_thread(call)
        except S3Error as error:
            raise _translated(uri, action, error) from error
        except (MinioException, urllib3.exceptions.HTTPError, OSError) as error:
            raise FiretrialError(
                Reason.UNAVAILABLE, f"the object store did not answer for {uri!r}: {type(error).__name__}"
            ) from error


def _translated(uri: str, action: str, error: S3Error) -> FiretrialError:
    if error.code in _GONE:
        return missing(uri)
    if error.code in _REFUSED:
        return denied(action, uri.partition("/")[0])
    return FiretrialError(Reason.UNAVAILABLE, f"the object store answered {error.code} for {uri!r}")

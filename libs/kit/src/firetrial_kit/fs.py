"""Objects as files: the store that a single machine uses, with no port open and nothing to secure."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.objects import (
    DEFAULT_MAX_SIZE,
    Grants,
    ObjectRef,
    denied,
    missing,
    split_uri,
    too_large,
    verified,
)

PIECE = 1024 * 1024
# Kept beside the buckets so that a half-written object never lies where a reader looks.
_STAGING = ".staging"
# How often a put makes its folder again that deletions of what else lay in it took away.
_TRIES = 1000


class FilesystemObjects:
    """Objects under `root`, one folder a bucket. A put is written aside, synced and renamed."""

    def __init__(self, root: Path, grants: Grants) -> None:
        self._root = root
        self._grants = grants

    async def put(self, bucket: str, key: str, data: bytes, media_type: str) -> ObjectRef:
        uri = f"{bucket}/{key}"

        def write(file: IO[bytes]) -> None:
            file.write(data)

        await asyncio.to_thread(self._store, uri, write)
        return ObjectRef(uri, hashlib.sha256(data).hexdigest(), len(data), media_type)

    async def put_file(self, bucket: str, key: str, path: Path, media_type: str) -> ObjectRef:
        uri = f"{bucket}/{key}"

        def write(file: IO[bytes]) -> None:
            with path.open("rb") as source:
                shutil.copyfileobj(source, file, PIECE)

        await asyncio.to_thread(self._store, uri, write)
        sha256, size = await asyncio.to_thread(_measure, self._root / uri)
        return ObjectRef(uri, sha256, size, media_type)

    async def get(self, uri: str, *, sha256: str = "", max_size: int = DEFAULT_MAX_SIZE) -> bytes:
        return await asyncio.to_thread(self._get, uri, sha256, max_size)

    async def stream(self, uri: str) -> AsyncIterator[bytes]:
        path = self._readable(uri)
        with path.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, PIECE):
                yield piece

    async def stat(self, uri: str) -> ObjectRef | None:
        try:
            path = self._readable(uri)
        except FiretrialError as error:
            if error.reason is Reason.NOT_FOUND:
                return None
            raise
        sha256, size = await asyncio.to_thread(_measure, path)
        return ObjectRef(uri, sha256, size, "application/octet-stream")

    async def keys(self, bucket: str, prefix: str) -> list[str]:
        if bucket not in self._grants.read:
            raise denied("read", bucket)
        return await asyncio.to_thread(self._list, bucket, prefix)

    async def delete(self, uri: str) -> None:
        bucket, _ = split_uri(uri)
        if bucket not in self._grants.delete:
            raise denied("delete from", bucket)
        try:
            await asyncio.to_thread(self._remove, self._root / uri, self._root / bucket)
        except OSError as error:
            raise FiretrialError(
                Reason.UNAVAILABLE, f"object {uri!r} could not be removed: {error.strerror or error}"
            ) from error

    def _remove(self, path: Path, bucket: Path) -> None:
        """The file, and the folders of its bucket that are empty then."""
        path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty, or another removes it
            for folder in path.relative_to(bucket).parents[:-1]:
                (bucket / folder).rmdir()

    def _list(self, bucket: str, prefix: str) -> list[str]:
        root = self._root / bucket
        found = (path.relative_to(root).as_posix() for path in _files(root / prefix.rpartition("/")[0]))
        return sorted(key for key in found if key.startswith(prefix))

    def _readable(self, uri: str) -> Path:
        bucket, _ = split_uri(uri)
        if bucket not in self._grants.read:
            raise denied("read", bucket)
        path = self._root / uri
        if not path.is_file():
            raise missing(uri)
        return path

    def _get(self, uri: str, sha256: str, max_size: int) -> bytes:
        path = self._readable(uri)
        size = path.stat().st_size
        if size > max_size:
            raise too_large(uri, size, max_size)
        data = path.read_bytes()
        return verified(uri, data, hashlib.sha256(data).hexdigest(), sha256)

    def _store(self, uri: str, write: Callable[[IO[bytes]], object]) -> None:
        bucket, _ = split_uri(uri)
        if bucket not in self._grants.write:
            raise denied("write", bucket)
        target, staging = self._root / uri, self._root / _STAGING
        try:
            staging.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=staging, delete=False) as file:
                try:
                    write(file)
                    file.flush()
                    os.fsync(file.fileno())
                    _place(Path(file.name), target)
                except BaseException:
                    Path(file.name).unlink(missing_ok=True)
                    raise
            with suppress(FileNotFoundError):  # deleted again
                _sync_folder(target.parent)
        except OSError as error:
            raise FiretrialError(
                Reason.UNAVAILABLE,
                f"object {uri!r} could not be stored under {self._root}: {error.strerror or error}; "
                "free space there or mend its permissions",
            ) from error


def _place(part: Path, target: Path) -> None:
    """Rename; a deletion may take away a folder at any moment that has nothing in it yet."""
    for left in reversed(range(_TRIES)):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part.replace(target)
        except (FileNotFoundError, FileExistsError):
            if not left:
                raise
        else:
            return


def _files(below: Path) -> Iterator[Path]:
    """All files in a folder and its folders; one that goes meanwhile is left out. Raises OSError."""

    def heed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise error

    for folder, _, names in os.walk(below, onerror=heed):
        yield from (Path(folder, name) for name in names)


def _measure(path: Path) -> tuple[str, int]:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), os.fstat(file.fileno()).st_size


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

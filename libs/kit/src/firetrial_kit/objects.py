"""Objects: the port that everything which must last is written through, and who may touch what.

Five buckets by trust: `papers` (sources; they contain the answer), `truth` (ground truths),
`runs` (what agents are given and what they leave), `results` (judgements and reports), `sealed` (a part of
a truth for the time of one test, after the agent has ended).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid

BUCKETS = ("papers", "truth", "runs", "results", "sealed")
DEFAULT_MAX_SIZE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """Where an object lies and what it holds: `uri` is bucket/key, `sha256` lower-case hex, `size` bytes."""

    uri: str
    sha256: str
    size: int
    media_type: str


class Objects(Protocol):
    """Object store. A put is whole or it did not happen; putting the same key again replaces it."""

    async def put(self, bucket: str, key: str, data: bytes, media_type: str) -> ObjectRef:
        """Store `data`. Raises DENIED, or UNAVAILABLE where the store is down or full."""
        ...

    async def put_file(self, bucket: str, key: str, path: Path, media_type: str) -> ObjectRef:
        """Store a file without reading it into memory."""
        ...

    async def get(self, uri: str, *, sha256: str = "", max_size: int = DEFAULT_MAX_SIZE) -> bytes:
        """The bytes at `uri`. Raises NOT_FOUND, DENIED, TOO_LARGE, or CORRUPT where `sha256` differs."""
        ...

    def stream(self, uri: str) -> AsyncIterator[bytes]:
        """The bytes at `uri` in pieces of at most 1 MiB."""
        ...

    async def stat(self, uri: str) -> ObjectRef | None:
        """What is known of the object at `uri`, or None."""
        ...

    async def keys(self, bucket: str, prefix: str) -> list[str]:
        """Keys in `bucket` that start with `prefix`, sorted."""
        ...

    async def delete(self, uri: str) -> None:
        """Remove the object at `uri`; harmless where there is none. Raises DENIED, or UNAVAILABLE."""
        ...


def split_uri(uri: str) -> tuple[str, str]:
    """Bucket and key of a uri. Raises INVALID for anything that is not one of ours."""
    bucket, _, key = uri.partition("/")
    parts = key.split("/")
    if bucket not in BUCKETS or not key or any(part in ("", ".", "..") for part in parts) or "\0" in key:
        raise invalid(
            "the object", [Fault("uri", uri, f"must be bucket/key with a bucket of {', '.join(BUCKETS)}")]
        )
    return bucket, key


def denied(action: str, bucket: str) -> FiretrialError:
    """The error of a store that refuses these credentials."""
    return FiretrialError(Reason.DENIED, f"these credentials may not {action} bucket {bucket!r}")


def missing(uri: str) -> FiretrialError:
    """The error of a store that holds nothing at `uri`."""
    return FiretrialError(Reason.NOT_FOUND, f"there is no object {uri!r}")


def too_large(uri: str, size: int, max_size: int) -> FiretrialError:
    """The error of an object that is bigger than its reader allows."""
    return FiretrialError(Reason.TOO_LARGE, f"object {uri!r} has {size} bytes, at most {max_size} are read")


def verified(uri: str, data: bytes, found: str, expected: str) -> bytes:
    """`data`, where its hash is the expected one or none is expected. Raises CORRUPT."""
    if expected and found != expected:
        raise FiretrialError(
            Reason.CORRUPT, f"object {uri!r} has sha256 {found}, its reference says {expected}"
        )
    return data


@dataclass(frozen=True, slots=True)
class Grants:
    """The buckets that a service may read, write, and delete from. The filesystem store enforces them itself;
    an S3 store has a policy for each service, and `deploy/` and the tests make it from the same table."""

    read: frozenset[str]
    write: frozenset[str]
    delete: frozenset[str] = frozenset()


# Ground truth is read by the judge alone, and nothing that runs an agent can read the papers either. What is
# sealed reaches a runner when its agent has ended, and is gone when it was tested.
GRANTS: dict[str, Grants] = {
    "parser": Grants(read=frozenset({"papers", "runs"}), write=frozenset({"papers", "truth", "runs"})),
    "runner": Grants(read=frozenset({"runs", "sealed"}), write=frozenset({"runs"})),
    "judge": Grants(
        read=frozenset({"truth", "runs", "results"}),
        write=frozenset({"results", "sealed"}),
        delete=frozenset({"sealed"}),
    ),
    "analyzer": Grants(read=frozenset({"runs", "results"}), write=frozenset({"results"})),
    # Who backs up, restores, and deletes with proof. No service has these.
    "operator": Grants(*(frozenset(BUCKETS),) * 3),
}

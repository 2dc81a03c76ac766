"""The object store: whether it answers, has the buckets, and gives each user its rights and no others."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from firetrial_kit.jetstream import said
from firetrial_kit.objects import BUCKETS, GRANTS
from firetrial_operate.doctor import certificates
from firetrial_operate.doctor.apart import apart
from firetrial_operate.doctor.checks import BrokenError, Check, Told
from firetrial_operate.doctor.installation import Who
from firetrial_operate.doctor.s3 import Answer, Store
from firetrial_operate.doctor.sights import Sights, stopwatch

_STRANGER = {"InvalidAccessKeyId", "SignatureDoesNotMatch"}
_CLOCK = "RequestTimeTooSkewed"
_LIST = "list-type=2&max-keys=1"
_MISSING = 404
_UNCHANGED = 412
_POLICY = "give this user its own policy: python -m firetrial_kit.buckets policy {}"


def checks(sights: Sights) -> Iterator[Check]:
    who, first = sights.installation.who, sights.installation.first
    if first.settings.objects_url.startswith("file://"):
        yield Check("objects", partial(apart, partial(_folder, first)))
        return
    yield Check("objects", partial(_reached, sights, first))
    yield Check("clock.objects", partial(sights.clock, "objects"), needs=("objects",))
    for one in who:
        yield Check(f"objects.login.{one.name}", partial(_login, one), needs=("objects",))
    yield Check("objects.buckets", partial(_buckets, first), needs=(f"objects.login.{first.name}",))
    for one in who:
        needs = (f"objects.login.{one.name}", "objects.buckets")
        yield Check(f"objects.rights.{one.name}", partial(_rights, one), needs=needs, limit_s=10)
    if first.is_operator:
        yield Check("objects.put", partial(_put, first), needs=("objects.buckets",))


def _folder(who: Who) -> Told:
    """A folder of this machine: there, and written to and read."""
    folder = Path(who.settings.objects_url.removeprefix("file://"))
    if not folder.is_dir():
        raise BrokenError(f"there is no folder {folder}", "make it, or mend FIRETRIAL_OBJECTS_URL")
    took = stopwatch()
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".firetrial-doctor-") as file:
            file.write(b"probe")
            file.flush()
    except OSError as error:
        raise BrokenError(
            f"{folder} cannot be written to: {error}", "give it to the user that runs this"
        ) from None
    return Told(f"{folder}, a file in {took()}")


async def _reached(sights: Sights, who: Who) -> Told:
    url = urlsplit(who.settings.objects_url)
    known = Told("in the clear")
    if url.scheme == "https":
        try:
            known = await certificates.shown(url.hostname or "", url.port or 443, who.settings.objects_tls_ca)
        except OSError as error:
            cure = "start it, or mend FIRETRIAL_OBJECTS_URL"
            raise BrokenError(f"no answer from {url.netloc}: {said(error)}", cure) from None
    store = Store.of(who)
    try:
        sent, took = datetime.now(UTC), stopwatch()
        answer = await store.greet()
    finally:
        await store.aclose()
    latency = took()
    with suppress(KeyError, ValueError):
        sights.heard("objects", parsedate_to_datetime(answer.headers["date"]), sent)
    server = answer.headers.get("server", "a server without a name")
    return Told(f"{server} at {url.netloc}, {latency}, {known.detail}", known.cure)


async def _login(who: Who) -> Told:
    """Whether the store knows the key: what it may do is another matter."""
    store = Store.of(who)
    try:
        bucket = next(iter(sorted(GRANTS[who.name].read)))
        answer = await store.ask("GET", bucket, query=_LIST)
    finally:
        await store.aclose()
    key = f"the access key of {who.name} ({who.settings.s3_access_key or 'none'})"
    if answer.code in _STRANGER or answer.status == 401:
        why = "is not known" if answer.code == "InvalidAccessKeyId" else "does not come with its secret key"
        cure = f"set {who.variables}S3_ACCESS_KEY and …S3_SECRET_KEY_FILE to those of one user of the store"
        raise BrokenError(f"{key} {why}: {answer}", cure)
    if answer.code == _CLOCK:
        raise BrokenError(f"the store takes no signature of this time: {answer}", "set the clocks right")
    if answer.status >= 500:
        raise BrokenError(f"the store answered {answer}", "see the store's log")
    return Told(f"{key} is known")


async def _buckets(who: Who) -> Told:
    """All five, or those that this user may list."""
    store, names = Store.of(who), [name for name in BUCKETS if name in GRANTS[who.name].read]
    try:
        answers = await asyncio.gather(*(store.ask("GET", name, query=_LIST) for name in names))
    finally:
        await store.aclose()
    prefix = who.settings.bucket_prefix
    found = zip(names, answers, strict=True)
    missing = [f"{prefix}{name}" for name, answer in found if answer.status == _MISSING]
    if missing:
        raise BrokenError(f"missing: {', '.join(missing)}", "make them: python -m firetrial_kit.buckets make")
    return Told(f"{len(names)} there")


async def _rights(who: Who) -> Told:
    """Reading, writing and deleting in each bucket, beside what the table of rights says."""
    store, grant = Store.of(who), GRANTS[who.name]
    try:
        found = await asyncio.gather(*(_may(store, bucket) for bucket in BUCKETS))
    finally:
        await store.aclose()
    lacks, has = [], []
    for bucket, may in zip(BUCKETS, found, strict=True):
        should = {verb: bucket in getattr(grant, verb) for verb in may}
        lacks += [f"{verb} {bucket}" for verb in may if should[verb] and not may[verb]]
        has += [f"{verb} {bucket}" for verb in may if may[verb] and not should[verb]]
    worse = [right for right in has if not right.startswith("delete ")]
    told = [f"may not {', '.join(lacks)}"] if lacks else []
    told += [f"may {', '.join(has)}, which it must not"] if has else []
    cure = _POLICY.format(who.name)
    if lacks or worse:
        raise BrokenError("; ".join(told), cure)
    reads, writes = (", ".join(sorted(buckets)) for buckets in (grant.read, grant.write))
    # Some stores know no right to write without that to delete.
    return Told("; ".join(told) or f"reads {reads}; writes {writes}; nothing else", cure if has else "")


async def _may(store: Store, bucket: str) -> dict[str, bool]:
    """What is allowed in a bucket. Nothing is left there: what is read and deleted is not there, and what is
    written is an upload that is given up before it has a part.
    """
    absent = f"firetrial-doctor/{secrets.token_hex(8)}"
    read, listed, deleted = await asyncio.gather(
        store.ask("GET", bucket, absent),
        store.ask("GET", bucket, query=_LIST),
        store.ask("DELETE", bucket, absent),
    )
    begun = await store.ask("POST", bucket, absent, query="uploads=")
    if begun.upload:
        await store.ask("DELETE", bucket, absent, query=f"uploadId={begun.upload}")
    for answer in (read, listed, deleted, begun):
        _answered(answer)
    return {
        "read": not read.refused or not listed.refused,
        "write": not begun.refused,
        "delete": not deleted.refused,
    }


def _answered(answer: Answer) -> None:
    if answer.status >= 500:
        raise BrokenError(f"the store answered {answer}", "see the store's log")


async def _put(who: Who) -> Told:
    """An object is put, put again on condition that it is not there, got and deleted."""
    store, key, took = Store.of(who), f"firetrial-doctor/{secrets.token_hex(8)}", stopwatch()
    bucket, body, new = "results", b"probe", {"If-None-Match": "*"}
    try:
        first = await store.ask("PUT", bucket, key, body=body, headers=new)
        put = took()
        again = await store.ask("PUT", bucket, key, body=body, headers=new)
        got = await store.ask("GET", bucket, key)
        gone = await store.ask("DELETE", bucket, key)
        left = await store.ask("GET", bucket, key)
    finally:
        await store.aclose()
    told = (("put", first, 200), ("get", got, 200), ("delete", gone, 204), ("get what is gone", left, 404))
    wrong = [f"{verb}: {answer}" for verb, answer, well in told if answer.status != well]
    if wrong:
        raise BrokenError("; ".join(wrong), "see the store's log")
    if again.status != _UNCHANGED:
        return Told(f"put in {put}; a condition (If-None-Match) is not heeded", "use a newer store")
    return Told(f"put in {put}; got, deleted, conditional put refused as it should be")

"""One suite for every object store: in memory, on files, on a real S3 server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.fs import FilesystemObjects
from firetrial_kit.measured import MeasuredObjects
from firetrial_kit.metrics import ObjectMetrics
from firetrial_kit.objects import GRANTS, Objects
from firetrial_kit.s3 import S3Objects
from firetrial_kit.testing import InMemoryObjects
from firetrial_kit.testing.objects import EVERYTHING
from support.servers import S3


class Stores:
    """The same objects as `admin` and as each service sees them."""

    def __init__(self, kind: str, tmp_path: Path, s3: S3 | None) -> None:
        self._kind, self._root, self._s3, self._memory = kind, tmp_path, s3, InMemoryObjects()

    def of(self, service: str) -> Objects:
        """As a service has them: measured."""
        return MeasuredObjects(self.bare(service), ObjectMetrics(CollectorRegistry()))

    def bare(self, service: str) -> Objects:
        grants = GRANTS.get(service, EVERYTHING)
        if self._kind == "memory":
            return InMemoryObjects(grants, sharing=self._memory)
        if self._kind == "files":
            return FilesystemObjects(self._root, grants)
        assert self._s3
        return S3Objects(self._s3.url, *self._s3.keys[service])


@pytest.fixture(params=["memory", "files", pytest.param("s3", marks=pytest.mark.needs("weed"))])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    s3 = request.getfixturevalue("s3_server") if request.param == "s3" else None
    found = Stores(request.param, tmp_path, s3)
    admin = found.bare("admin")
    if isinstance(admin, S3Objects):
        await admin.ensure_buckets()
    return found


async def test_what_is_put_is_got(stores: Stores, tmp_path: Path) -> None:
    store = stores.of("admin")
    ref = await store.put("runs", "runs/r-1/conclusion.txt", b"k=15 wins", "text/plain")
    assert ref.uri == "runs/runs/r-1/conclusion.txt"
    assert ref.size == 9
    assert await store.get(ref.uri, sha256=ref.sha256) == b"k=15 wins"
    file = tmp_path / "big"
    file.write_bytes(b"x" * (3 * 1024 * 1024 + 7))
    big = await store.put_file("runs", "runs/r-1/big", file, "application/octet-stream")
    assert big.size == file.stat().st_size
    assert b"".join([piece async for piece in store.stream(big.uri)]) == file.read_bytes()
    found = await store.stat(big.uri)
    assert found
    assert (found.sha256, found.size) == (big.sha256, big.size)


async def test_a_second_put_replaces_the_first_and_empty_is_a_value(stores: Stores) -> None:
    store = stores.of("admin")
    await store.put("runs", "replaced", b"old", "text/plain")
    await store.put("runs", "replaced", b"", "text/plain")
    assert await store.get("runs/replaced") == b""


async def test_what_is_not_there(stores: Stores) -> None:
    store = stores.of("admin")
    assert await store.stat("runs/none") is None
    with pytest.raises(FiretrialError) as fault:
        await store.get("runs/none")
    assert fault.value.reason is Reason.NOT_FOUND
    with pytest.raises(FiretrialError) as fault:
        _ = [piece async for piece in store.stream("runs/none")]
    assert fault.value.reason is Reason.NOT_FOUND


async def test_keys_are_listed_by_prefix_in_order(stores: Stores) -> None:
    store = stores.of("admin")
    for key in ("listed/b/2", "listed/b/10", "listed/a", "other"):
        await store.put("results", key, b".", "text/plain")
    assert await store.keys("results", "listed/") == ["listed/a", "listed/b/10", "listed/b/2"]
    assert await store.keys("results", "nothing/") == []


@pytest.mark.parametrize("uri", ["runs/../truth/x", "runs/", "runs", "elsewhere/x", "runs//x", "runs/a\0b"])
async def test_a_uri_that_is_not_ours_is_refused(stores: Stores, uri: str) -> None:
    with pytest.raises(FiretrialError) as fault:
        await stores.of("admin").get(uri)
    assert fault.value.reason is Reason.INVALID


async def test_too_large_and_tampered_are_refused(stores: Stores) -> None:
    store = stores.of("admin")
    ref = await store.put("runs", "sized", b"0123456789", "text/plain")
    with pytest.raises(FiretrialError) as fault:
        await store.get(ref.uri, max_size=9)
    assert fault.value.reason is Reason.TOO_LARGE
    with pytest.raises(FiretrialError) as fault:
        await store.get(ref.uri, sha256="0" * 64)
    assert fault.value.reason is Reason.CORRUPT


async def test_ground_truth_is_closed_to_all_but_the_judge(stores: Stores) -> None:
    uri = (await stores.of("parser").put("truth", "tasks/t-1/truth.json", b"{}", "application/json")).uri
    assert await stores.of("judge").get(uri) == b"{}"
    for service in ("runner", "analyzer"):
        store = stores.of(service)
        for attempt in (store.get(uri), store.stat(uri), store.keys("truth", "")):
            with pytest.raises(FiretrialError) as fault:
                await attempt
            assert fault.value.reason is Reason.DENIED, service
        with pytest.raises(FiretrialError) as fault:
            await store.put("truth", "tasks/t-1/truth.json", b"mine", "application/json")
        assert fault.value.reason is Reason.DENIED, service
    with pytest.raises(FiretrialError) as fault:
        await stores.of("runner").get("papers/anything")
    assert fault.value.reason is Reason.DENIED


async def test_what_is_sealed_is_the_judges_to_write_and_the_runners_to_read(stores: Stores) -> None:
    judge, runner = stores.of("judge"), stores.of("runner")
    uri = (await judge.put("sealed", "tests/r-1/1.tar", b"test data", "application/x-tar")).uri
    assert await runner.get(uri) == b"test data"
    with pytest.raises(FiretrialError) as fault:
        await runner.put("sealed", "tests/r-1/1.tar", b"mine", "application/x-tar")
    assert fault.value.reason is Reason.DENIED
    for service in ("parser", "analyzer"):
        with pytest.raises(FiretrialError) as fault:
            await stores.of(service).get(uri)
        assert fault.value.reason is Reason.DENIED, service
    for service in ("runner", "parser", "analyzer"):
        with pytest.raises(FiretrialError) as fault:
            await stores.of(service).delete(uri)
        assert fault.value.reason is Reason.DENIED, service
    assert await runner.get(uri) == b"test data"
    await judge.delete(uri)
    with pytest.raises(FiretrialError) as fault:
        await runner.get(uri)
    assert fault.value.reason is Reason.NOT_FOUND


async def test_removing_what_is_not_there_is_harmless(stores: Stores) -> None:
    store = stores.of("admin")
    await store.put("sealed", "removed/a", b".", "text/plain")
    await store.delete("sealed/removed/a")
    await store.delete("sealed/removed/a")
    assert await store.keys("sealed", "removed/") == []
    with pytest.raises(FiretrialError) as fault:
        await store.delete("sealed/../truth/x")
    assert fault.value.reason is Reason.INVALID


async def test_racing_puts_leave_one_of_them_whole(stores: Stores) -> None:
    store = stores.of("admin")
    bodies = [bytes([65 + number]) * 10_000 for number in range(8)]
    await asyncio.gather(*(store.put("runs", "raced", body, "text/plain") for body in bodies))
    assert await store.get("runs/raced") in bodies


async def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    """Where the folder cannot be written, the error says so and no part of the object is there."""
    (tmp_path / "runs").write_text("a file stands where the bucket's folder should be")
    store = FilesystemObjects(tmp_path, EVERYTHING)
    with pytest.raises(FiretrialError, match="could not be stored") as fault:
        await store.put("runs", "k", b"x", "text/plain")
    assert fault.value.reason is Reason.UNAVAILABLE
    assert list((tmp_path / ".staging").iterdir()) == []


async def test_a_store_that_is_down_is_unavailable() -> None:
    with pytest.raises(FiretrialError) as fault:
        await S3Objects("http://127.0.0.1:9", "key", "secret", timeout=1).get("runs/x")
    assert fault.value.reason is Reason.UNAVAILABLE
    assert "secret" not in fault.value.message

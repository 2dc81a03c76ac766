from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from firetrial_kit.fs import FilesystemObjects
from firetrial_kit.testing.objects import EVERYTHING


@pytest.fixture
def store(tmp_path: Path) -> FilesystemObjects:
    return FilesystemObjects(tmp_path, EVERYTHING)


async def test_empty_folders_go_with_what_lay_in_them_last(store: FilesystemObjects, tmp_path: Path) -> None:
    for key in ("runs/r-1/steps/1", "runs/r-1/log", "runs/r-2/log"):
        await store.put("runs", key, b".", "text/plain")
    await store.delete("runs/runs/r-1/steps/1")
    assert sorted(path.name for path in (tmp_path / "runs/runs/r-1").iterdir()) == ["log"]
    await store.delete("runs/runs/r-1/log")
    assert [path.name for path in (tmp_path / "runs/runs").iterdir()] == ["r-2"]
    await store.delete("runs/runs/r-2/log")
    assert (tmp_path / "runs").is_dir()
    assert not [*(tmp_path / "runs").iterdir()]
    await store.delete("runs/runs/r-2/log")


async def test_a_put_and_a_listing_bear_that_their_folder_goes(store: FilesystemObjects) -> None:
    done = asyncio.Event()

    async def take_away() -> None:
        while not done.is_set():
            await store.delete("runs/a/b/nothing")

    async def look() -> None:
        while not done.is_set():
            await store.keys("runs", "a/")

    async def come_and_go(key: str) -> None:
        for _ in range(50):
            await store.put("runs", key, b".", "text/plain")
            await store.delete(f"runs/{key}")

    others = [asyncio.create_task(work()) for work in (take_away, take_away, look)]
    try:
        await asyncio.gather(*(come_and_go(f"a/b/{n}") for n in range(8)))
    finally:
        done.set()
    await asyncio.gather(*others)
    assert await store.keys("runs", "a/") == []

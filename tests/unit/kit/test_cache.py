"""Folder and store keep what is given them, and lose speed rather than answers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firetrial_kit.cache import LocalTier, StoreTier, Tiers
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.testing import InMemoryObjects

KEYS = [f"{n:02x}" * 32 for n in range(10)]


async def test_a_folder_keeps_what_was_read_last(tmp_path: Path) -> None:
    tier = LocalTier(tmp_path / "cache", limit=1000)
    for number, key in enumerate(KEYS[:9]):
        await tier.put({key: b"x" * 100})
        os.utime(tmp_path / "cache" / key[:2] / f"{key}.json", (number, number))
    assert set(await tier.get([KEYS[0], KEYS[9]])) == {KEYS[0]}
    await tier.put({KEYS[9]: b"x" * 101})
    assert set(await tier.get(KEYS)) == set(KEYS) - {KEYS[1], KEYS[2]}
    assert tier.stats().size <= 900
    assert tier.prune(0).entries == 0
    assert await tier.get(KEYS) == {}


async def test_a_folder_that_cannot_be_written_costs_nothing_but_speed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    tier = LocalTier(tmp_path / "file" / "cache", limit=1000)
    await tier.put({KEYS[0]: b"x"})
    assert await tier.get(KEYS) == {}


async def test_the_store_is_asked_where_the_folder_has_nothing_and_fills_it(tmp_path: Path) -> None:
    objects = InMemoryObjects()
    await StoreTier(objects, "results", "kept").put({KEYS[0]: b'"paid"'})
    local = LocalTier(tmp_path, limit=1000)
    assert await Tiers(local, StoreTier(objects, "results", "kept")).get(KEYS) == {KEYS[0]: b'"paid"'}
    assert await local.get(KEYS) == {KEYS[0]: b'"paid"'}
    assert list(objects.held) == [f"results/kept/00/{KEYS[0]}.json"]


async def test_a_store_that_is_away_is_not_paid_around_and_loses_no_answer() -> None:
    objects = InMemoryObjects()
    objects.fail_next = FiretrialError(Reason.UNAVAILABLE, "away")
    with pytest.raises(FiretrialError):
        await StoreTier(objects, "results", "kept").get(KEYS[:1])
    objects.fail_next = FiretrialError(Reason.UNAVAILABLE, "away")
    await StoreTier(objects, "results", "kept").put({KEYS[0]: b"1"})
    assert await StoreTier(objects, "results", "kept").get(KEYS[:1]) == {}

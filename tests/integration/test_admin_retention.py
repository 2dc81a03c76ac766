"""Old experiments that go, one of which does not let itself be deleted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
import structlog

from firetrial_kit.clock import SystemClock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.jetstream import JetStreamBus
from firetrial_kit.keeping import Belongings, Installation, Steward
from firetrial_kit.kv import JetStreamState
from firetrial_kit.objects import Objects
from firetrial_operate.access import opened
from firetrial_operate.admin.deleting import Deleting
from firetrial_operate.admin.retention import check, deleted, old
from firetrial_operate.progress import Part, Progress
from support import servers

pytestmark = pytest.mark.needs("nats-server")
ENDED, NOW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)


async def belongings(to: Installation, experiment: str, _: Collection[str]) -> Belongings:
    if await to.state.get(f"experiment.{experiment}") is None:
        return Belongings()
    return Belongings(
        records=(f"experiment.{experiment}",),
        objects=(f"runs/runs/{experiment}/log",),
        running="it runs" if experiment == "e-4" else "",
        ended=ENDED,
    )


class Refusing:
    """A store that does not give up what is e-2's."""

    def __init__(self, store: Objects) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def delete(self, uri: str) -> None:
        if "e-2" in uri:
            raise FiretrialError(Reason.UNAVAILABLE, "the disk is read-only")
        await self._store.delete(uri)


async def test_one_that_fails_keeps_no_other_and_is_told(tmp_path: Path) -> None:
    environ = {"FIRETRIAL_OBJECTS_URL": f"file://{tmp_path}/objects"}
    lines: list[str] = []
    seconds = iter(range(0, 100_000, 5))
    progress = Progress(lines.append, lambda: float(next(seconds)), live=False)
    with servers.nats_server(tmp_path / "nats") as url:
        async with opened({**environ, "FIRETRIAL_NATS_URL": url}, progress) as access:
            state = await JetStreamState.open(access.client, "ft_runner")
            bus = JetStreamBus(access.client, structlog.get_logger())
            await bus.ensure_streams()
            for name in ("e-1", "e-2", "e-3", "e-4"):
                await state.create(f"experiment.{name}", b"ended")
                await access.objects.put("runs", f"runs/{name}/log", b"found", "text/plain")
            refusing = replace(access, objects=cast("Objects", Refusing(access.objects)))
            to = Installation(state, access.objects, bus, SystemClock())
            deleting = Deleting(refusing, [Steward("runner", "runs", belongings=belongings)], {"runner": to})
            told, plans = await old(deleting, NOW, Part(progress, "looked at", 0), keep_releases=True)
            assert [plan.experiment for plan in plans] == ["e-1", "e-2", "e-3"]
            for plan in plans:
                told[plan.experiment] |= await deleted(deleting, plan)
            assert [one["done"] for one in told.values()] == ["deleted", "failed", "deleted", "stays"]
            assert (told["e-2"]["why"], told["e-4"]["why"]) == ("the disk is read-only", "it runs")
            assert await access.objects.keys("runs", "runs/") == ["runs/e-2/log", "runs/e-4/log"]
            with pytest.raises(FiretrialError, match=r"1 of 4 experiments failed: .* delete experiment e-2"):
                check([*told.values()])
            check([one for one in told.values() if one["done"] != "failed"])
    noted = [line.strip().partition("  ")[2] for line in lines if "objects noted" in line]
    assert noted == ["objects noted: 1 of 1, 5 B"] * 3

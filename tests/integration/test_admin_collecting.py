"""What `gc` takes of runners that are gone, on a real broker."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from firetrial_kit.kv import JetStreamState
from firetrial_operate.access import opened
from firetrial_operate.admin.collecting import Unused, gone
from support import servers

pytestmark = pytest.mark.needs("nats-server")


async def test_the_last_words_of_runners_go_and_newer_ones_stay(tmp_path: Path) -> None:
    with servers.nats_server(tmp_path) as broker:
        environ = {"FIRETRIAL_NATS_URL": broker, "FIRETRIAL_OBJECTS_URL": f"file://{tmp_path}/objects"}
        async with opened(environ) as access:
            state = await JetStreamState.open(access.client, "ft_runner")
            for name in ("silent", "left", "came back"):
                await state.create(f"attendant.{name}", b"{}")
            await state.delete("attendant.left")
            await state.create("run.r-1", b"{}")
            assert await gone(access, datetime(2020, 1, 1, tzinfo=UTC)) == {}
            found = await gone(access, datetime(2100, 1, 1, tzinfo=UTC))
            assert sorted(found) == ["came back", "left", "silent"]
            back = await state.get("attendant.came back")
            assert back
            await state.update("attendant.came back", b'{"drain_asked": true}', back.revision)
            await Unused((), 0, found).remove(access)
            entry = await state.get("attendant.came back")
            assert entry
            assert entry.value == b'{"drain_asked": true}'
            assert sorted(await gone(access, datetime(2100, 1, 1, tzinfo=UTC))) == ["came back"]
            assert await state.get("run.r-1")

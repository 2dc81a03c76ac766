"""What a backup and a restore say of how far they are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest
import structlog

from firetrial_kit.jetstream import JetStreamBus
from firetrial_kit.kv import JetStreamState
from firetrial_operate.access import Access, opened
from firetrial_operate.admin.backup import back_up
from firetrial_operate.admin.restore import Restoring
from firetrial_operate.progress import Progress
from support import servers

pytestmark = pytest.mark.needs("nats-server")
OBJECTS = 20


@asynccontextmanager
async def installation(folder: Path, lines: list[str]) -> AsyncIterator[Access]:
    """Whose clock goes on by five seconds whenever it is looked at."""
    seconds = count(step=5)
    progress = Progress(lines.append, lambda: float(next(seconds)), live=False)
    with servers.nats_server(folder / "nats") as url:
        environ = {"FIRETRIAL_NATS_URL": url, "FIRETRIAL_OBJECTS_URL": f"file://{folder}/objects"}
        async with opened(environ, progress) as access:
            yield access


async def test_it_is_told_by_kind_number_and_bytes(tmp_path: Path) -> None:
    lines: list[str] = []
    async with installation(tmp_path / "from", lines) as access:
        await JetStreamBus(access.client, structlog.get_logger()).ensure_streams()
        state = await JetStreamState.open(access.client, "ft_runner")
        await state.create("note.a", b"1")
        for number in range(OBJECTS):
            await access.objects.put("runs", f"runs/{number}", b"." * 1024, "text/plain")
        await back_up(access, tmp_path / "backup", copied=True)
    told = [line.strip().partition("  ")[2] for line in lines]
    streams = [line for line in told if line.startswith("streams written out: ")]
    done, total = streams[-1].removeprefix("streams written out: ").partition(",")[0].split(" of ")
    assert int(done) == int(total) > 1
    assert streams[-1].endswith("B")
    assert told[-1] == f"objects of runs copied: {OBJECTS} of {OBJECTS}, 20.0 KiB"
    lines.clear()
    async with installation(tmp_path / "to", lines) as access:
        restoring = Restoring(access, tmp_path / "backup")
        await restoring.restore(await restoring.check())
    told = [line.strip().partition("  ")[2] for line in lines]
    assert f"objects checked: {OBJECTS} of {OBJECTS}, 20.0 KiB" in told
    assert f"objects put: {OBJECTS} of {OBJECTS}, 20.0 KiB" in told
    assert any(line.startswith(f"streams put: {total} of {total}, ") for line in told)

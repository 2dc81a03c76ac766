"""How much work a pool has, as the broker knows it."""

from __future__ import annotations

from nats.aio.client import Client

from firetrial_kit.events import WORK, work_subject
from firetrial_kit.jetstream import reach


class Backlog:
    """Counts messages of the stream of work: each stays there until it is settled, in hand or not."""

    def __init__(self, client: Client) -> None:
        self._js = client.jetstream(timeout=5)

    async def count(self, pool: str) -> int:
        """Runs and sealed tests that wait for the pool or are in hand. Raises UNAVAILABLE.

        By the stream and not by its consumers: these are made by the first runner, and what a dead runner had
        in hand counts as waiting there only once another asks.
        """
        found = 0
        for kind in ("run", "test"):
            subject = work_subject(kind, pool)
            info = await reach(subject, self._js.stream_info(WORK, subjects_filter=subject))
            found += sum((info.state.subjects or {}).values())
        return found

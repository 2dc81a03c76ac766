"""What operators leave for each other and for runners: a KV bucket of its own, `ft_operator`."""

from __future__ import annotations

from firetrial_kit.kv import JetStreamState
from firetrial_operate.access import Access

BUCKET = "ft_operator"


async def marks(access: Access) -> JetStreamState:
    """The bucket, made where it is missing."""
    return await JetStreamState.open(access.client, BUCKET)

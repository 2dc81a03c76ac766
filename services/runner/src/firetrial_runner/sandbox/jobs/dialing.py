"""How a job calls its runner: by TCP, and over TLS where they are not on one machine."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ssl
from contextlib import suppress

from firetrial_runner.sandbox.jobs.frames import Channel, Kind
from firetrial_runner.sandbox.jobs.order import Caller

_TRY_S = 10.0
_PAUSES_S = (0.2, 1, 3)


async def dial(caller: Caller, run_key: str, way: int | None = None) -> Channel:
    """A connection to the runner of a run: its control, or one to the way out on a port.

    Raises OSError, also where whoever answers is not the runner.
    """
    async with asyncio.timeout(_TRY_S):
        reader, writer = await asyncio.open_connection(
            caller.host, caller.port, ssl=_trusting_nobody() if caller.fingerprint else None
        )
        channel = Channel(reader, writer)
        try:
            _recognise(writer, caller)
            await channel.tell(Kind.HELLO, run=run_key, secret=caller.secret, way=way)
        except BaseException:
            channel.abort()
            raise
    return channel


async def dial_patiently(caller: Caller, run_key: str) -> Channel:
    """The control, tried for some seconds: networks of nodes that just woke up take a moment."""
    for pause in _PAUSES_S:
        with suppress(OSError):
            return await dial(caller, run_key)
        await asyncio.sleep(pause)
    return await dial(caller, run_key)


def _trusting_nobody() -> ssl.SSLContext:
    """Encrypts; whom it speaks to is for `_recognise`, which needs no clock and no name to be right."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _recognise(writer: asyncio.StreamWriter, caller: Caller) -> None:
    """Raises ConnectionError where it is another's certificate: the secret is not for them."""
    if not caller.fingerprint:
        return
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True) or b""
    if not hmac.compare_digest(hashlib.sha256(shown).hexdigest(), caller.fingerprint):
        raise ConnectionError(f"whoever answers at {caller.host}:{caller.port} is not the runner")

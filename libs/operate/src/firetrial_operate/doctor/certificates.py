"""What a server shows of itself by TLS, and for how long that holds."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from firetrial_operate.doctor.checks import BrokenError, Told

SOON = timedelta(days=14)
_RENEW = "renew it (deploy/compose/secrets.sh makes those anew that end soon), and start what uses it again"


def trust(ca: Path | None) -> ssl.SSLContext:
    """In servers signed by the authority of the file, or by the machine's. Raises BrokenError."""
    try:
        return ssl.create_default_context(cafile=str(ca) if ca else None)
    except (OSError, ssl.SSLError) as error:
        raise BrokenError(f"{ca}: {error}", "name a PEM file of who signed the certificate") from None


def refused(error: ssl.SSLError) -> BrokenError:
    """A certificate that is not trusted, in words."""
    why = error.reason or str(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message
    if "expired" in why:
        return BrokenError(f"its certificate is not valid: {why}", _RENEW)
    cure = "name the authority that signed it (…_TLS_CA), and reach it by a name that is in its certificate"
    return BrokenError(f"its certificate is not trusted: {why}", cure)


def lasting(tls: ssl.SSLObject | None) -> Told:
    """Until when the certificate of a connection is valid; a warning where that is soon."""
    told = tls.getpeercert() if tls else None
    if not told:
        return Told("in the clear")
    ends = datetime.fromtimestamp(ssl.cert_time_to_seconds(str(told["notAfter"])), UTC)
    detail = f"certificate until {ends:%Y-%m-%d}"
    return Told(detail, _RENEW if ends - datetime.now(UTC) < SOON else "")


async def shown(host: str, port: int, ca: Path | None) -> Told:
    """The certificate of a server that speaks TLS at once. Raises BrokenError, OSError."""
    try:
        _, writer = await asyncio.open_connection(host, port, ssl=trust(ca), server_hostname=host)
    except ssl.SSLError as error:
        raise refused(error) from None
    try:
        return lasting(writer.get_extra_info("ssl_object"))
    finally:
        writer.close()
        with suppress(OSError, ssl.SSLError):
            await writer.wait_closed()

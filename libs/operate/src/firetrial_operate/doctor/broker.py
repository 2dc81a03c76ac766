"""The broker: whether it answers and is what is needed, and whether the streams are as they should be."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from nats.js.api import StreamInfo

from firetrial_kit import jetstream
from firetrial_kit.jetstream import MIN_SERVER
from firetrial_operate import printing
from firetrial_operate.admin.broker import stream_drift
from firetrial_operate.doctor import certificates, rights
from firetrial_operate.doctor.checks import BrokenError, Check, Told
from firetrial_operate.doctor.connection import connect
from firetrial_operate.doctor.installation import SERVICES, Who
from firetrial_operate.doctor.sights import Sights, stopwatch

_PATIENCE_S = 3.0
_PORT = 4222
_MISSING = 404
_FULL, _FILLING = 0.95, 0.8
_ROOM = "delete old experiments (firetrial admin retention), or give the broker more room (max_file_store)"
_EDIT = "back up (firetrial admin backup), then nats stream edit"
_REFUSED = ("retention", "storage", "subjects")
"""What no operator sets otherwise: services would not start, or lose what they are told."""
_MAKE = "make it: python -m firetrial_kit.streams make, as the operator"


def checks(sights: Sights) -> Iterator[Check]:
    who = sights.installation.who
    first = sights.installation.first
    yield Check("broker", partial(_reached, first), limit_s=2 * _PATIENCE_S)
    for one in who:
        yield Check(f"broker.login.{one.name}", partial(_login, sights, one), needs=("broker",))
    login = f"broker.login.{first.name}"
    yield Check("broker.jetstream", partial(_jetstream, sights, first), needs=(login,))
    yield Check("broker.streams", partial(_streams, sights, first), needs=("broker.jetstream",))
    yield Check("clock.broker", partial(sights.clock, "broker"), needs=("broker.jetstream",))
    for one in who:
        if not one.is_operator and one.settings.nats_user:
            needs = (f"broker.login.{one.name}", "broker.streams")
            yield Check(f"broker.rights.{one.name}", partial(rights.look, sights, one), needs=needs)


async def _reached(who: Who) -> Told:
    """All servers of the address; one of several that is away is a warning."""
    settings = who.settings
    urls = settings.nats_url.split(",")
    found = await asyncio.gather(*(_server(url, who) for url in urls), return_exceptions=True)
    broken = [(url, error) for url, error in zip(urls, found, strict=True) if isinstance(error, BrokenError)]
    well = [told for told in found if isinstance(told, Told)]
    for error in found:
        if not isinstance(error, BrokenError | Told):
            raise error
    if not well:
        raise broken[0][1]
    details = [*(told.detail for told in well), *(f"{_plain(url)}: {error.detail}" for url, error in broken)]
    cures = [*(told.cure for told in well), *(error.cure for _, error in broken)]
    return Told("; ".join(details), next(filter(None, cures), ""))


def _plain(url: str) -> str:
    """Without the user and the password that may stand in it."""
    return url.rpartition("@")[2].rpartition("/")[2]


async def _server(url: str, who: Who) -> Told:
    """What one server says of itself before anybody is let in."""
    took = stopwatch()
    try:
        parts = urlsplit(url if "//" in url else f"nats://{url}")
        host, port = parts.hostname or "localhost", parts.port or _PORT
    except ValueError as error:
        raise BrokenError(f"{_plain(url)} is no address: {error}", "mend FIRETRIAL_NATS_URL") from None
    try:
        async with asyncio.timeout(_PATIENCE_S):
            reader, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError) as error:
        why = jetstream.said(error)
        cure = "start it, or mend FIRETRIAL_NATS_URL"
        raise BrokenError(f"no broker answers at {host}:{port}: {why}", cure) from None
    try:
        async with asyncio.timeout(_PATIENCE_S):
            info = _read(await reader.readline(), host, port)
            latency = took()
            known = await _known(writer, info, parts.scheme, host, who)
    except TimeoutError:
        raise BrokenError(f"{host}:{port} says nothing", "see the broker's log") from None
    finally:
        writer.close()
        with suppress(OSError, ssl.SSLError):
            await writer.wait_closed()
    return Told(f"nats-server {info['version']} at {host}:{port}, {latency}, {known.detail}", known.cure)


def _read(line: bytes, host: str, port: int) -> dict[str, Any]:
    """Raises BrokenError for what is no broker, or one too old."""
    try:
        verb, _, told = line.partition(b" ")
        info: dict[str, Any] = json.loads(told) if verb == b"INFO" else {}
        version = tuple(int(part) for part in info["version"].split("-")[0].split(".")[:2])
    except (ValueError, KeyError, AttributeError):
        raise BrokenError(f"what answers at {host}:{port} is no NATS server", "mend its address") from None
    if version < MIN_SERVER:
        least = ".".join(map(str, MIN_SERVER))
        raise BrokenError(
            f"nats-server {info['version']} at {host}:{port} is too old: {least} is the least",
            f"install nats-server {least} or newer: an older one ignores what it does not know",
        )
    return info


async def _known(
    writer: asyncio.StreamWriter, info: dict[str, Any], scheme: str, host: str, who: Who
) -> Told:
    if not info.get("tls_required") and scheme != "tls":
        return Told("in the clear")
    try:
        await writer.start_tls(certificates.trust(who.settings.nats_tls_ca), server_hostname=host)
    except ssl.SSLError as error:
        raise certificates.refused(error) from None
    except OSError as error:
        raise BrokenError(f"it ended the TLS handshake: {error}", "see whether it is to speak TLS") from None
    return certificates.lasting(writer.get_extra_info("ssl_object"))


async def _login(sights: Sights, who: Who) -> Told:
    found = await connect(who)
    sights.stack.push_async_callback(found.client.close)
    sights.connections[who.name] = found
    took = stopwatch()
    await found.client.flush()
    return Told(f"{who.settings.nats_user or 'without a user'}, {took()} there and back")


async def _jetstream(sights: Sights, who: Who) -> Told:
    """On, with room, and what time it is there."""
    connection, sent = sights.connections[who.name], datetime.now(UTC)
    told = await connection.ask("STREAM.INFO.FT_EVT")
    if when := told.get("ts"):
        sights.heard("broker", datetime.fromisoformat(when), sent)
    _check(told)
    if not who.is_operator:
        return Told("on")
    account = await connection.ask("INFO")
    _check(account)
    return _room(account)


def _check(answer: dict[str, Any]) -> None:
    problem = answer.get("error", {})
    if problem and problem.get("code") != _MISSING:
        cure = "turn it on for this account (jetstream: enabled)"
        raise BrokenError(f"JetStream says: {problem.get('description')}", cure)


def _room(account: dict[str, Any]) -> Told:
    used, limit = account["storage"], account["limits"]["max_storage"]
    detail = f"on; {printing.size(used)} stored"
    if limit <= 0:
        return Told(f"{detail}, no limit of the account's")
    detail += f" of {printing.size(limit)}"
    if used > _FULL * limit:
        raise BrokenError(f"{detail}: full", _ROOM)
    return Told(detail, _ROOM if used > _FILLING * limit else "")


async def _streams(sights: Sights, who: Who) -> Told:
    """There, and as the code would make them; limits that an operator set are a warning."""
    connection = sights.connections[who.name]
    buckets = SERVICES if who.is_operator else (who.name,)
    names = [str(config.name) for config in jetstream.streams()] + [f"KV_ft_{name}" for name in buckets]
    answers = await asyncio.gather(*(connection.ask(f"STREAM.INFO.{name}") for name in names))
    told = dict(zip(names, answers, strict=True))
    if missing := [name for name, answer in told.items() if "error" in answer]:
        raise BrokenError(f"missing: {', '.join(missing)}", _MAKE)
    infos = {name: StreamInfo.from_response(answer) for name, answer in told.items()}
    drift = [f"{name}: {fault}" for name, info in infos.items() for fault in stream_drift(info)]
    if any(fault.split(": ")[1].startswith(_REFUSED) for fault in drift):
        raise BrokenError("; ".join(drift), _EDIT)
    if drift:
        return Told("; ".join(drift), f"leave it if an operator meant it, else {_EDIT}")
    replicas = sorted({info.config.num_replicas or 1 for info in infos.values()})
    return Told(f"{len(infos)} there as they should be, {' and '.join(map(str, replicas))} times each")

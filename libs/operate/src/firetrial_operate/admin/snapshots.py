"""Streams as the broker itself writes them out and takes them back: whole, with their places, at one moment.

$JS.API.STREAM.SNAPSHOT and .RESTORE: https://docs.nats.io/reference/reference-protocols/nats_api_reference
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from nats.aio.client import Client

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.jetstream import DOWN, reach, said
from firetrial_operate.progress import Part

_CHUNK = 128 * 1024
_PATIENCE = 60.0


async def write_out(client: Client, stream: str, to: Path, part: Part) -> dict[str, Any]:
    """Write the stream's messages to a file; gives {"config", "state", "sha256", "size"}.

    Raises UNAVAILABLE, and OSError where the disk is full.
    """
    inbox = client.new_inbox()
    chunks = await client.subscribe(inbox)
    try:
        told = {"deliver_subject": inbox, "no_consumers": True, "chunk_size": _CHUNK}
        about = await _call(client, f"$JS.API.STREAM.SNAPSHOT.{stream}", json.dumps(told).encode())
        hashed, size = hashlib.sha256(), 0
        with to.open("wb") as file:
            while True:
                chunk = await reach(stream, chunks.next_msg(timeout=_PATIENCE))
                if not chunk.data:
                    break
                file.write(chunk.data)
                hashed.update(chunk.data)
                size += len(chunk.data)
                part.step(0, len(chunk.data))
                if chunk.reply:  # the broker sends on as it is told of what arrived
                    await client.publish(chunk.reply)
    finally:
        await chunks.unsubscribe()
    ended = (chunk.headers or {}).get("Status", "")
    if ended and not ended.startswith("2"):
        raise FiretrialError(Reason.UNAVAILABLE, f"the snapshot of {stream} broke off: {chunk.headers}")
    return {
        "config": about["config"],
        "state": about["state"],
        "sha256": hashed.hexdigest(),
        "size": size,
    }


async def take_back(client: Client, stream: str, told: dict[str, Any], file: Path, part: Part) -> None:
    """Make the stream of what was written out; it is there whole, or not at all. Raises UNAVAILABLE."""
    request = json.dumps({"config": told["config"], "state": told["state"]}).encode()
    to = (await _call(client, f"$JS.API.STREAM.RESTORE.{stream}", request))["deliver_subject"]
    with file.open("rb") as source:
        while chunk := source.read(_CHUNK):
            answer = await _asked(client, to, chunk)
            if b"error" in answer:
                raise FiretrialError(Reason.UNAVAILABLE, f"{stream} was not taken back: {answer!r}")
            part.step(0, len(chunk))
    _checked(stream, json.loads(await _asked(client, to, b"")))


async def _call(client: Client, subject: str, request: bytes) -> dict[str, Any]:
    return _checked(subject, json.loads(await _asked(client, subject, request)))


async def _asked(client: Client, subject: str, request: bytes) -> bytes:
    try:
        return (await client.request(subject, request, timeout=_PATIENCE)).data
    except DOWN as error:
        raise FiretrialError(
            Reason.UNAVAILABLE, f"NATS did not answer for {subject}: {said(error)}"
        ) from error


def _checked(what: str, answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise FiretrialError(Reason.UNAVAILABLE, f"NATS refused {what}: {answer['error']}")
    return answer

"""One user's connection to the broker, which is not made again and says what it was refused."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import nats
import nats.errors
from nats.aio.client import Client
from nats.js import JetStreamContext

from firetrial_kit.jetstream import DOWN, said
from firetrial_operate.doctor import certificates
from firetrial_operate.doctor.checks import BrokenError
from firetrial_operate.doctor.installation import Who

_PATIENCE_S = 3.0
_LOG = "see the broker's log"
_HARMLESS = {"Nats-Expected-Stream": "firetrial-doctor-stores-nothing"}


@dataclass(slots=True)
class Connection:
    client: Client
    said: list[str] = field(default_factory=list)

    @property
    def js(self) -> JetStreamContext:
        return self.client.jetstream(timeout=_PATIENCE_S)

    async def ask(self, subject: str, body: object = None) -> dict[str, Any]:
        """What JetStream's API answers. Raises BrokenError."""
        data = b"" if body is None else json.dumps(body).encode()
        try:
            answer = await self.client.request(f"$JS.API.{subject}", data, timeout=_PATIENCE_S)
        except nats.errors.NoRespondersError:
            raise BrokenError("JetStream is not on", "start the broker with JetStream (-js)") from None
        except DOWN as error:
            if self.refused([f"$JS.API.{subject}"]):
                cure = "give this user the rights that deploy/nats/nats.conf gives"
                raise BrokenError(f"this user may not ask $JS.API.{subject}", cure) from None
            raise BrokenError(f"no answer to $JS.API.{subject}: {said(error)}", _LOG) from None
        told: dict[str, Any] = json.loads(answer.data)
        return told

    def refused(self, subjects: Iterable[str]) -> list[str]:
        """Those of the subjects that the broker said no to."""
        told = " ".join(self.said).lower()
        return [subject for subject in subjects if f'"{subject.lower()}"' in told]

    async def attempt(self, subjects: Iterable[str]) -> list[str]:
        """Those that this user may not publish on.

        What the broker lets through names a stream that there is not, and is stored by none; a question to
        its API is no question, and changes nothing.
        """
        reply = self.client.new_inbox()
        tried = list(subjects)
        for subject in tried:
            await self.client.publish(subject, b"?", reply=reply, headers=_HARMLESS)
        await self.client.flush(timeout=3)
        await asyncio.sleep(0.05)
        return self.refused(tried)

    async def listens(self, subject: str) -> bool:
        """Whether this user may subscribe to a subject."""
        following = await self.client.subscribe(subject)
        await self.client.flush(timeout=3)
        await asyncio.sleep(0.02)
        if self.refused([subject]):
            return False
        with suppress(*DOWN):
            await following.unsubscribe()
        return True


async def connect(who: Who) -> Connection:
    """As that user. Raises BrokenError."""
    told = who.settings
    heard: list[str] = []

    async def note(error: Exception) -> None:
        heard.append(said(error))

    options: dict[str, Any] = {}
    if told.nats_user:
        options |= {"user": told.nats_user, "password": told.nats_password.get_secret_value()}
        options["inbox_prefix"] = f"_INBOX_{told.nats_user}"
    if told.nats_tls_ca:
        options["tls"] = certificates.trust(told.nats_tls_ca)
    try:
        client = await nats.connect(
            told.nats_url.split(","), name="doctor", allow_reconnect=False, connect_timeout=_PATIENCE_S,
            error_cb=note, **options,
        )  # fmt: skip
    except ssl.SSLError as error:
        raise certificates.refused(error) from None
    except DOWN as error:
        if "authorization" in said(error).lower():
            user = told.nats_user or "nobody"
            cure = f"set {who.variables}NATS_USER and …NATS_PASSWORD_FILE to a user of the broker's"
            raise BrokenError(f"the broker does not let in {user!r}", cure) from None
        raise BrokenError(f"no connection: {said(error)}", "see the broker's log") from None
    return Connection(client, heard)

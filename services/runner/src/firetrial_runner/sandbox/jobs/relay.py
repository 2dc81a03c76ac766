"""Where jobs call their runner: one port for all of them, on which nobody is heard who shows no secret."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import secrets
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from firetrial_runner.sandbox.jobs import frames
from firetrial_runner.sandbox.jobs.frames import Channel, Kind, ProtocolError
from firetrial_runner.sandbox.jobs.order import Caller
from firetrial_runner.sandbox.port import SandboxError
from firetrial_runner.sandbox.scratch import scratch

_NAME = "job"
_HELLO_S = 10.0
"""Seconds in which a caller has to say who it is."""
_STRANGERS = 256
"""Callers at a time who have not said it yet; more are turned away."""
_BACKLOG = 512
_OPENSSL = (
    *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
    *("-days", "3650", "-subj", "/CN=firetrial"),
)
_CURE = "Name by FIRETRIAL_RUNNER_JOB_ADDRESS a host (and :port) of this machine that the nodes reach"


class Answering(Protocol):
    """What a run answers its job by."""

    async def control(self, channel: Channel) -> None:
        """The job has called; returns when there is no more to say."""

    async def way(self, port: int, channel: Channel) -> None:
        """Someone inside has called the way out on a port; the same."""


@dataclass(frozen=True, slots=True)
class _Expected:
    secret: str
    answering: Answering


class Relay:
    """`address` is the host that nodes know, and perhaps a port; "" where jobs run on this machine.

    Beyond the loopback it speaks TLS, by a certificate that is made for it and dies with it.
    """

    def __init__(self, address: str = "") -> None:
        self._address = address
        self._expected: dict[str, _Expected] = {}
        self._opening: asyncio.Task[None] | None = None
        self._server: asyncio.Server | None = None
        self._visitors: set[asyncio.Task[None]] = set()
        self._strangers = 0
        self._host, self._port, self._fingerprint = "", 0, ""

    async def open(self) -> None:
        """Listen; harmless where it does. Raises SandboxError."""
        if self._opening is None or (self._opening.done() and self._opening.exception()):
            self._opening = asyncio.create_task(self._listen())
        await asyncio.shield(self._opening)

    async def _listen(self) -> None:
        host, port = _parts(self._address)
        try:
            listener = await asyncio.to_thread(_listening, host, port)
        except OSError as e:
            raise SandboxError(_NAME, f"cannot listen at {self._address}: {e.strerror or e}", _CURE) from e
        here, self._port = listener.getsockname()[:2]
        self._host = host
        context = None
        if not ipaddress.ip_address(here).is_loopback:
            context, self._fingerprint = await asyncio.to_thread(_certified)
        self._server = await asyncio.start_server(
            self._begin,
            sock=listener,
            ssl=context,
            ssl_handshake_timeout=_HELLO_S if context else None,
            backlog=_BACKLOG,
        )

    @contextmanager
    def expecting(self, run_key: str, answering: Answering) -> Iterator[Caller]:
        """Take calls of a run while inside, by whoever has what this gives."""
        caller = Caller(self._host, self._port, secrets.token_urlsafe(32), self._fingerprint)
        self._expected[run_key] = _Expected(caller.secret, answering)
        try:
            yield caller
        finally:
            del self._expected[run_key]

    async def aclose(self) -> None:
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)
        if self._server is not None:
            self._server.close()
        for visitor in self._visitors:
            visitor.cancel()
        await asyncio.gather(*self._visitors, return_exceptions=True)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        channel = Channel(reader, writer)
        if self._strangers >= _STRANGERS:
            channel.abort()
            return
        visitor = asyncio.create_task(self._receive(channel))
        self._visitors.add(visitor)
        visitor.add_done_callback(self._visitors.discard)

    async def _receive(self, channel: Channel) -> None:
        try:
            with suppress(OSError, EOFError):
                answering, way = await self._recognised(channel)
                await (answering.control(channel) if way is None else answering.way(way, channel))
        finally:
            channel.close()

    async def _recognised(self, channel: Channel) -> tuple[Answering, int | None]:
        """Who calls and what for. Raises ProtocolError, TimeoutError where nobody we know does."""
        self._strangers += 1
        try:
            async with asyncio.timeout(_HELLO_S):
                kind, body = await channel.receive()
        finally:
            self._strangers -= 1
        told = frames.parsed(body) if kind is Kind.HELLO else {}
        expected = self._expected.get(str(told.get("run")))
        shown = str(told.get("secret")).encode(errors="replace")
        if expected is None or not hmac.compare_digest(shown, expected.secret.encode()):
            raise ProtocolError("a stranger")
        return expected.answering, told.get("way")


def _parts(address: str) -> tuple[str, int]:
    """(host, port) of HOST, HOST:PORT or [HOST]:PORT."""
    if not address:
        return "127.0.0.1", 0
    if address.startswith("["):
        host, _, port = address[1:].partition("]")
        return host, int(port.removeprefix(":") or 0)
    host, _, port = address.partition(":") if address.count(":") == 1 else (address, "", "")
    return host, int(port or 0)


def _listening(host: str, port: int) -> socket.socket:
    """Raises OSError where that is no address of this machine."""
    family, *_, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return socket.create_server(where[:2], family=family, backlog=_BACKLOG)


def _certified() -> tuple[ssl.SSLContext, str]:
    """A server's side of TLS with a new key, and its certificate's SHA-256. Raises SandboxError."""
    with scratch("relay") as folder:
        key, certificate = folder / "key.pem", folder / "certificate.pem"
        try:
            subprocess.run(
                [*_OPENSSL, "-keyout", str(key), "-out", str(certificate)],
                capture_output=True,
                check=True,
                timeout=30,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.SubprocessError) as e:
            said = getattr(e, "stderr", None) or str(e).encode()
            why = f"no certificate can be made: {said.decode(errors='replace').strip()[-500:]}"
            raise SandboxError(_NAME, why, "Install openssl") from e
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(certificate, key)
        return context, _fingerprint(certificate)


def _fingerprint(certificate: Path) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate.read_text())).hexdigest()

"""One connection from inside, as an HTTP proxy answers it: CONNECT for what is encrypted, or plain HTTP.

Each carries one request. A tunnel carries TLS to the host that it was asked for, by the name in its first
words, so that a host that may be reached does not lead to another behind the same address.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import urlsplit

import h11

from firetrial_kit.hosts import literal, plain_name
from firetrial_runner.egress import hello
from firetrial_runner.egress.contacts import Visit
from firetrial_runner.egress.outside import Ends, UnreachableError
from firetrial_runner.egress.policy import Policy, RefusedError, Target

_PIECE = 64 * 1024
_HEAD_S, _IDLE_S = 30.0, 600.0
_LINGER_S = 1.0
"""Seconds in which a refused request is read on, so that the refusal is not lost to what is still coming."""
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:/@\[\]]+):([0-9]{1,5})")
_HOP = frozenset(
    b"connection keep-alive proxy-connection proxy-authorization proxy-authenticate te trailer"
    b" transfer-encoding upgrade host expect".split()
)
_UNRECOGNIZED_NAME = b"\x15\x03\x01\x00\x02\x02\x70"
"""TLS's own alert (RFC 6066): the tunnel is open, so that HTTP can no longer say no."""


class BadRequestError(Exception):
    """What was asked is nothing that a proxy does; with what would be right."""


class Connection:
    """`reach` opens what was asked for, or raises RefusedError or UnreachableError.

    `spend` is called with the bytes that pass, and raises RefusedError where there are too many.
    """

    def __init__(
        self,
        inner: Ends,
        policy: Policy,
        reach: Callable[[Target], Awaitable[Ends]],
        spend: Callable[[int], None],
    ) -> None:
        self.visit = Visit()
        self._reader, self._writer = inner
        self._policy, self._reach, self._spend = policy, reach, spend
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_PIECE)
        self._hellos = hello.Hellos()
        self._outer: asyncio.StreamWriter | None = None

    async def conduct(self) -> None:
        """To its end. Raises OSError and h11.ProtocolError where one side breaks off."""
        try:
            async with asyncio.timeout(_HEAD_S):
                request = await _event(self._http, self._reader)
            if isinstance(request, h11.Request):
                await self._answer(request)
            self._writer.close()
        finally:
            if self._outer is not None:
                self._outer.transport.abort()
            if not self._writer.is_closing():
                self._writer.transport.abort()

    async def _answer(self, request: h11.Request) -> None:
        try:
            target = asked(request.method, request.target)
            self.visit.host = _shown(target.host)
            self.visit.port = target.port
            if request.method == b"CONNECT":
                await self._tunnel(target)
            else:
                await self._pass_on(request, target)
        except BadRequestError as error:
            self.visit.refused = str(error)
            await self._say(request, 400, str(error))
        except RefusedError as error:
            self.visit.refused, self.visit.denied = error.why, error.denied
            told = f"{self.visit.host or 'what was asked for'} cannot be reached: {error.why}"
            await self._say(request, 403, told)
        except UnreachableError as error:
            self.visit.failed = error.why
            await self._say(request, 502, f"{self.visit.host} could not be reached: {error.why}")
        except h11.RemoteProtocolError as error:
            self.visit.failed = str(error)
            await self._say(request, 502, f"{self.visit.host} answers with no HTTP: {error}")

    async def _say(self, request: h11.Request, status: int, why: str) -> None:
        """Say it where it can still be said."""
        if self._http.our_state is not h11.SEND_RESPONSE:
            return
        body = b"" if request.method == b"HEAD" else f"{why}\n".encode()
        headers = [("content-type", "text/plain"), ("content-length", str(len(body)))]
        response = h11.Response(status_code=status, headers=[*headers, ("connection", "close")])
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self._writer.write(self._http.send(event) or b"")
        await self._writer.drain()
        self._writer.write_eof()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                while await self._reader.read(_PIECE):
                    pass

    async def _open(self, target: Target) -> Ends:
        reader, writer = await self._reach(target)
        self._outer = writer
        return reader, writer

    async def _tunnel(self, target: Target) -> None:
        reader, writer = await self._open(target)
        await _event(self._http, self._reader)  # the end of the request
        response = h11.Response(status_code=200, headers=[], reason=b"Connection established")
        self._writer.write(self._http.send(response) or b"")
        await self._writer.drain()
        try:
            first = await self._first_words(target)
        except RefusedError:
            self._writer.write(_UNRECOGNIZED_NAME)
            await self._writer.drain()
            raise
        await self._out(writer, first)

        async def out(writer: asyncio.StreamWriter, data: bytes) -> None:
            self._listen(data, target)
            await self._out(writer, data)

        pumps = [
            asyncio.create_task(self._pump(self._reader, writer, out)),
            asyncio.create_task(self._pump(reader, self._writer, self._back)),
        ]
        try:
            await asyncio.gather(*pumps)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _first_words(self, target: Target) -> bytes:
        """A ClientHello that names the target. Raises RefusedError."""
        data, _ = self._http.trailing_data
        heard = self._listen(data, target)
        try:
            async with asyncio.timeout(_HEAD_S):
                while not heard:
                    if not (more := await self._reader.read(_PIECE)):
                        raise RefusedError("the tunnel was closed before it said where it leads")
                    data += more
                    heard = self._listen(more, target)
        except TimeoutError as error:
            raise RefusedError("the tunnel did not say where it leads") from error
        return data

    def _listen(self, data: bytes, target: Target) -> bool:
        """Whether it says where it leads. Raises RefusedError where that is not its target."""
        try:
            heard = self._hellos.feed(data)
        except hello.NotTlsError as error:
            raise RefusedError(f"a tunnel carries TLS: {error}") from error
        for said in heard:
            self._check(said, target)
        return bool(heard)

    def _check(self, said: hello.Hello, target: Target) -> None:
        wanted = "" if literal(target.host) else plain_name(target.host)
        if said.hidden:
            raise RefusedError("a tunnel must not hide the host that it leads to (ECH)")
        if said.host == wanted:
            return
        self.visit.host = _shown(said.host)
        if said.host:
            self._policy.check(Target(said.host, target.port))
        named = _shown(said.host) or "no host"
        raise RefusedError(f"a tunnel must name {target.host[:253]} in its first words, and not {named}")

    async def _pass_on(self, request: h11.Request, target: Target) -> None:
        reader, writer = await self._open(target)
        upstream = h11.Connection(h11.CLIENT)
        await self._out(writer, upstream.send(onward(request, target)) or b"")
        while isinstance(event := await self._body_event(), h11.Data):
            await self._out(writer, upstream.send(event) or b"")
        await self._out(writer, upstream.send(h11.EndOfMessage()) or b"")
        await self._answer_from(upstream, reader)

    async def _body_event(self) -> h11.Event | type[h11.PAUSED]:
        if self._http.they_are_waiting_for_100_continue:
            goes_on = h11.InformationalResponse(status_code=100, headers=[])
            self._writer.write(self._http.send(goes_on) or b"")
        return await _event(self._http, self._reader)

    async def _answer_from(self, upstream: h11.Connection, reader: asyncio.StreamReader) -> None:
        while True:
            event = await _event(upstream, reader)
            if isinstance(event, h11.InformationalResponse):
                continue
            if isinstance(event, h11.Response):
                headers = [(n, v) for n, v in event.headers if n not in _HOP]
                event = h11.Response(
                    status_code=event.status_code, headers=[*headers, (b"connection", b"close")]
                )
            elif isinstance(event, h11.EndOfMessage):
                event = h11.EndOfMessage()
            elif not isinstance(event, h11.Data):
                raise h11.RemoteProtocolError("it closed before it had answered")
            await self._back(self._writer, self._http.send(event) or b"")
            if isinstance(event, h11.EndOfMessage):
                return

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        pass_on: Callable[[asyncio.StreamWriter, bytes], Awaitable[None]],
    ) -> None:
        while True:
            async with asyncio.timeout(_IDLE_S):
                data = await reader.read(_PIECE)
            if not data:
                break
            await pass_on(writer, data)
        if writer.can_write_eof():
            writer.write_eof()

    async def _out(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        self._spend(len(data))
        self.visit.sent += len(data)
        writer.write(data)
        await writer.drain()

    async def _back(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        self._spend(len(data))
        self.visit.received += len(data)
        writer.write(data)
        await writer.drain()


def asked(method: bytes, target: bytes) -> Target:
    """What a request's first line asks for. Raises BadRequestError."""
    text = target.decode("latin-1")
    if method == b"CONNECT":
        found = _AUTHORITY.fullmatch(text)
        if not found or not 0 < int(found[2]) < 65536:
            raise BadRequestError("CONNECT is followed by host:port")
        return Target(found[1], int(found[2]))
    try:
        url = urlsplit(text)
        port = url.port or 80
    except ValueError as error:
        raise BadRequestError(f"this is no address: {error}") from error
    if url.scheme != "http" or not url.hostname or "@" in url.netloc:
        raise BadRequestError("this is a proxy: ask it for http://host/path, or CONNECT host:443 for https")
    return Target(url.hostname, port, url.path or "/")


def onward(request: h11.Request, target: Target) -> h11.Request:
    """The request as its host is asked it."""
    url = urlsplit(request.target.decode("latin-1"))
    where = f"[{target.host}]" if ":" in target.host else target.host
    host = where if target.port == 80 else f"{where}:{target.port}"
    chunked = any(name == b"transfer-encoding" for name, _ in request.headers)
    left_out = _HOP | {b"content-length"} if chunked else _HOP  # both would be two lengths of one body
    headers = [(name, value) for name, value in request.headers if name not in left_out]
    headers += [(b"host", host.encode()), (b"connection", b"close")]
    headers += [(b"transfer-encoding", b"chunked")] if chunked else []
    path = target.path + (f"?{url.query}" if url.query else "")
    return h11.Request(method=request.method, target=path.encode("latin-1"), headers=headers)


async def _event(http: h11.Connection, reader: asyncio.StreamReader) -> h11.Event | type[h11.PAUSED]:
    """The next thing that is said. Raises h11.RemoteProtocolError, TimeoutError."""
    while (event := http.next_event()) is h11.NEED_DATA:
        async with asyncio.timeout(_IDLE_S):
            http.receive_data(await reader.read(_PIECE))
    return event  # type: ignore[return-value]


def _shown(host: str) -> str:
    """A host as it may be written down: nobody vouches for what an agent calls one."""
    address = literal(host)
    return str(address) if address else plain_name(host)

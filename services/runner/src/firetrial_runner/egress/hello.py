"""The first words of TLS, which name the host that a tunnel leads to (RFC 8446, section 4.1.2; RFC 6066)."""

from __future__ import annotations

from dataclasses import dataclass

MOST = 64 * 1024
"""Bytes of a ClientHello: it names keys and groups, and is far shorter."""
_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _ENCRYPTED_HELLO = 0, 0xFE0D


class NotTlsError(ValueError):
    """What was sent is no ClientHello."""


@dataclass(frozen=True, slots=True)
class Hello:
    """`host` is "" where none is named; `hidden` where another may be named under encryption."""

    host: str
    hidden: bool


def read(data: bytes) -> Hello | None:
    """What a client says first; None where more is to come. Raises NotTlsError."""
    if len(data) > MOST:
        raise NotTlsError("a ClientHello of too many bytes")
    message = _handshake(data)
    if message and message[0] != _CLIENT_HELLO:
        raise NotTlsError("it does not begin with a ClientHello")
    length = int.from_bytes(message[1:4], "big")
    if len(message) < 4 or len(message) < 4 + length:
        return None
    return _hello(_Bytes(message[4 : 4 + length]))


def _handshake(data: bytes) -> bytes:
    """The payload of the handshake records that are whole."""
    found, at = b"", 0
    while at < len(data):
        if data[at] != _HANDSHAKE or (len(data) > at + 1 and data[at + 1] != 3):
            raise NotTlsError("it is not TLS")
        length = int.from_bytes(data[at + 3 : at + 5], "big")
        if len(data) < at + 5 + length:
            break
        found += data[at + 5 : at + 5 + length]
        at += 5 + length
        if _whole(found):
            break
    return found


def _whole(message: bytes) -> bool:
    return len(message) >= 4 and len(message) >= 4 + int.from_bytes(message[1:4], "big")


class _Bytes:
    """Reads lengths and what they announce. Raises NotTlsError where there is less."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) < count:
            raise NotTlsError("a ClientHello that breaks off")
        self._at += count
        return found

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def vector(self, size: int) -> bytes:
        """What follows a length of `size` bytes."""
        return self.take(self.number(size))

    @property
    def left(self) -> bool:
        return self._at < len(self._data)


def _hello(body: _Bytes) -> Hello:
    body.take(34)  # version and random
    body.vector(1)  # session
    body.vector(2)  # ciphers
    body.vector(1)  # compression
    host, hidden = "", False
    extensions = _Bytes(body.vector(2) if body.left else b"")
    while extensions.left:
        kind, content = extensions.number(2), extensions.vector(2)
        if kind == _SERVER_NAME:
            if host:
                raise NotTlsError("two server names")
            host = _server_name(content)
        hidden = hidden or kind == _ENCRYPTED_HELLO
    return Hello(host, hidden)


def _server_name(content: bytes) -> str:
    names = _Bytes(_Bytes(content).vector(2))
    kind, name = names.number(1), names.vector(2)
    if kind or names.left:
        raise NotTlsError("a server name of another kind")
    return name.decode("ascii", "replace").lower()

"""The first words of TLS, which name the host that a tunnel leads to (RFC 8446, section 4.1.2; RFC 6066)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MOST = 64 * 1024
"""Bytes of a ClientHello: it names keys and groups, and is far shorter."""
_CHANGE_CIPHER, _ALERT, _HANDSHAKE = 20, 21, 22
_CLIENT_HELLO, _MAJOR, _HEAD = 1, 3, 5
_SERVER_NAME, _ENCRYPTED_HELLO = 0, 0xFE0D


class NotTlsError(ValueError):
    """What was sent is no ClientHello."""


@dataclass(frozen=True, slots=True)
class Hello:
    """`host` is "" where none is named; `hidden` where another may be named under encryption."""

    host: str
    hidden: bool


class Hellos:
    """Reads what a client says in plain: one ClientHello, and a second where it is asked to say it again."""

    def __init__(self) -> None:
        self._data = self._message = b""
        self._began = self._over = False

    def feed(self, data: bytes) -> list[Hello]:
        """Each ClientHello that is whole now. Raises NotTlsError."""
        if self._over:
            return []
        self._data += data
        found: list[Hello] = []
        while len(self._data) >= _HEAD and not self._ends():
            length = _HEAD + int.from_bytes(self._data[3:_HEAD], "big")
            if len(self._data) < length:
                break
            kind, payload = self._data[0], self._data[_HEAD:length]
            self._data = self._data[length:]
            if kind == _HANDSHAKE:
                self._message += payload
                found += self._hellos()
        if len(self._data) + len(self._message) > MOST:
            raise NotTlsError("a ClientHello of too many bytes")
        return found

    def _ends(self) -> bool:
        """Whether the next record is none of these. Raises NotTlsError where it should be the first."""
        if not self._began and (self._data[0] != _HANDSHAKE or self._data[1] != _MAJOR):
            raise NotTlsError("it is not TLS")
        if self._data[0] not in {_CHANGE_CIPHER, _ALERT, _HANDSHAKE}:
            self._end()
        return self._over

    def _end(self) -> None:
        """What follows is encrypted, or of another stage."""
        self._over, self._data, self._message = True, b"", b""

    def _hellos(self) -> Iterator[Hello]:
        while len(self._message) >= 4:
            if self._message[0] != _CLIENT_HELLO or self._message[1]:
                if not self._began:
                    raise NotTlsError("it does not begin with a ClientHello")
                self._end()
                return
            length = 4 + int.from_bytes(self._message[1:4], "big")
            if len(self._message) < length:
                return
            yield _hello(_Bytes(self._message[4:length]))
            self._began = True
            self._message = self._message[length:]


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

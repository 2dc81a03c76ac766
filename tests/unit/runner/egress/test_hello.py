"""The first words of TLS."""

from __future__ import annotations

import ssl
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_runner.egress.hello import MOST, Hello, Hellos, NotTlsError


def hello(name: str | None) -> bytes:
    """What a real client says."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def read(data: bytes) -> Hello | None:
    """The first of what is said."""
    return next(iter(Hellos().feed(data)), None)


def made(*extensions: tuple[int, bytes]) -> bytes:
    """A ClientHello with these extensions."""
    told = b"".join(struct.pack(">HH", kind, len(data)) + data for kind, data in extensions)
    body = (
        b"\x03\x03"
        + bytes(32)
        + b"\x00"
        + b"\x00\x02\x13\x01"
        + b"\x01\x00"
        + struct.pack(">H", len(told))
        + told
    )
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + struct.pack(">H", len(message)) + message


def named(name: bytes) -> tuple[int, bytes]:
    return 0, struct.pack(">HBH", len(name) + 3, 0, len(name)) + name


def test_a_real_client_names_its_host() -> None:
    assert read(hello("Good.example")) == Hello("good.example", hidden=False)
    assert read(hello(None)) == Hello("", hidden=False)


def test_it_may_come_in_any_pieces() -> None:
    whole = hello("good.example")
    assert {read(whole[:end]) for end in range(len(whole))} == {None}
    message = whole[5:]
    pieces = b"".join(b"\x16\x03\x01\x00\x01" + bytes([byte]) for byte in message)
    assert read(pieces) == Hello("good.example", hidden=False)


def test_what_hides_its_host_is_told() -> None:
    assert read(made(named(b"good.example"), (0xFE0D, b"x"))) == Hello("good.example", hidden=True)


def test_two_names_are_none() -> None:
    for bad in (made(named(b"a.example"), named(b"b.example")), made((0, b"\x00\x01\x05"))):
        with pytest.raises(NotTlsError):
            read(bad)


@pytest.mark.parametrize(
    "said", [b"GET / HTTP/1.1\r\n", b"SSH-2.0", b"\x16\x02\x00\x00\x01\x01", b"\x17\x03\x03\x00\x01x"]
)
def test_what_is_no_tls(said: bytes) -> None:
    with pytest.raises(NotTlsError):
        read(said)


def test_a_second_hello_is_heard() -> None:
    first, second = made(named(b"good.example")), made(named(b"paper.example"))
    change_cipher = b"\x14\x03\x03\x00\x01\x01"
    listening = Hellos()
    assert [said.host for said in listening.feed(first + change_cipher + second[:30])] == ["good.example"]
    assert [said.host for said in listening.feed(second[30:])] == ["paper.example"]
    assert [said.host for said in Hellos().feed(first + second)] == ["good.example", "paper.example"]


def test_what_is_encrypted_is_not_listened_to() -> None:
    whole = made(named(b"good.example"))
    for follows in (b"\x17\x03\x03\x00\x01x", b"\x16\x03\x03\x00\x05\x10\x00\x00\x01x"):
        listening = Hellos()
        assert len(listening.feed(whole + follows)) == 1
        assert listening.feed(b"anything" * MOST) == []


def test_it_has_an_end() -> None:
    with pytest.raises(NotTlsError):
        read(b"\x16\x03\x01\x40\x00" * (MOST // 4))


@given(st.binary(max_size=300), st.integers(0, 300))
def test_any_bytes_are_read_or_refused(noise: bytes, at: int) -> None:
    whole = hello("good.example")
    for data in (noise, whole[:at] + noise, b"\x16\x03\x01" + struct.pack(">H", len(noise)) + noise):
        try:
            read(data)
        except NotTlsError:
            continue

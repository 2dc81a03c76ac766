from __future__ import annotations

import socket
from ipaddress import ip_address, ip_network
from typing import Any

import httpcore
import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_operate.webhooks import guard

INSIDE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "169.254.1.1", "100.64.0.1",
    "0.0.0.0", "224.0.0.1", "::1", "fe80::1", "fd00::1", "fd00:ec2::254", "::ffff:127.0.0.1",
    "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "168.63.129.16", "::",
]  # fmt: skip


@pytest.mark.parametrize("address", INSIDE)
def test_what_lies_inside_is_refused(address: str) -> None:
    assert guard.refusal(ip_address(address), ())


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"])
def test_what_is_public_is_not(address: str) -> None:
    assert guard.refusal(ip_address(address), ()) == ""


def test_what_is_listed_is_not_and_metadata_always_is() -> None:
    allow = [ip_network("10.0.0.0/8"), ip_network("::/0")]
    assert guard.refusal(ip_address("10.1.2.3"), allow) == ""
    assert guard.refusal(ip_address("192.168.1.1"), allow)
    assert guard.refusal(ip_address("fd00:ec2::254"), allow)


async def test_a_name_is_asked_once_and_its_answer_is_what_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The name server says a public address to whoever looks first, and an inner one from then on."""
    answers = ["93.184.216.34", "127.0.0.1", "127.0.0.1"]
    asked: list[str] = []

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers[len(asked) - 1], port))]

    tried: list[str] = []

    class Inner(httpcore.AsyncNetworkBackend):
        async def connect_tcp(self, host: str, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
            tried.append(host)
            raise httpcore.ConnectError("nobody there")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    backend = guard.GuardedBackend((), 2, Inner())
    with pytest.raises(httpcore.ConnectError):
        await backend.connect_tcp("rebinds.example", 443)
    assert (asked, tried) == (["rebinds.example"], ["93.184.216.34"])
    with pytest.raises(FiretrialError, match="leads where nothing is sent") as caught:
        await backend.connect_tcp("rebinds.example", 443)
    assert caught.value.reason is Reason.DENIED
    assert tried == ["93.184.216.34"]
    backend.close()


async def test_a_name_that_is_not_known_may_be_another_time() -> None:
    backend = guard.GuardedBackend((), 1)
    with pytest.raises(httpcore.ConnectError, match="is not known"):
        await backend.connect_tcp("no-such-host.invalid", 443)
    with pytest.raises(httpcore.UnsupportedProtocol):
        await backend.connect_unix_socket("/run/docker.sock")
    backend.close()

"""Addresses that lead inside, however they are written."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from firetrial_kit.addresses import inside, is_ours, never


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "169.254.169.254", "169.254.0.1", "fe80::1", "fd00:ec2::254", "100.100.100.200", "168.63.129.16",
        "::ffff:169.254.169.254", "224.0.0.1", "ff02::1", "2002:a9fe:a9fe::", "::127.0.0.1", "192.0.0.192",
    ],
)  # fmt: skip
def test_never(text: str) -> None:
    assert never(ip_address(text))


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "fd00::1", "fec0::1", "::ffff:10.0.0.1",
        "192.0.2.1",
        "64:ff9b::a00:1", "198.18.0.1", "240.0.0.1", "2001:db8::1", "2002:a00:1::",
    ],
)  # fmt: skip
def test_inside(text: str) -> None:
    assert inside(ip_address(text))
    assert not never(ip_address(text))


@pytest.mark.parametrize("text", ["93.184.215.14", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::5db8:d70e"])
def test_outside(text: str) -> None:
    address = ip_address(text)
    assert (never(address), inside(address), is_ours(address)) == ("", "", False)


def test_our_own() -> None:
    assert is_ours(ip_address("127.0.0.1"))

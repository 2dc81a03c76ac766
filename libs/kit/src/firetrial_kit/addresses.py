"""Addresses that lead inside: to this machine, to its cloud, to the networks around it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from firetrial_kit.hosts import Address

# Machines in a cloud are told their credentials there. The last is a public address.
_METADATA = "169.254.169.254 169.254.170.2 fd00:ec2::254 100.100.100.200 192.0.0.192 168.63.129.16"
METADATA = frozenset(map(ip_address, _METADATA.split()))
# IPv4 inside IPv6 (RFC 6052, RFC 8215): the last 32 bits.
_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))


def never(address: Address) -> str:
    """Why an address is never reached, whatever a policy lists; ""."""
    return next(filter(None, map(_never, _faces(address))), "")


def inside(address: Address) -> str:
    """Why an address is reached only where a policy lists it; ""."""
    return next(filter(None, map(_inside, _faces(address))), "")


def is_ours(address: Address) -> bool:
    """Whether this machine has the address."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
        return True


def _never(address: Address) -> str:
    if address in METADATA:
        return "it is where clouds hand out credentials"
    if address.is_loopback or address.is_unspecified:
        return "it is this machine itself"
    if address.is_link_local or address.is_multicast:
        return "it is no host's own address"
    return ""


def _inside(address: Address) -> str:
    site = isinstance(address, IPv6Address) and address.is_site_local
    return "it is an address of a private network" if site or not address.is_global else ""


def _faces(address: Address) -> Iterator[Address]:
    """The address, and those that it is another writing of."""
    yield address
    if isinstance(address, IPv6Address):
        teredo = address.teredo
        found = (address.ipv4_mapped, address.sixtofour, *(teredo or ()))
        yield from (face for face in found if face is not None)
        if any(address in network for network in _TRANSLATED) and int(address) > 1:
            yield IPv4Address(int(address) & 0xFFFFFFFF)

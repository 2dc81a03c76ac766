"""Rules that name hosts: what may be reached, and what may not.

data.example   *.files.example   git.example:8443   10.1.0.0/16   [fd00::7]:8080      allowed
arxiv.org   https://arxiv.org/abs/2505.01234   151.101.0.0/16                        denied
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from posixpath import normpath
from urllib.parse import unquote

from firetrial_kit.errors import Fault

Address = IPv4Address | IPv6Address
PORTS = frozenset({80, 443})
"""Of a rule that names none."""
MOST_RULES = 64
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
# Resolvers read these as an address: "127.1", "0x7f.0.0.1".
_NUMBER = re.compile(r"(?:.*\.)?(?:0x[0-9a-f]*|[0-9]+)")
_PORT = re.compile(r"(.*[^:]|\[.*\]):([0-9]{1,5})")


def plain_name(host: str) -> str:
    """A host's name in small letters, without the dot at its end; "" for what is no name, or a number."""
    name = host.lower().removesuffix(".")
    known = len(name) <= 253 and _NAME.fullmatch(name) and not _NUMBER.fullmatch(name)
    return name if known else ""


def literal(host: str) -> Address | None:
    """The address that a host is written as; None for a name."""
    try:
        return ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Rule:
    """Either a name or a network of addresses; `below` says that names below it count, `itself` that it does.

    port 0 stands for PORTS where something is allowed, and for all of them where it is denied. path is ""
    for all that a host has.
    """

    name: str = ""
    network: IPv4Network | IPv6Network | None = None
    port: int = 0
    below: bool = False
    itself: bool = True
    path: str = ""

    def names(self, host: str) -> bool:
        """Whether it speaks of a host, by its plain name."""
        below = self.below and bool(self.name) and host.endswith(f".{self.name}")
        return below or (self.itself and host == self.name != "")

    def holds(self, address: Address) -> bool:
        """Whether it speaks of an address."""
        network = self.network
        return network is not None and address.version == network.version and address in network

    def opens(self, port: int) -> bool:
        return port == self.port or (not self.port and port in PORTS)

    def hides(self, path: str) -> bool:
        """Whether it speaks of a path of its host, however that is spelled."""
        return not self.path or _plain_path(self.path) in _plain_path(path)

    def covers(self, other: Rule) -> bool:
        """Whether all that another rule allows is allowed by this one."""
        ports = {other.port} if other.port else PORTS
        if not all(map(self.opens, ports)):
            return False
        if other.network is not None:
            network = self.network
            return network is not None and _within(other.network, network)
        if self.below and other.name.endswith(f".{self.name}"):
            return True
        return self.name == other.name and self.below >= other.below and self.itself >= other.itself


def allowed(text: str) -> Rule:
    """A rule that allows. Raises ValueError."""
    told = text.strip().lower()
    ported = _PORT.fullmatch(told)
    host, port = (ported[1], int(ported[2])) if ported else (told, 0)
    if ported and not 0 < port < 65536:
        raise ValueError("a port is 1 to 65535")
    if (network := _network(host)) is not None:
        return Rule(network=network, port=port)
    below = host.startswith("*.")
    return Rule(name=_name(host.removeprefix("*.")), port=port, below=below, itself=not below)


def denied(text: str) -> Rule:
    """A rule that denies: a host and all below it, perhaps at one path; or addresses. Raises ValueError."""
    told = text.strip()
    if (network := _network(told)) is not None:
        return Rule(network=network)
    address = re.sub(r"^https?://", "", told, flags=re.IGNORECASE)
    host, _, path = address.partition("/")
    if (network := _network(host)) is not None:
        return Rule(network=network)
    return Rule(name=_name(host.lower()), below=True, path=f"/{path}" if path.strip("/") else "")


def rules(texts: Iterable[str], read: Callable[[str], Rule]) -> tuple[Rule, ...]:
    """Raises ValueError for the first that is none."""
    return tuple(map(read, texts))


def rule_faults(field: str, texts: Iterable[str], read: Callable[[str], Rule]) -> Iterator[Fault]:
    """What is wrong with a list of rules."""
    listed = list(texts)
    if len(listed) > MOST_RULES:
        yield Fault(field, f"{len(listed)} entries", f"must be at most {MOST_RULES}")
        return
    for index, text in enumerate(listed):
        try:
            read(text)
        except ValueError as error:
            yield Fault(
                f"{field}[{index}]", text, f"must be a host such as data.example, or an address: {error}"
            )


class Reach(StrEnum):
    GATEWAY = "gateway"  # nothing but a gateway
    LISTED = "listed"
    OPEN = "open"  # every public host, and what is listed


@dataclass(frozen=True, slots=True)
class Network:
    """What is asked for: rules of hosts beside the reach; `denied` wins over the rest."""

    reach: Reach = Reach.GATEWAY
    hosts: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()

    def faults(self, field: str) -> Iterator[Fault]:
        """What is wrong with it by itself."""
        yield from rule_faults(f"{field}.hosts", self.hosts, allowed)
        yield from rule_faults(f"{field}.denied", self.denied, denied)
        if self.reach is Reach.GATEWAY and self.hosts:
            yield Fault(f"{field}.hosts", ", ".join(self.hosts), "must be empty, or the reach listed or open")
        if self.reach is Reach.LISTED and not self.hosts:
            yield Fault(f"{field}.hosts", "[]", "must name a host where the reach is listed")


ALONE = Network()
"""Nothing but a gateway."""


def _name(host: str) -> str:
    if not (name := plain_name(host)):
        raise ValueError("a name has letters, digits, dots and hyphens, and its last part is no number")
    return name


def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text.replace("[", "").replace("]", ""))
    except ValueError:
        return None


def _within(inner: IPv4Network | IPv6Network, outer: IPv4Network | IPv6Network) -> bool:
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)


def _plain_path(path: str) -> str:
    return normpath(unquote(unquote(path)).replace("//", "/")).lower()

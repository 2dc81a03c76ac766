"""Endpoints: where facts are sent, which, and how long it is tried."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from urllib.parse import SplitResult, urlsplit

from firetrial_kit import tenants
from firetrial_kit.hosts import literal

PREFIX = "webhook-"
"""Of the durable consumers that are for endpoints."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One receiver. `subjects` are filters on the bus that do not overlap; times are in seconds.

    `secrets` sign; none of them, nor what `headers` hold, is shown.
    """

    name: str
    url: str
    subjects: tuple[str, ...]
    secrets: tuple[bytes, ...] = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tenant: str = ""
    ca: str = ""
    timeout: float = 15.0
    give_up_after: float = 86_400.0
    at_once: int = 4
    allow: tuple[IPv4Network | IPv6Network, ...] = ()

    @property
    def consumer(self) -> str:
        """The name of its durable consumer, and of its dead letters."""
        return PREFIX + self.name

    def wants(self, key: str) -> bool:
        """Whether a fact about the resource `key` is for it: one of its tenant's, where it has one."""
        return not self.tenant or tenants.of(key) == self.tenant


def url_fault(url: str) -> str:
    """What a URL must be and is not; ""."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"must be a URL: {error}"
    if parts.scheme not in {"https", "http"} or not parts.hostname or port == 0:
        return "must be https://host/path"
    if parts.scheme == "http" and not _is_loopback(parts):
        return "must begin with https://, for it leaves this machine"
    if parts.username is not None or parts.fragment:
        return "must hold neither credentials nor a fragment: put credentials into headers"
    return "" if url.isascii() and url.isprintable() and " " not in url else "must be ASCII, without blanks"


def _is_loopback(parts: SplitResult) -> bool:
    address = literal(parts.hostname or "")
    return parts.hostname == "localhost" or (address is not None and address.is_loopback)


def subjects(patterns: Iterable[str], known: Collection[tuple[str, str]]) -> Iterator[str]:
    """Filters for patterns: "*", "runner.*", "runner.run_finished", "*.run_finished"; none overlaps another.

    `known` are the facts there are, as (service, fact); the service "*" tells what each service does. Raises
    KeyError with a pattern that fits none of them.
    """
    tellers = sorted({service for service, _ in known if service != "*"})
    found: dict[str, None] = {}
    for pattern in patterns:
        service, _, fact = pattern.partition(".")
        if pattern == "*":
            found["ft.evt.>"] = None
        elif fact == "*" and service in tellers:
            found[f"ft.evt.{service}.v1.>"] = None
        else:
            told = [one for one in tellers if service in {one, "*"} and {(one, fact), ("*", fact)} & {*known}]
            if not told:
                raise KeyError(pattern)
            found |= {f"ft.evt.{teller}.v1.{fact}.*": None for teller in told}
    yield from (one for one in found if not any(_covers(other, one) for other in found if other != one))


def _covers(wide: str, narrow: str) -> bool:
    return wide.endswith(">") and narrow.startswith(wide[:-1])

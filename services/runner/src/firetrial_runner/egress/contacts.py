"""Whom a run spoke to outside, or tried to: by host and port, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST = 64
"""Hosts with a port that are named, and as many denied ones; all others of a kind are counted together."""


@dataclass(frozen=True, slots=True)
class Contact:
    """bytes in both directions. `denied`: a rule names the host as one to keep off, so it was refused."""

    host: str
    bytes: int = 0
    requests: int = 0
    refused: bool = False
    denied: bool = False
    port: int = 0


@dataclass(slots=True)
class Visit:
    """What is told of one connection; bytes from the run and to it, "" for what did not happen."""

    host: str = ""
    port: int = 0
    sent: int = 0
    received: int = 0
    refused: str = ""
    failed: str = ""
    denied: bool = False

    @property
    def decision(self) -> str:
        """What came of it: allowed, failed, refused, or denied."""
        if self.denied:
            return "denied"
        return "refused" if self.refused else "failed" if self.failed else "allowed"

    @property
    def text(self) -> str:
        """In one line."""
        where = f"{self.host or 'no host'}:{self.port}"
        if self.refused:
            return f"contact refused: {where}: {self.refused}"
        what = f"{self.sent} bytes sent, {self.received} received"
        return f"contact: {where}: {what}" + (f", {self.failed}" if self.failed else "")

    def told(self) -> dict[str, object]:
        """In full, without what did not happen."""
        told = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in told.items() if value}


class Contacts:
    def __init__(self) -> None:
        self._found: dict[tuple[str, int, bool, bool], Contact] = {}

    def add(self, visit: Visit) -> None:
        refused, denied = bool(visit.refused), visit.denied
        key = (visit.host, visit.port, refused, denied)
        if key not in self._found and self._named(denied) >= MOST:
            key = ("", 0, refused, denied)
        had = self._found.get(key) or Contact(key[0], refused=refused, denied=denied, port=key[1])
        size = had.bytes + visit.sent + visit.received
        self._found[key] = replace(had, bytes=size, requests=had.requests + 1)

    def all(self) -> tuple[Contact, ...]:
        """In the order of their first visit."""
        return tuple(self._found.values())

    def _named(self, denied: bool) -> int:
        return sum(bool(found.host) for found in self._found.values() if found.denied == denied)

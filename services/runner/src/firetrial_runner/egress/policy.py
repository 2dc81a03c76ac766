"""What a run may reach beyond its models: as its task asks, within what the operator allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from firetrial_kit.errors import Fault
from firetrial_kit.hosts import (
    PORTS,
    Address,
    Network,
    Reach,
    Rule,
    allowed,
    denied,
    literal,
    plain_name,
    rules,
)

SETTING = "FIRETRIAL_RUNNER_NETWORK"


@dataclass(frozen=True, slots=True)
class Most:
    """What an operator allows at most: nothing, hosts, or every public host beside them."""

    open: bool = False
    hosts: tuple[Rule, ...] = ()

    @classmethod
    def told(cls, setting: str) -> Most:
        """From "none", or hosts with commas between them, "open" among them. Raises ValueError."""
        parts = [part.strip() for part in setting.split(",") if part.strip() not in {"", "none"}]
        return cls("open" in parts, rules((part for part in parts if part != "open"), allowed))

    def faults(self, field: str, network: Network) -> Iterator[Fault]:
        """What a task asks for beyond it; the task is sound by itself."""
        cure = f"must be allowed by the operator: add it to {SETTING}, or run it in another pool"
        if network.reach is Reach.OPEN and not self.open:
            yield Fault(f"{field}.reach", network.reach, cure)
        for index, text in enumerate(network.hosts):
            rule = allowed(text)
            public = self.open and rule.network is None and rule.port in {0, *PORTS}
            if not public and not any(most.covers(rule) for most in self.hosts):
                yield Fault(f"{field}.hosts[{index}]", text, cure)


@dataclass(frozen=True, slots=True)
class Target:
    """What an agent asks for; `path` is "" where it is encrypted."""

    host: str
    port: int
    path: str = ""


class RefusedError(Exception):
    """The policy says no; `denied` where a rule names what was asked for."""

    def __init__(self, why: str, *, denied: bool = False) -> None:
        super().__init__(why)
        self.why, self.denied = why, denied


class Policy:
    """A task's network with what its plan denies."""

    def __init__(self, network: Network, more_denied: Iterable[str] = ()) -> None:
        """Raises ValueError where a rule is none."""
        self.reach = network.reach
        self._allowed = rules(network.hosts, allowed)
        self._denied = rules((*network.denied, *more_denied), denied)

    def check(self, target: Target) -> None:
        """By what was asked for, before any name is looked up. Raises RefusedError."""
        address = literal(target.host)
        if address is not None:
            self._check_denied_address(address)
            if not self.names_address(address, target.port):
                raise RefusedError("addresses are reached only where the task lists them: ask by name")
            return
        name = plain_name(target.host)
        if not name:
            raise RefusedError("this is no host's name")
        for rule in self._denied:
            if rule.names(name) and (not target.path or rule.hides(target.path)):
                raise RefusedError("it is denied to this run", denied=True)
        listed = any(rule.names(name) and rule.opens(target.port) for rule in self._allowed)
        if not listed and not (self.reach is Reach.OPEN and target.port in PORTS):
            raise RefusedError(self._told(name, target.port))

    def check_address(self, address: Address, port: int, why_not: str) -> None:
        """By an address that the name has; `why_not` says what is against it. Raises RefusedError."""
        self._check_denied_address(address)
        if why_not and not self.names_address(address, port):
            raise RefusedError(why_not)

    def lists(self, name: str) -> bool:
        """Whether a name is on the task's list, and by itself."""
        return any(rule.name == name and rule.itself for rule in self._allowed)

    def names_address(self, address: Address, port: int) -> bool:
        """Whether it is listed as an address."""
        return any(rule.holds(address) and rule.opens(port) for rule in self._allowed)

    def _check_denied_address(self, address: Address) -> None:
        if any(rule.holds(address) for rule in self._denied):
            raise RefusedError("its address is denied to this run", denied=True)

    def _told(self, name: str, port: int) -> str:
        ports = sorted({p for r in self._allowed if r.names(name) for p in ([r.port] if r.port else PORTS)})
        if ports:
            return f"port {port} is not open there, but {', '.join(map(str, ports))}"
        if self.reach is Reach.OPEN:
            return f"port {port} is not open, but {', '.join(map(str, sorted(PORTS)))}"
        return "it is not on the task's list"

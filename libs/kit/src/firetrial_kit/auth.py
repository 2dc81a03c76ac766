"""Who calls, and whether they may: a token or a certificate, against the scopes that the contract asks for.

To a stranger every refusal is the same one: nothing is told of why, nor of what there is.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from google.protobuf import descriptor_pool

from firetrial.access.v1 import access_pb2
from firetrial_kit import tenants, tokens
from firetrial_kit.clock import Clock, SystemClock
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.settings import SettingsError
from firetrial_kit.tokens import Identities, Means, Principal, Quotas, Scope

ON_BEHALF = "firetrial-tenant"
"""The metadata in which a service says for which tenant it asks another."""
OPEN = ("/grpc.health.",)
_REFLECTION = "/grpc.reflection."
_BEARER = "bearer "
_CURE = (
    "this Firetrial does not know who calls: set FIRETRIAL_TOKEN or FIRETRIAL_TOKEN_FILE to a token that is "
    "valid here, or show a certificate that is known; who runs it gives them out"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """What the contract says of a method; see firetrial.access.v1."""

    scopes: frozenset[Scope]
    changes: bool = False

    def allows(self, principal: Principal) -> bool:
        if self.scopes & principal.scopes:
            return True
        return Scope.OPERATE in principal.scopes and bool(self.scopes & {Scope.READ, Scope.SUBMIT})


@functools.cache
def rule_of(method: str) -> Rule:
    """The rule of "/package.Service/Method"; one without a rule in its contract is nobody's."""
    if method.startswith(_REFLECTION):
        return Rule(frozenset({Scope.READ}))
    try:
        found = descriptor_pool.Default().FindMethodByName(method.removeprefix("/").replace("/", "."))
    except KeyError:
        return Rule(frozenset())
    told = found.GetOptions().Extensions[access_pb2.rule]
    return Rule(frozenset(scope_to_domain(scope) for scope in told.scopes), told.changes)


def scope_to_domain(scope: access_pb2.Scope.ValueType) -> Scope:
    return Scope(access_pb2.Scope.Name(scope).removeprefix("SCOPE_").lower())


class Register:
    """The tokens file as it is now: read again when it has changed, kept as it was while it is broken."""

    def __init__(self, path: Path, log: structlog.typing.FilteringBoundLogger) -> None:
        """Raises INVALID for a file that is broken from the start, OSError where it cannot be read."""
        self._path = path
        self._log = log
        self._seen = self._look()
        self._known = tokens.parse(path.read_bytes(), f"the tokens file {path}")

    @property
    def identities(self) -> Identities:
        seen = self._look()
        if seen != self._seen:
            self._seen = seen
            self._read()
        return self._known

    def _look(self) -> tuple[int, int, int] | None:
        try:
            told = self._path.stat()
        except OSError:
            return None
        return told.st_mtime_ns, told.st_size, told.st_ino

    def _read(self) -> None:
        try:
            self._known = tokens.parse(self._path.read_bytes(), f"the tokens file {self._path}")
        except (OSError, FiretrialError) as error:
            told = "who may call stays as it was: a token that was taken out is still valid"
            self._log.error("tokens file is broken", error=str(error), effect=told)
        else:
            counted = {"tokens": len(self._known.by_hash), "certificates": len(self._known.by_subject)}
            self._log.info("tokens file read", tenants=len(self._known.quotas), **counted)


@dataclass(frozen=True, slots=True)
class Gate:
    """Lets calls in. Without a register everybody may do everything, as on a loopback."""

    register: Register | None
    clock: Clock

    def known(
        self, metadata: Sequence[tuple[str, str | bytes]], peer: Mapping[str, Iterable[bytes]]
    ) -> Principal:
        """Who calls, whatever they may do. Raises UNAUTHENTICATED for strangers."""
        if self.register is None:
            return tokens.ANYBODY
        identities = self.register.identities
        told = [value for name, value in metadata if name == "authorization"]
        token = _token(told)
        if told:  # one who shows a token is whom it names, or nobody
            principal = identities.by_token(token) if token else None
        else:
            principal = identities.by_certificate(_subjects(peer))
        if principal is None or self._expired(principal):
            raise FiretrialError(Reason.UNAUTHENTICATED, _CURE)
        return principal

    def check(self, method: str, principal: Principal) -> None:
        """Raises DENIED where the scopes of who calls do not suffice for a method."""
        rule = rule_of(method)
        if self.register is not None and not rule.allows(principal):
            raise _denied(method, principal, rule)

    def holds(self, principal: Principal) -> bool:
        """Whether one who was let in would still be: for answers that go on for long."""
        if self.register is None:
            return True
        identities = self.register.identities
        known = identities.by_hash if principal.means is Means.TOKEN else identities.by_subject
        return principal in known.values() and not self._expired(principal)

    def quotas(self, tenant: str) -> Quotas:
        """What a tenant may use."""
        known = self.register.identities.quotas if self.register else {}
        return known.get(tenant, Quotas())

    def _expired(self, principal: Principal) -> bool:
        return principal.expires is not None and principal.expires <= self.clock.now()


UNGUARDED = Gate(None, SystemClock())


def open_gate(path: Path | None, clock: Clock, log: structlog.typing.FilteringBoundLogger) -> Gate:
    """The gate by the tokens file at `path`; an open one without. Raises SettingsError for a broken file."""
    try:
        return Gate(Register(path, log) if path else None, clock)
    except (OSError, FiretrialError) as error:
        raise SettingsError([f"FIRETRIAL_TOKENS_FILE: {error}"]) from None


def tenant_of(principal: Principal, metadata: Sequence[tuple[str, str | bytes]]) -> str | None:
    """For whom the call is made; a service says so itself."""
    if Scope.SERVICE in principal.scopes and principal.means is not Means.NONE:
        told = next((value for name, value in metadata if name == ON_BEHALF), "")
        return told if isinstance(told, str) and tenants.FORM.fullmatch(told) else None
    return principal.acts_for


def _token(told: Sequence[str | bytes]) -> str:
    """The one bearer token of a call; "" for none, several, or what cannot be one."""
    value = told[0] if len(told) == 1 else ""
    if not isinstance(value, str) or not value.isascii() or value[: len(_BEARER)].lower() != _BEARER:
        return ""
    token = value[len(_BEARER) :]
    return token if 0 < len(token) <= tokens.MAX_TOKEN and token.isprintable() else ""


def _subjects(peer: Mapping[str, Iterable[bytes]]) -> list[str]:
    """The names in a client's certificate, which its authority has vouched for."""
    fields = ("x509_common_name", "x509_subject_alternative_name")
    return [str(value, "utf-8", "replace") for name in fields for value in peer.get(name, ())]


def _denied(method: str, principal: Principal, rule: Rule) -> FiretrialError:
    has, needs = (", ".join(sorted(scopes)) for scopes in (principal.scopes, rule.scopes))
    name = method.rpartition("/")[2]
    cure = f"must have {needs.replace(', ', ' or ')} for {name}" if needs else f"nobody may call {name}"
    fault = Fault("scopes", has, cure)
    return FiretrialError(Reason.DENIED, f"{principal.name} may not do that: {fault}", faults=[fault])


def peer_of(context: Any) -> Mapping[str, Iterable[bytes]]:
    """What TLS tells of the client."""
    found: Mapping[str, Iterable[bytes]] = context.auth_context()
    return found

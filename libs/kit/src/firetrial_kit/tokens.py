"""Who may call: tenants with their quotas, tokens by their hashes, and certificates, from one file.

    tenants:
      acme:
        quotas: {runs_at_once: 20, runs_per_day: 500, gpus_at_once: 4, usd_per_month: 300}
    tokens:
      - {name: acme-ci, tenant: acme, scopes: [submit, read], expires: "2027-01-01T00:00:00Z", sha256: 9f86…}
    certificates:
      - {name: acme-lab, subject: lab.acme.example, tenant: acme, scopes: [submit, read]}

A token is 256 random bits, so one pass of sha256 keeps it: there is no dictionary to try, which is all that a
slow hash would make dear. The file holds no secret.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from firetrial_kit import documents, tenants
from firetrial_kit.errors import Fault, FiretrialError, check, invalid
from firetrial_kit.logs import masked

PREFIX = "ftk_"
MAX_TOKEN = 256
_BYTES = 32


class Scope(StrEnum):
    """What a caller may do; as firetrial.access.v1.Scope."""

    READ = "read"
    SUBMIT = "submit"
    OPERATE = "operate"
    SERVICE = "service"


class Means(StrEnum):
    """By what a caller is known."""

    NONE = "none"
    TOKEN = "token"  # noqa: S105 - a word, no token
    CERTIFICATE = "certificate"


@dataclass(frozen=True, slots=True)
class Quotas:
    """What a tenant may use; None is as much as there is. Days and months are by UTC."""

    runs_at_once: int | None = None
    runs_per_day: int | None = None
    gpus_at_once: int | None = None
    usd_per_month: float | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls. `name` is the token's or certificate's own, which is no secret."""

    name: str
    tenant: str
    scopes: frozenset[Scope]
    means: Means = Means.TOKEN
    expires: datetime | None = None

    @property
    def acts_for(self) -> str | None:
        """The tenant whose resources alone are seen; None for who operates and for services, who see all."""
        return None if self.scopes & {Scope.OPERATE, Scope.SERVICE} else self.tenant


ANYBODY = Principal("local", tenants.LOCAL, frozenset(Scope), Means.NONE)
"""Who calls where nothing is asked of callers."""


@dataclass(frozen=True, slots=True)
class Identities:
    """What the file says. `by_hash` are the tokens, `by_subject` the certificates' names."""

    quotas: Mapping[str, Quotas] = field(default_factory=dict)
    by_hash: Mapping[str, Principal] = field(default_factory=dict)
    by_subject: Mapping[str, Principal] = field(default_factory=dict)

    def by_token(self, token: str) -> Principal | None:
        """Who has this token. Takes as long whichever it is, and for one that nobody has."""
        given, found = hashed(token), None
        for known, principal in self.by_hash.items():
            if hmac.compare_digest(known, given):
                found = principal
        return found

    def by_certificate(self, subjects: Iterable[str]) -> Principal | None:
        """Whose certificate names these: its common name and its alternative names."""
        named = (self.by_subject.get(subject) for subject in subjects)
        return next((principal for principal in named if principal), None)


def new_token() -> str:
    """256 random bits, in letters, digits, "-" and "_"."""
    return PREFIX + secrets.token_urlsafe(_BYTES)


def hashed(token: str) -> str:
    """What the file holds of a token: lower-case hex."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def parse(data: bytes, subject: str = "the tokens file") -> Identities:
    """The file, JSON or YAML. Raises INVALID with every fault; no fault shows what may be a token."""
    try:
        told = documents.load(data, subject)
    except FiretrialError:
        raise invalid(subject, [Fault("the file", "(not shown)", "must be JSON or YAML")]) from None
    try:
        file = _File.model_validate(told)
    except ValidationError as error:
        raise invalid(subject, map(_told, error.errors())) from None
    check(subject, file.faults())
    return Identities(
        {name: tenant.quotas.told() for name, tenant in file.tenants.items()},
        {token.sha256: token.principal(Means.TOKEN) for token in file.tokens},
        {each.subject: each.principal(Means.CERTIFICATE) for each in file.certificates},
    )


_Text = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$")]
_Tenant = Annotated[str, Field(pattern=f"^{tenants.FORM.pattern}$")]
_Count = Annotated[int, Field(ge=0, strict=True)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Quotas(_Strict):
    runs_at_once: _Count | None = None
    runs_per_day: _Count | None = None
    gpus_at_once: _Count | None = None
    usd_per_month: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def told(self) -> Quotas:
        return Quotas(**self.model_dump())


class _TenantEntry(_Strict):
    quotas: _Quotas = _Quotas()


class _Holder(_Strict):
    name: _Text
    tenant: _Tenant = tenants.LOCAL
    scopes: frozenset[Scope] = Field(min_length=1)
    expires: AwareDatetime | None = None

    @model_validator(mode="after")
    def _apart(self) -> Self:
        above = self.scopes & {Scope.OPERATE, Scope.SERVICE}
        if above and self.tenant != tenants.LOCAL:
            raise ValueError(f"{', '.join(sorted(above))} is over all tenants: leave the tenant out")
        if Scope.SERVICE in self.scopes and len(self.scopes) > 1:
            raise ValueError("service is for services alone: give people a token of their own")
        return self

    def principal(self, means: Means) -> Principal:
        return Principal(self.name, self.tenant, self.scopes, means, self.expires)


class _Token(_Holder):
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class _Certificate(_Holder):
    subject: _Text


class _File(_Strict):
    tenants: dict[_Tenant, _TenantEntry] = {}
    tokens: tuple[_Token, ...] = ()
    certificates: tuple[_Certificate, ...] = ()

    def faults(self) -> Iterator[Fault]:
        known = {tenants.LOCAL, *self.tenants}
        holders = [("tokens", each) for each in self.tokens]
        for kind, holder in [*holders, *(("certificates", each) for each in self.certificates)]:
            if holder.tenant not in known:
                yield Fault(f"{kind}.{holder.name}.tenant", holder.tenant, "must be one of the tenants")
        keys = {
            "name": [each.name for each in (*self.tokens, *self.certificates)],
            "sha256": [each.sha256 for each in self.tokens],
            "subject": [each.subject for each in self.certificates],
        }
        for name, values in keys.items():
            for value, times in Counter(values).items():
                if times > 1:
                    yield Fault(name, value[:12], "must be there once")


def _told(fault: Mapping[str, object]) -> Fault:
    place = fault["loc"]
    where = ".".join(map(str, place)) if isinstance(place, tuple) else ""
    return Fault(
        masked(where)[:100] or "the file",
        "(not shown)",
        str(fault["msg"]).removeprefix("Value error, ")[:200],
    )

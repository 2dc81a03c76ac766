"""Whose a resource is: its id says so, and whoever acts for a tenant is kept to that tenant's ids.

An id of the tenant `acme` begins with "t-acme--"; one without such a beginning belongs to the installation
itself, whose name as a tenant is "local". So that no id can be taken for a tenant's that is not, what people
choose as a beginning of an id is refused where it looks like one (docs/adr/0010-tenants.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from firetrial_kit.errors import Fault, invalid
from firetrial_kit.ids import digest

LOCAL: Final = "local"
FORM: Final = re.compile(r"[a-z](?:-?[a-z0-9]){0,15}")
_TAG = re.compile(rf"t-({FORM.pattern})--")
_acting: ContextVar[str | None] = ContextVar("tenant", default=None)


def tag(tenant: str) -> str:
    """What a tenant's ids begin with; "" for the installation's own."""
    return "" if tenant == LOCAL else f"t-{tenant}--"


def of(id_: str) -> str:
    """The tenant whose resource has this id."""
    match = _TAG.match(id_)
    return match[1] if match else LOCAL


def bare(id_: str) -> str:
    """The id without the beginning that says whose it is."""
    return _TAG.sub("", id_, count=1)


@contextmanager
def acting(tenant: str | None) -> Iterator[None]:
    """Do the work inside for a tenant, and see nothing else; for None everything is seen."""
    token = _acting.set(tenant)
    try:
        yield
    finally:
        _acting.reset(token)


def current() -> str | None:
    """For whom the work in hand is done; None where it is kept to no tenant's resources."""
    return _acting.get()


def sees(id_: str) -> bool:
    """Whether the work in hand may see the resource with this id."""
    tenant = _acting.get()
    return tenant is None or of(id_) == tenant


def mine(id_: str) -> str:
    """The id of a resource that is made by the work in hand, from what it would be without tenants.

    Raises INVALID where it would be taken for a tenant's.
    """
    tenant = _acting.get() or LOCAL
    if tenant == LOCAL and _TAG.match(id_):
        raise invalid("the name", [Fault("id", id_, "must not begin as a tenant's does, with t-<name>--")])
    return id_ if of(id_) == tenant else tag(tenant) + id_


def beside(parent: str, id_: str) -> str:
    """The id of a resource that belongs to whom the resource `parent` belongs to."""
    return tag(of(parent)) + id_


def asked(id_: str) -> str:
    """An id as it stands in a request: one of the tenant's own, whatever its beginning.

    Nobody's resource can be named by another tenant, whether there is one or not.
    """
    tenant = _acting.get()
    if tenant is None or not id_ or of(id_) == tenant:
        return id_
    return f"t-{tenant}--{id_}"


def apart(key: str) -> str:
    """A hash that names something kept for who asks again, as one that each tenant has for itself."""
    tenant = _acting.get() or LOCAL
    return key if tenant == LOCAL else digest(tenant, key)

"""The file that names the endpoints: TOML, YAML or JSON.

[[endpoint]]
name = "lab"
url = "https://hooks.lab.example/firetrial"
events = ["runner.run_finished", "analyzer.*"]
secrets = ["env:LAB_HOOK_SECRET", "file:/run/secrets/lab-hook-old"]
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from firetrial_kit import documents, logs, tenants
from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_operate.webhooks import signing
from firetrial_operate.webhooks.endpoint import Endpoint, subjects, url_fault

MOST_ENDPOINTS = 64
_NAME = r"^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$"
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
# Ours, or the connection's.
_TAKEN = {"host", "content-type", "content-length", "transfer-encoding", "connection", "user-agent", "te",
          "upgrade", "trailer", "expect", "traceparent"}  # fmt: skip
# Networks that no entry of `allow` may hold: metadata services, and what is no host's own address.
_CLOSED = [ip_network(text) for text in (
    "0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32",
    "::/128", "fe80::/10", "ff00::/8", "fd00:ec2::254/128", "::ffff:0:0/96", "64:ff9b::/96", "2002::/16",
)]  # fmt: skip
Facts = Collection[tuple[str, str]]


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(pattern=_NAME)
    url: str
    events: list[str] = Field(min_length=1)
    secrets: list[str] = Field(min_length=1, max_length=2)
    headers: dict[str, str] = {}
    tenant: str = Field(default="", pattern=rf"^(?:{tenants.FORM.pattern})?$")
    # PEM of the authority that signed the receiver's certificate, instead of the system's.
    ca: str = ""
    timeout_s: float = Field(default=15, ge=1, le=60, strict=False)
    give_up_after_s: float = Field(default=86_400, ge=1, le=604_800, strict=False)
    at_once: int = Field(default=4, ge=1, le=32)
    # Networks inside that it may be reached in: "10.1.0.0/16".
    allow: list[str] = []


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    endpoint: list[_Told] = Field(min_length=1, max_length=MOST_ENDPOINTS)


def load(path: Path, environ: Mapping[str, str], known: Facts) -> list[Endpoint]:
    """The endpoints that the file names; their secrets are hidden in all logs. `known`: see `subjects`.

    Raises INVALID with every fault, NOT_FOUND for a file that is not there.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FiretrialError(Reason.NOT_FOUND, f"{path} cannot be read: {error.strerror}") from error
    faults: list[Fault] = []
    told = _parsed(path, data, faults)
    found = [_endpoint(f"endpoint[{at}]", one, environ, known, faults) for at, one in enumerate(told)]
    twice = [name for name, count in Counter(one.name for one in told).items() if count > 1]
    faults += [Fault("endpoint.name", name, "must be there once") for name in twice]
    check(str(path), faults)
    return found


def _parsed(path: Path, data: bytes, faults: list[Fault]) -> list[_Told]:
    try:
        value = _toml(data) if path.suffix == ".toml" else documents.load(data, str(path))
        return _File.model_validate(value).endpoint
    except tomllib.TOMLDecodeError as error:
        faults.append(Fault("the file", path.name, f"must be TOML: {error}"))
    except ValidationError as error:
        # Without what was found: it may be a secret in the wrong place.
        faults += [Fault(".".join(map(str, one["loc"])), "", one["msg"]) for one in error.errors()]
    return []


def _toml(data: bytes) -> Any:
    return tomllib.loads(data.decode("utf-8", "replace"))


def _endpoint(
    at: str, told: _Told, environ: Mapping[str, str], known: Facts, faults: list[Fault]
) -> Endpoint:
    if cure := url_fault(told.url):
        faults.append(Fault(f"{at}.url", "" if "@" in told.url else told.url, cure))

    def secrets(
        field: str, texts: Mapping[str, str], read: Callable[[str], Any]
    ) -> Iterator[tuple[str, Any]]:
        for name, text in texts.items():
            try:
                value = referred(text, environ)
                logs.hide(value)
                yield name, read(value)
            except (OSError, ValueError) as error:
                faults.append(Fault(f"{at}.{field}.{name}", _source(text), f"must be right: {error}"))

    numbered = {str(number): text for number, text in enumerate(told.secrets)}
    for number, text in numbered.items():
        if not _source(text):
            cure = "must be env:NAME or file:/path: a secret does not stand in this file"
            faults.append(Fault(f"{at}.secrets.{number}", "", cure))
    sourced = {number: text for number, text in numbered.items() if _source(text)}
    return Endpoint(
        name=told.name,
        url=told.url,
        subjects=_subjects(f"{at}.events", told.events, known, faults),
        secrets=tuple(secret for _, secret in secrets("secrets", sourced, signing.secret_of)),
        headers=dict(secrets("headers", _free(f"{at}.headers", told.headers, faults), _value)),
        tenant=told.tenant,
        ca=told.ca,
        timeout=told.timeout_s,
        give_up_after=told.give_up_after_s,
        at_once=told.at_once,
        allow=tuple(_networks(f"{at}.allow", told.allow, faults)),
    )


def _source(text: str) -> str:
    """What may be shown of a reference: `text` where it is one, else ""."""
    return text if text.startswith(("env:", "file:")) else ""


def referred(text: str, environ: Mapping[str, str]) -> str:
    """The value that a reference names, or the text itself. Raises ValueError, OSError."""
    kind, _, place = text.partition(":")
    if kind == "file":
        return Path(place).read_text().strip()
    if kind != "env":
        return text
    if not environ.get(place):
        raise ValueError(f"the environment has no {place}")
    return environ[place]


def _value(text: str) -> str:
    if not _VALUE.fullmatch(text):
        raise ValueError("a header's value is printable ASCII")
    return text


def _free(field: str, told: Mapping[str, str], faults: list[Fault]) -> dict[str, str]:
    """The headers whose names are an operator's to choose."""
    free = {}
    for name, text in told.items():
        low = name.lower()
        if _HEADER.fullmatch(name) and low not in _TAKEN and not low.startswith(("webhook-", "ce-")):
            free[name] = text
        else:
            faults.append(Fault(f"{field}.{name[:64]}", "", "must be a header that is not set already"))
    return free


def _subjects(field: str, told: list[str], known: Facts, faults: list[Fault]) -> tuple[str, ...]:
    try:
        return tuple(subjects(told, known))
    except KeyError as error:
        there = ", ".join(sorted(f"{service}.{fact}" for service, fact in known))
        faults.append(Fault(field, str(error.args[0]), f"must be *, runner.*, or one of {there}"))
        return ()


def _networks(field: str, told: list[str], faults: list[Fault]) -> Iterator[IPv4Network | IPv6Network]:
    for at, text in enumerate(told):
        try:
            network = ip_network(text)
        except ValueError:
            faults.append(Fault(f"{field}[{at}]", text, "must be a network such as 10.1.0.0/16"))
            continue
        if any(network.version == closed.version and network.overlaps(closed) for closed in _CLOSED):
            cure = "must hold no address of a cloud's metadata, nor link-local, multicast or translated ones"
            faults.append(Fault(f"{field}[{at}]", text, cure))
            continue
        yield network

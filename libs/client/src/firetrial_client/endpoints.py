"""Where the four services answer, and by which certificates they are trusted."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from firetrial_client.errors import Fault, FiretrialError, Reason, check, invalid
from firetrial_client.local.home import default_home

SERVICES = ("parser", "runner", "judge", "analyzer")
VARIABLE = "FIRETRIAL_ENDPOINT"
_FORM = "must be host:port, or one for each service: parser=host:port,runner=…,judge=…,analyzer=…"


def find(endpoint: str | None, environ: Mapping[str, str]) -> dict[str, str]:
    """The address of each service: as given, else from FIRETRIAL_ENDPOINT, else of `firetrial up` here.

    Raises INVALID for a malformed address, UNAVAILABLE where none is known.
    """
    if endpoint:
        return parse(endpoint, "endpoint")
    if environ.get(VARIABLE):
        return parse(environ[VARIABLE], VARIABLE)
    return _of_home(environ)


def parse(text: str, field: str) -> dict[str, str]:
    """`host:port` for all services, or `service=host:port` for each. Raises INVALID naming `field`."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) == 1 and "=" not in parts[0]:
        named = dict.fromkeys(SERVICES, parts[0])
    else:
        named = {name.strip(): address.strip() for name, _, address in (p.partition("=") for p in parts)}
    faults = [
        Fault(field, f"{address!r} for {name}: {_FORM}")
        for name, address in named.items()
        if name not in SERVICES or not is_address(address)
    ]
    faults += [Fault(field, f"has no address for {name}: {_FORM}") for name in SERVICES if name not in named]
    check("the address of the server", dict.fromkeys(faults))
    return named


def is_address(text: str) -> bool:
    """Whether `text` is `host:port`; an IPv6 host stands in brackets."""
    host, _, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    plain = host and not any(char in host for char in ":/= \t")
    return bool(bracketed or plain) and port.isascii() and port.isdigit() and 0 < int(port) < 65536


def _of_home(environ: Mapping[str, str]) -> dict[str, str]:
    path = default_home(environ).endpoints
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FiretrialError(
            Reason.UNAVAILABLE,
            f"no Firetrial is running here (there is no {path}): `firetrial up -d` starts one, "
            f"or set {VARIABLE} to host:port of another",
        ) from None
    except (OSError, ValueError) as error:
        raise FiretrialError(Reason.UNAVAILABLE, f"{path} cannot be read: {error}") from None
    if not isinstance(told, dict) or not all(isinstance(value, str) for value in told.values()):
        raise invalid(
            "the address of the server", [Fault(str(path), "must name an address for each service")]
        )
    return parse(",".join(f"{name}={told.get(name, '')}" for name in SERVICES), str(path))


TOKEN, TOKEN_FILE = "FIRETRIAL_TOKEN", "FIRETRIAL_TOKEN_FILE"
_MOST = 256


def find_token(environ: Mapping[str, str]) -> str:
    """The token by which the servers know the caller, of FIRETRIAL_TOKEN or the file FIRETRIAL_TOKEN_FILE.

    "" where neither is set. Raises INVALID for a file that cannot be read and for what cannot be a token.
    """
    name = TOKEN if environ.get(TOKEN) else TOKEN_FILE
    try:
        path = environ.get(TOKEN_FILE, "")
        token = environ.get(TOKEN) or (Path(path).read_text("utf-8").strip() if path else "")
    except (OSError, UnicodeDecodeError) as error:
        raise invalid("the token", [Fault(TOKEN_FILE, f"cannot be read: {error}")]) from None
    fits = token.isascii() and token.isprintable() and " " not in token and len(token) <= _MOST
    check("the token", [] if fits else [Fault(name, "must hold one token, as it was given out")])
    return token


def is_loopback(address: str) -> bool:
    """Whether `host:port` is on this machine."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files: the authority that signed the server's certificate, and the client's own certificate."""

    ca: Path | None
    cert: Path | None
    key: Path | None


def find_tls(environ: Mapping[str, str]) -> Tls | None:
    """TLS as FIRETRIAL_TLS_CA, FIRETRIAL_TLS_CERT and FIRETRIAL_TLS_KEY ask for it; None where none is set.

    Raises INVALID for a certificate without its key and for files that cannot be read.
    """
    names = ("FIRETRIAL_TLS_CA", "FIRETRIAL_TLS_CERT", "FIRETRIAL_TLS_KEY")
    paths = {name: Path(environ[name]) for name in names if environ.get(name)}
    if not paths:
        return None
    faults = [
        Fault(name, f"is {str(path)!r}: must be a PEM file")
        for name, path in paths.items()
        if not path.is_file()
    ]
    if (names[1] in paths) != (names[2] in paths):
        faults.append(Fault(names[1], f"goes with {names[2]}: set both or neither"))
    check("TLS", faults)
    return Tls(*(paths.get(name) for name in names))

"""`firetrial admin tokens`: make tokens, and look at the file that holds their hashes."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from firetrial_kit import tenants, tokens
from firetrial_kit.tokens import Principal
from firetrial_operate import printing

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


class _Span(click.ParamType[timedelta]):
    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        match = re.fullmatch(r"([1-9][0-9]{0,3})([hdw])", value)
        if match is None:
            self.fail(f"{value!r} must be hours, days or weeks, such as 12h, 90d or 52w", param, ctx)
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


SPAN = _Span()


@click.group("tokens")
def tokens_group() -> None:
    """Make tokens, and look at the file that holds their hashes (FIRETRIAL_TOKENS_FILE)."""


@tokens_group.command()
@click.option("--tenant", default=tenants.LOCAL, show_default=True, help="Whose resources it is for.")
@click.option(
    "--scope", "scopes", required=True, metavar="SCOPE,…", help="read, submit, operate; or service."
)
@click.option("--expires", type=SPAN, help="How long it is valid: 12h, 90d, 52w. Without: until taken out.")
@click.option("--name", help="What it is called in the audit. Without: the tenant and a number.")
@printing.as_json
def new(tenant: str, scopes: str, expires: timedelta | None, name: str | None, as_json: bool) -> None:
    """Make a token: it is shown once, here, and kept nowhere; the line goes into the tokens file."""
    token = tokens.new_token()
    hashed = tokens.hashed(token)
    entry = {
        "name": name or f"{tenant}-{hashed[:6]}",
        "tenant": tenant,
        "scopes": sorted({scope.strip() for scope in scopes.split(",")}),
        **({"expires": f"{datetime.now(UTC) + expires:%Y-%m-%dT%H:%M:%SZ}"} if expires else {}),
        "sha256": hashed,
    }
    # As the services will read it: what they would refuse is refused here.
    known: dict[str, Any] = {} if tenant == tenants.LOCAL else {tenant: {}}
    tokens.parse(json.dumps({"tenants": known, "tokens": [entry]}).encode(), "the token")
    if as_json:
        printing.show_json({"token": token, "entry": entry})
        return
    click.echo(f"The token, which is shown this once:\n\n  {token}\n")
    click.echo(f"Its line below `tokens:` in the tokens file, which holds no secret:\n\n  - {_line(entry)}\n")


@tokens_group.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@printing.as_json
def check(file: Path, as_json: bool) -> None:
    """Say who may do what by FILE. Exits with 2 for a file that services would refuse."""
    found, now = tokens.parse(file.read_bytes(), str(file)), datetime.now(UTC)
    known = [_told(each, now) for each in (*found.by_hash.values(), *found.by_subject.values())]
    if as_json:
        printing.show_json({"tenants": sorted(found.quotas), "holders": known})
        return
    rows = [
        (one["name"], one["means"], one["tenant"], ", ".join(one["scopes"]), one["state"]) for one in known
    ]
    printing.table(["NAME", "MEANS", "TENANT", "SCOPES", "STATE"], rows)


def _told(principal: Principal, now: datetime) -> dict[str, Any]:
    ends = principal.expires
    state = "valid" if ends is None else f"valid until {ends:%Y-%m-%d}" if ends > now else "expired"
    return {
        "name": principal.name,
        "means": str(principal.means),
        "tenant": principal.tenant,
        "scopes": sorted(map(str, principal.scopes)),
        "expires": ends.isoformat() if ends else None,
        "state": state,
    }


def _line(entry: dict[str, Any]) -> str:
    """The entry in YAML; what YAML could read otherwise is quoted."""
    plain = {name: json.dumps(value) for name, value in entry.items()}
    plain["scopes"] = f"[{', '.join(entry['scopes'])}]"
    return "{" + ", ".join(f"{name}: {value}" for name, value in plain.items()) + "}"

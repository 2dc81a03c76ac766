from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from firetrial_kit import tokens
from firetrial_kit.errors import FiretrialError
from firetrial_kit.tokens import Scope
from firetrial_operate.tokens_cli import tokens_group


def firetrial(*args: str) -> Result:
    return CliRunner().invoke(tokens_group, list(args))


def test_what_is_shown_is_what_the_services_read(tmp_path: Path) -> None:
    shown = firetrial("new", "--tenant", "acme", "--scope", "submit, read", "--expires", "90d").stdout
    token = next(line.strip() for line in shown.splitlines() if line.startswith("  ftk_"))
    line = next(line for line in shown.splitlines() if line.startswith("  - "))
    text = f"tenants: {{acme: {{}}}}\ntokens:\n{line}\n"
    principal = tokens.parse(text.encode()).by_token(token)
    assert principal is not None
    assert (principal.tenant, principal.scopes) == ("acme", frozenset({Scope.SUBMIT, Scope.READ}))
    assert principal.expires is not None
    assert token not in text
    (tmp_path / "tokens.yaml").write_text(text)
    checked = json.loads(firetrial("check", str(tmp_path / "tokens.yaml"), "--json").stdout)
    assert checked["tenants"] == ["acme"]
    assert checked["holders"][0]["state"].startswith("valid until ")


def test_json_for_programs() -> None:
    told = json.loads(firetrial("new", "--scope", "operate", "--name", "ops", "--json").stdout)
    assert tokens.hashed(told["token"]) == told["entry"]["sha256"]
    assert told["entry"]["tenant"] == "local"
    assert "expires" not in told["entry"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--tenant", "acme", "--scope", "operate"], "leave the tenant out"),
        (["--tenant", "Acme", "--scope", "read"], "tenants"),
        (["--scope", "all"], "scopes"),
        (["--scope", "service,read"], "for services alone"),
        (["--scope", "read", "--name", "a b"], "name"),
    ],
)
def test_what_the_services_would_refuse_is_refused(args: list[str], told: str) -> None:
    found = firetrial("new", *args)
    assert isinstance(found.exception, FiretrialError)
    assert told in found.exception.message
    assert "ftk_" not in found.output


@pytest.mark.parametrize("span", ["90", "0d", "-1d", "90m", "99999d", ""])
def test_a_span_has_a_unit(span: str) -> None:
    found = firetrial("new", "--scope", "read", "--expires", span)
    assert found.exit_code == 2
    assert "such as 12h, 90d or 52w" in found.output

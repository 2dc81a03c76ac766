from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit import tokens
from firetrial_kit.errors import FiretrialError
from firetrial_kit.tokens import Means, Principal, Quotas, Scope

TOKEN = tokens.new_token()
ENTRY = {"name": "acme-ci", "tenant": "acme", "scopes": ["submit", "read"], "sha256": tokens.hashed(TOKEN)}


def file(**changed: Any) -> bytes:
    told = {"tenants": {"acme": {"quotas": {"runs_at_once": 2}}}, "tokens": [ENTRY], **changed}
    return json.dumps(told).encode()


def test_a_token_is_256_bits_and_known_by_its_hash() -> None:
    assert len({tokens.new_token() for _ in range(100)}) == 100
    assert len(TOKEN) == len(tokens.PREFIX) + 43
    found = tokens.parse(file()).by_token(TOKEN)
    assert found == Principal("acme-ci", "acme", frozenset({Scope.READ, Scope.SUBMIT}), Means.TOKEN)
    assert TOKEN not in repr(tokens.parse(file()))


@given(st.text(max_size=300))
def test_no_other_text_is_a_token(text: str) -> None:
    assert tokens.parse(file()).by_token(text) is None


def test_yaml_as_people_write_it() -> None:
    text = f"""
tenants:
  acme:
    quotas: {{runs_at_once: 20, runs_per_day: 500, gpus_at_once: 4, usd_per_month: 300}}
tokens:
  - {{name: ops, scopes: [operate], expires: 2027-01-01T00:00:00Z, sha256: {"0f" * 32}}}
certificates:
  - {{name: lab, subject: lab.acme.example, tenant: acme, scopes: [read]}}
"""
    found = tokens.parse(text.encode())
    assert found.quotas == {"acme": Quotas(20, 500, 4, 300)}
    ops, lab = found.by_hash["0f" * 32], found.by_certificate(["x", "lab.acme.example"])
    assert ops.expires == datetime(2027, 1, 1, tzinfo=UTC)
    assert ops.acts_for is None
    assert lab is not None
    assert (lab.acts_for, lab.means) == ("acme", Means.CERTIFICATE)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"tokens": [{**ENTRY, "tenant": "umbra"}]}, "must be one of the tenants"),
        ({"tokens": [{**ENTRY, "scopes": ["operate"]}]}, "leave the tenant out"),
        ({"tokens": [{**ENTRY, "tenant": "local", "scopes": ["service", "read"]}]}, "for services alone"),
        ({"tokens": [ENTRY, {**ENTRY, "name": "other"}]}, "must be there once"),
        ({"tokens": [ENTRY, {**ENTRY, "sha256": "0" * 64}]}, "must be there once"),
        ({"tokens": [{**ENTRY, "scopes": []}]}, "at least 1"),
        ({"tokens": [{**ENTRY, "scopes": ["all"]}]}, "read"),
        ({"tokens": [{**ENTRY, "sha256": "abc"}]}, "tokens.0.sha256"),
        ({"tokens": [{**ENTRY, "expires": "2027-01-01T00:00:00"}]}, "timezone"),
        ({"tenants": {"Acme": {}}}, "tenants.Acme"),
        ({"tenants": {"a--b": {}}}, "tenants.a--b"),
        ({"tenants": {"acme": {"quotas": {"runs_at_once": -1}}}}, "runs_at_once"),
        ({"tenants": {"acme": {"quotas": {"usd_per_month": float("nan")}}}}, "usd_per_month"),
        ({"users": []}, "users"),
    ],
)
def test_a_bad_file_is_told_with_its_field(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(FiretrialError) as caught:
        tokens.parse(file(**changed))
    assert told in caught.value.message


@pytest.mark.parametrize(
    "form", ["TOKEN", "tokens: [{sha256: TOKEN}]", "TOKEN: 1", "tokens: [{TOKEN: 1}]", "a: [TOKEN"]
)
def test_a_token_that_was_pasted_into_the_file_is_not_repeated(form: str) -> None:
    text = form.replace("TOKEN", TOKEN)
    with pytest.raises(FiretrialError) as caught:
        tokens.parse(text.encode())
    assert TOKEN[8:20] not in caught.value.message


@given(st.binary(max_size=200))
def test_no_bytes_break_it(data: bytes) -> None:
    with suppress(FiretrialError):
        assert not tokens.parse(data).by_hash

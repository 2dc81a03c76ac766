"""Tokens: where they come from, and what they never travel over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from firetrial.access.v1 import access_pb2
from firetrial.access.v1 import identity_service_pb2 as pb
from firetrial.access.v1.identity_service_pb2_grpc import (
    IdentityServiceServicer,
    add_IdentityServiceServicer_to_server,
)
from firetrial_client import AsyncFiretrial, FiretrialError
from firetrial_client.cli.main import cli
from firetrial_client.endpoints import find_token

TOKEN = "ftk_" + "a" * 43


class Identity(IdentityServiceServicer):
    """Knows whoever shows a token, and keeps what was shown."""

    def __init__(self) -> None:
        self.shown: list[Any] = []

    def WhoAmI(self, request: pb.WhoAmIRequest, context: Any) -> pb.WhoAmIResponse:  # noqa: N802 - the contract's
        self.shown.append(dict(context.invocation_metadata()).get("authorization"))
        if self.shown[-1] is None:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "who calls?")
        scopes = [access_pb2.SCOPE_READ, access_pb2.SCOPE_SUBMIT]
        quotas = pb.Quotas(runs_at_once=3, usd_per_month=12.5)
        told = pb.WhoAmIResponse(name="ci", tenant="acme", scopes=scopes, means=pb.MEANS_TOKEN, quotas=quotas)
        told.expires_at.FromJsonString("2030-01-02T03:04:05Z")
        return told


@pytest.fixture
def identity() -> Identity:
    return Identity()


@pytest.fixture
def endpoint(identity: Identity) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(2))
    add_IdentityServiceServicer_to_server(identity, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


async def test_each_call_shows_it(identity: Identity, endpoint: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    for environ in ({"FIRETRIAL_TOKEN": TOKEN}, {"FIRETRIAL_TOKEN_FILE": str(tmp_path / "token")}):
        async with AsyncFiretrial(endpoint, environ=environ) as client:
            assert (await client.whoami()).tenant == "acme"
    assert identity.shown == [f"Bearer {TOKEN}"] * 2


async def test_without_one_nothing_is_shown(identity: Identity, endpoint: str) -> None:
    async with AsyncFiretrial(endpoint, environ={}) as client:
        with pytest.raises(FiretrialError) as caught:
            await client.whoami()
    assert caught.value.reason == "UNAUTHENTICATED"
    assert identity.shown == [None]


async def test_it_never_travels_in_the_clear() -> None:
    async with AsyncFiretrial("firetrial.example:443", environ={"FIRETRIAL_TOKEN": TOKEN}) as client:
        with pytest.raises(FiretrialError, match="in the clear") as caught:
            await client.whoami()
        with pytest.raises(FiretrialError, match="in the clear"):
            await client.submit_paper(b"# A", filename="a.md")
    assert caught.value.reason == "INVALID"
    assert TOKEN not in str(caught.value.to_json())


@pytest.mark.parametrize("text", [f"Bearer {TOKEN}", f"{TOKEN}\n{TOKEN}", "x" * 257, "schlüssel", "a\x00b"])
def test_what_can_be_no_token_is_not_sent_and_not_repeated(text: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(FiretrialError) as caught:
        find_token({"FIRETRIAL_TOKEN_FILE": str(tmp_path / "token")})
    assert caught.value.faults[0].field == "FIRETRIAL_TOKEN_FILE"
    assert text not in str(caught.value.to_json())


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError, match="FIRETRIAL_TOKEN_FILE"):
        find_token({"FIRETRIAL_TOKEN_FILE": str(tmp_path / "none")})


@given(st.text())
def test_no_text_breaks_a_call(text: str) -> None:
    try:
        token = find_token({"FIRETRIAL_TOKEN": text})
    except FiretrialError as error:
        assert error.reason == "INVALID"  # noqa: PT017 - or none at all
    else:
        assert token.isascii()
        assert "\n" not in token


def test_whoami(endpoint: str) -> None:
    environ = {"FIRETRIAL_TOKEN": TOKEN}
    shown = CliRunner().invoke(cli, ["--endpoint", endpoint, "whoami", "--json"], env=environ)
    assert json.loads(shown.stdout) == {
        "name": "ci",
        "tenant": "acme",
        "means": "token",
        "expires_at": "2030-01-02T03:04:05Z",
        "scopes": ["read", "submit"],
        "quotas": {"runs_at_once": 3, "usd_per_month": 12.5},
    }
    shown = CliRunner().invoke(cli, ["--endpoint", endpoint, "whoami"], env=environ)
    assert "may           read, submit" in shown.stdout
    assert "USD a month   at most 12.5" in shown.stdout


def test_whoami_of_a_stranger(endpoint: str) -> None:
    shown = CliRunner().invoke(cli, ["--endpoint", endpoint, "whoami"], env={"FIRETRIAL_TOKEN": ""})
    assert shown.exit_code == 6

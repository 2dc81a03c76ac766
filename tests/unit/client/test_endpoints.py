"""Where the services are: as given, else by environment, else of the Firetrial on this machine."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_client import FiretrialError
from firetrial_client.endpoints import SERVICES, VARIABLE, find, find_tls, is_address, parse

SPLIT = "parser=a:1,runner=b:2,judge=c:3,analyzer=d:4"


def test_one_address_serves_all() -> None:
    assert find("h:50", {VARIABLE: "other:1"}) == dict.fromkeys(SERVICES, "h:50")


def test_an_address_for_each() -> None:
    expected = {"parser": "a:1", "runner": "b:2", "judge": "c:3", "analyzer": "d:4"}
    assert find(None, {VARIABLE: SPLIT}) == expected


def test_what_up_wrote(tmp_path: Path) -> None:
    told = {name: f"127.0.0.1:{port}" for port, name in enumerate(SERVICES, 7000)}
    (tmp_path / "endpoints.json").write_text(json.dumps(told))
    assert find(None, {"FIRETRIAL_HOME": str(tmp_path)}) == told
    state = tmp_path / "state"
    (state / "firetrial").mkdir(parents=True)
    (state / "firetrial" / "endpoints.json").write_text(json.dumps(told))
    assert find(None, {"XDG_STATE_HOME": str(state)}) == told


def test_nothing_runs_here(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError, match="firetrial up") as caught:
        find(None, {"FIRETRIAL_HOME": str(tmp_path)})
    assert caught.value.reason == "UNAVAILABLE"


@pytest.mark.parametrize("text", ["", "[]", '{"parser": 7}', '{"parser": "a:1"}'])
def test_a_broken_file_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "endpoints.json").write_text(text)
    with pytest.raises(FiretrialError, match=r"endpoints\.json"):
        find(None, {"FIRETRIAL_HOME": str(tmp_path)})


def test_every_fault_of_an_address_is_told() -> None:
    with pytest.raises(FiretrialError) as caught:
        parse("parser=nowhere,ruler=a:1,judge=c:3", "endpoint")
    told = caught.value.message
    assert caught.value.reason == "INVALID"
    for part in ("'nowhere' for parser", "for ruler", "no address for runner", "no address for analyzer"):
        assert part in told
    assert "judge;" not in told


@pytest.mark.parametrize("text", ["h:1", "127.0.0.1:65535", "[::1]:50051", "a-b.c:80"])
def test_addresses(text: str) -> None:
    assert is_address(text)


@pytest.mark.parametrize(
    "text", ["", "h", ":1", "h:0", "h:65536", "h:1 ", "::1:5", "http://h:1", "h:٣", "h:-1"]
)
def test_no_addresses(text: str) -> None:
    assert not is_address(text)


@given(st.text(max_size=40))
def test_whatever_is_typed_is_an_address_or_a_fault(text: str) -> None:
    try:
        found = parse(text, "endpoint")
    except FiretrialError:
        return
    assert set(found) == set(SERVICES)
    assert all(map(is_address, found.values()))


def test_tls(tmp_path: Path) -> None:
    pem = tmp_path / "ca.pem"
    pem.write_text("x")
    assert find_tls({}) is None
    tls = find_tls({"FIRETRIAL_TLS_CA": str(pem)})
    assert tls is not None
    assert (tls.ca, tls.cert, tls.key) == (pem, None, None)


def test_every_fault_of_tls_is_told(tmp_path: Path) -> None:
    with pytest.raises(FiretrialError) as caught:
        find_tls({"FIRETRIAL_TLS_CA": str(tmp_path / "no"), "FIRETRIAL_TLS_CERT": str(tmp_path / "none")})
    fields = [fault.field for fault in caught.value.faults]
    assert fields == ["FIRETRIAL_TLS_CA", "FIRETRIAL_TLS_CERT", "FIRETRIAL_TLS_CERT"]

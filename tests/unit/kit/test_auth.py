from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

# What is served is in memory where its contract is asked.
from firetrial.analyzer.v1 import analyzer_service_pb2  # noqa: F401
from firetrial.judge.v1 import judge_service_pb2  # noqa: F401
from firetrial.runner.v1 import runner_service_pb2  # noqa: F401
from firetrial_kit import auth, tokens
from firetrial_kit.auth import Gate, Register
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.settings import SettingsError
from firetrial_kit.testing import ManualClock
from firetrial_kit.tokens import Means, Principal

READ, SUBMIT, OPERATE, SERVICE = (tokens.new_token() for _ in range(4))
RUNNER, JUDGE = "/firetrial.runner.v1.RunnerService/", "/firetrial.judge.v1.JudgeService/"
LOG = structlog.get_logger()


def entry(name: str, token: str, scopes: Sequence[str], tenant: str = "acme", **more: Any) -> dict[str, Any]:
    return {"name": name, "scopes": scopes, "tenant": tenant, "sha256": tokens.hashed(token), **more}


ENTRIES = [
    entry("reader", READ, ["read"]),
    entry("ci", SUBMIT, ["submit"]),
    entry("ops", OPERATE, ["operate"], "local"),
    entry("judge", SERVICE, ["service"], "local"),
]
CERTIFICATES = [{"name": "lab", "subject": "lab.acme.example", "tenant": "acme", "scopes": ["read"]}]


def write(
    path: Path, entries: Sequence[Mapping[str, Any]], certificates: Sequence[Mapping[str, Any]] = ()
) -> None:
    told = {"tenants": {"acme": {}}, "tokens": list(entries), "certificates": list(certificates)}
    aside = path.with_suffix(".new")
    aside.write_text(json.dumps(told))
    aside.replace(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path / "tokens.json", ENTRIES, CERTIFICATES)
    return tmp_path / "tokens.json"


@pytest.fixture
def gate(path: Path) -> Gate:
    return Gate(Register(path, LOG), ManualClock())


def bearer(token: str) -> list[tuple[str, str | bytes]]:
    return [("user-agent", "x"), ("authorization", f"Bearer {token}")]


def admit(
    gate: Gate,
    method: str,
    metadata: Sequence[tuple[str, str | bytes]],
    peer: Mapping[str, Iterable[bytes]],
) -> Principal:
    principal = gate.known(metadata, peer)
    gate.check(method, principal)
    return principal


def admitted(gate: Gate, method: str, token: str) -> Principal:
    return admit(gate, method, bearer(token), {})


def reason(
    gate: Gate, method: str, metadata: Sequence[tuple[str, str | bytes]], **peer: list[bytes]
) -> Reason:
    with pytest.raises(FiretrialError) as caught:
        admit(gate, method, metadata, peer)
    return caught.value.reason


@pytest.mark.parametrize(
    ("token", "may", "may_not"),
    [
        (READ, ["GetRun", "WatchRuns", "StreamTrajectory"], ["SubmitAgent", "CancelRun", "ImportRun"]),
        (SUBMIT, ["SubmitAgent", "CancelRun", "ImportRun"], ["GetRun", "ListRuns", "WatchRuns"]),
        (OPERATE, ["GetRun", "SubmitAgent", "ListRuns"], []),
        (SERVICE, [], ["GetRun", "SubmitAgent", "ListRuns"]),
    ],
    ids=["read", "submit", "operate", "service"],
)
def test_scopes_let_through_what_they_name(
    gate: Gate, token: str, may: list[str], may_not: list[str]
) -> None:
    for name in may:
        admitted(gate, RUNNER + name, token)
    for name in may_not:
        assert reason(gate, RUNNER + name, bearer(token)) is Reason.DENIED


def test_what_services_ask_each_other_is_not_for_people(gate: Gate) -> None:
    inside = "/firetrial.analyzer.v1.AnalyzerService/CheckIntegrity"
    admitted(gate, inside, SERVICE)
    for token in (READ, SUBMIT, OPERATE):
        assert reason(gate, inside, bearer(token)) is Reason.DENIED
    assert admitted(gate, JUDGE + "CheckEntailment", SERVICE).name == "judge"


def test_a_refusal_says_what_would_be_right(gate: Gate) -> None:
    with pytest.raises(FiretrialError) as caught:
        admitted(gate, RUNNER + "SubmitAgent", READ)
    fault = caught.value.faults[0]
    assert (fault.field, fault.value, fault.cure) == ("scopes", "read", "must have submit for SubmitAgent")


def test_reflection_needs_read(gate: Gate) -> None:
    method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    admitted(gate, method, READ)
    assert reason(gate, method, bearer(SUBMIT)) is Reason.DENIED
    assert reason(gate, method, []) is Reason.UNAUTHENTICATED


def test_a_method_without_a_rule_is_nobodys(gate: Gate) -> None:
    for token in (OPERATE, SERVICE):
        assert reason(gate, "/firetrial.runner.v1.RunnerService/Unknown", bearer(token)) is Reason.DENIED


HOSTILE: list[list[tuple[str, str | bytes]]] = [
    [],
    [("authorization", "")],
    [("authorization", "Bearer")],
    [("authorization", "Bearer ")],
    [("authorization", f"Basic {READ}")],
    [("authorization", READ)],
    [("authorization", f"Bearer  {READ}")],
    [("authorization", f"Bearer {READ} ")],
    [("authorization", f"Bearer {READ}\n")],
    [("authorization", f"Bearer {READ[:-1]}")],
    [("authorization", f"Bearer {tokens.hashed(READ)}")],
    [("authorization", "Bearer " + "a" * 8_000_000)],
    [("authorization", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJvcHMifQ.")],
    [("authorization", f"Bearer {READ}".encode())],
    [("authorization", b"Bearer \xff\xfe")],
    [("authorization", "Bearer \u00e9\u0000")],
    [("authorization", f"Bearer {READ}"), ("authorization", f"Bearer {READ}")],
    [("authorization", f"Bearer {READ}")] * 500,
    [("Authorization-bin", READ.encode())],
    [("firetrial-tenant", "acme")],
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_stranger_is_told_the_same_whatever_was_tried(gate: Gate, number: int) -> None:
    with pytest.raises(FiretrialError) as caught:
        admit(gate, RUNNER + "GetRun", HOSTILE[number], {})
    with pytest.raises(FiretrialError) as plain:
        admit(gate, RUNNER + "Unknown", [], {})
    assert caught.value.reason is Reason.UNAUTHENTICATED
    assert caught.value.message == plain.value.message
    assert "FIRETRIAL_TOKEN" in caught.value.message


@given(st.lists(st.text(max_size=100) | st.binary(max_size=100), max_size=3))
def test_nothing_else_gets_in(values: list[str | bytes]) -> None:
    known = tokens.Identities({}, {tokens.hashed(READ): tokens.ANYBODY}, {})
    gate = Gate(_Fixed(known), ManualClock())  # type: ignore[arg-type]  # what is asked of a register
    assert reason(gate, RUNNER + "GetRun", [("authorization", v) for v in values]) is Reason.UNAUTHENTICATED


class _Fixed:
    def __init__(self, identities: tokens.Identities) -> None:
        self.identities = identities


def test_certificates_are_known_by_their_names(gate: Gate) -> None:
    for field in ("x509_common_name", "x509_subject_alternative_name"):
        found = admit(gate, RUNNER + "GetRun", [], {field: [b"other", b"lab.acme.example"]})
        assert (found.name, found.means, found.acts_for) == ("lab", Means.CERTIFICATE, "acme")
    assert (
        reason(gate, RUNNER + "GetRun", [], x509_common_name=[b"lab.umbra.example"]) is Reason.UNAUTHENTICATED
    )
    assert reason(gate, RUNNER + "GetRun", [], x509_common_name=[b"\xff"]) is Reason.UNAUTHENTICATED


def test_a_token_is_not_made_good_by_a_certificate(gate: Gate) -> None:
    peer = {"x509_common_name": [b"lab.acme.example"]}
    with pytest.raises(FiretrialError):
        admit(gate, RUNNER + "GetRun", bearer("wrong"), peer)
    assert admit(gate, RUNNER + "SubmitAgent", bearer(SUBMIT), peer).name == "ci"


def test_only_a_service_says_for_whom_it_asks(gate: Gate) -> None:
    said = [("firetrial-tenant", "umbra")]
    assert auth.tenant_of(admitted(gate, JUDGE + "CheckEntailment", SERVICE), said) == "umbra"
    assert auth.tenant_of(admitted(gate, RUNNER + "GetRun", READ), said) == "acme"
    assert auth.tenant_of(admitted(gate, RUNNER + "GetRun", OPERATE), said) is None
    assert auth.tenant_of(tokens.ANYBODY, said) is None


def test_a_token_ends_when_it_expires(path: Path) -> None:
    clock = ManualClock()
    ends = clock.now() + timedelta(seconds=10)
    write(path, [entry("short", READ, ["read"], expires=ends.isoformat())])
    gate = Gate(Register(path, LOG), clock)
    principal = admitted(gate, RUNNER + "GetRun", READ)
    assert gate.holds(principal)
    clock.advance(10)
    assert reason(gate, RUNNER + "GetRun", bearer(READ)) is Reason.UNAUTHENTICATED
    assert not gate.holds(principal)


def test_a_changed_file_is_read_without_a_restart(path: Path, gate: Gate) -> None:
    principal = admitted(gate, RUNNER + "GetRun", READ)
    new = tokens.new_token()
    write(path, [entry("new", new, ["read"])])
    assert admitted(gate, RUNNER + "GetRun", new).name == "new"
    assert reason(gate, RUNNER + "GetRun", bearer(READ)) is Reason.UNAUTHENTICATED
    assert not gate.holds(principal)


@pytest.mark.parametrize("how", ["broken", "gone"])
def test_a_broken_file_keeps_the_last_good_one_and_is_told(path: Path, how: str) -> None:
    with structlog.testing.capture_logs() as told:
        gate = Gate(Register(path, structlog.get_logger()), ManualClock())
        path.unlink() if how == "gone" else path.write_text("tokens: [")
        admitted(gate, RUNNER + "GetRun", READ)
        admitted(gate, RUNNER + "GetRun", READ)
        assert [line["log_level"] for line in told] == ["error"]
        write(path, ENTRIES)
        os.utime(path, (1, 1))
        admitted(gate, RUNNER + "GetRun", READ)
    assert told[-1]["event"] == "tokens file read"


@pytest.mark.parametrize("text", [None, "tokens: ["])
def test_a_file_that_is_broken_from_the_start_ends_the_service(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "tokens.yaml"
    if text:
        path.write_text(text)
    with pytest.raises(SettingsError, match="FIRETRIAL_TOKENS_FILE"):
        auth.open_gate(path, ManualClock(), LOG)


def test_without_a_file_everybody_may_do_everything() -> None:
    gate = auth.open_gate(None, ManualClock(), LOG)
    for metadata in HOSTILE:
        assert admit(gate, RUNNER + "SubmitAgent", metadata, {}) == tokens.ANYBODY
    assert tokens.ANYBODY.acts_for is None

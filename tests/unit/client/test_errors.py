"""Reasons are those of the services, and exit codes are those that `firetrial --help` documents."""

import pytest

from firetrial_client import Fault, FiretrialError, Reason
from firetrial_client.cli.main import cli
from firetrial_client.errors import FAILED, check, exit_code, reason_of
from firetrial_kit.errors import Reason as KitReason


def test_reasons_are_those_of_the_services() -> None:
    assert {str(reason) for reason in Reason} == {str(reason) for reason in KitReason}


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (Reason.INVALID, 2),
        (Reason.TOO_LARGE, 2),
        (Reason.NOT_YET, 3),
        (Reason.NOT_FOUND, 4),
        (Reason.UNAVAILABLE, 5),
        (Reason.DENIED, 6),
        (Reason.UNAUTHENTICATED, 6),
        (FAILED, 7),
        (Reason.INTERNAL, 1),
        (Reason.DEADLINE, 1),
        ("A_WORD_OF_TOMORROW", 1),
    ],
)
def test_exit_codes(reason: str, code: int) -> None:
    assert exit_code(reason) == code


def test_help_documents_every_exit_code() -> None:
    codes = {exit_code(reason) for reason in (*Reason, FAILED)} | {0, 130}
    for code in codes:
        assert f"  {code:<3}  " in (cli.epilog or "")


def test_an_exit_code_stands_for_its_plainest_reason() -> None:
    assert [reason_of(code) for code in (1, 2, 4, 6, 7)] == [
        "INTERNAL", "INVALID", "NOT_FOUND", "DENIED", "FAILED",
    ]  # fmt: skip


def test_check_tells_all_faults_at_once() -> None:
    check("the plan", [])
    with pytest.raises(FiretrialError) as caught:
        check("the plan", [Fault("agents", "is empty"), Fault("repeats", "is 0")])
    assert caught.value.to_json() == {
        "reason": "INVALID",
        "message": "the plan is not valid: agents is empty; repeats is 0",
        "faults": [
            {"field": "agents", "description": "is empty"},
            {"field": "repeats", "description": "is 0"},
        ],
    }

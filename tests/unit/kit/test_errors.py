from __future__ import annotations

import grpc
import pytest
from google.rpc import error_details_pb2

from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_kit.rpc import status_of


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_a_grpc_code_and_a_retry_decision(reason: Reason) -> None:
    error = FiretrialError(reason, "x")
    assert hasattr(grpc.StatusCode, error.code)
    assert isinstance(error.retryable, bool)


def test_all_faults_are_told_at_once_with_field_value_and_cure() -> None:
    faults = [Fault("plan.repeats", "0", "must be 1 to 100"), Fault("plan.agents", "", "name one at least")]
    with pytest.raises(FiretrialError) as caught:
        check("the plan", faults)
    for part in ("plan.repeats is '0': must be 1 to 100", "plan.agents is '': name one at least"):
        assert part in caught.value.message


def test_nothing_wrong_raises_nothing() -> None:
    check("the plan", [])


def test_a_status_carries_reason_fields_and_retry_hint() -> None:
    error = FiretrialError(
        Reason.EXHAUSTED, "slow down", faults=[Fault("n", "9", "at most 8")], retry_after=1.5
    )
    status = status_of(error)
    info, bad, retry = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.RetryInfo(),
    )
    for detail, packed in zip((info, bad, retry), status.details, strict=True):
        assert packed.Unpack(detail)
    assert (info.reason, info.domain) == ("EXHAUSTED", "firetrial")
    assert bad.field_violations[0].field == "n"
    assert retry.retry_delay.ToMilliseconds() == 1500
    assert status.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]


def test_a_long_value_is_cut() -> None:
    assert len(str(Fault("f", "x" * 10_000, "shorter"))) < 120

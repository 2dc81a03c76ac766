from __future__ import annotations

import pytest

from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import runner_service_pb2 as pb
from firetrial_kit import bounds
from firetrial_kit.bounds import MOST_ENTRIES, Streams
from firetrial_kit.errors import FiretrialError, Reason


def request(tasks: int = 0, proposals: int = 0, models: int = 0) -> pb.SubmitExperimentRequest:
    gate = plan_pb2.Gate(proposals=[plan_pb2.GateProposal()] * proposals)
    found = pb.SubmitExperimentRequest(task_ids=["t"] * tasks, plan=plan_pb2.Plan(gate=gate))
    found.plan.limits.model_calls.update({f"m-{number}": 1 for number in range(models)})
    return found


def test_all_lists_count_together_however_deep() -> None:
    third = MOST_ENTRIES // 3
    rest = MOST_ENTRIES - 2 * third
    bounds.check(request(third, third, rest))
    with pytest.raises(FiretrialError, match="at most 20,000 entries") as caught:
        bounds.check(request(third, third, rest + 1))
    assert caught.value.reason is Reason.INVALID


def test_the_list_that_is_too_long_is_named() -> None:
    with pytest.raises(FiretrialError) as caught:
        bounds.check(request(proposals=MOST_ENTRIES + 1))
    assert [fault.field for fault in caught.value.faults] == ["firetrial.plan.v1.Gate.proposals"]


def test_a_stream_that_ends_leaves_its_place_to_another() -> None:
    streams = Streams(most=2)
    with streams.one_of("acme"):
        with streams.one_of("acme"):
            with streams.one_of("umbra"):
                pass
            with pytest.raises(FiretrialError) as caught, streams.one_of("acme"):
                pass
            assert caught.value.reason is Reason.EXHAUSTED
        with pytest.raises(ZeroDivisionError), streams.one_of("acme"):
            raise ZeroDivisionError
        with streams.one_of("acme"):
            pass

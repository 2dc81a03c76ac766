from __future__ import annotations

import pytest

from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2, runner_service_pb2
from firetrial_kit import owned, tenants
from firetrial_kit.errors import FiretrialError

PLAN = plan_pb2.Plan(
    agents=["a@1", "t-umbra--b@2"],
    model="gpt-x",
    pool="gpu",
    probe="",
    gate=plan_pb2.Gate(proposals=[plan_pb2.GateProposal(agent_id="a@1", proposal_id="q-1")]),
)


def test_each_id_in_a_request_becomes_the_callers() -> None:
    request = runner_service_pb2.SubmitExperimentRequest(
        request_id="nightly", task_ids=["t-acme--x-1", "y-2"], plan=PLAN
    )
    with tenants.acting("acme"):
        found = owned.take(request)
    assert list(request.task_ids) == ["t-acme--x-1", "t-acme--y-2"]
    assert list(request.plan.agents) == ["t-acme--a@1", "t-acme--t-umbra--b@2"]
    assert request.plan.gate.proposals[0].agent_id == "t-acme--a@1"
    assert request.plan.gate.proposals[0].task_id == request.plan.probe == ""
    assert (request.request_id, request.plan.model, request.plan.pool) == ("nightly", "gpt-x", "gpu")
    assert {tenants.of(id_) for id_ in found} == {"acme"}
    assert not request.plan.HasField("judge")


def test_one_who_sees_all_is_taken_at_the_word() -> None:
    request = runner_service_pb2.SubmitExperimentRequest(task_ids=["x-1"], plan=PLAN)
    before = request.SerializeToString(deterministic=True)
    owned.take(request)
    assert request.SerializeToString(deterministic=True) == before


def test_an_answer_tells_what_was_made() -> None:
    run = run_pb2.Run(id="r-1", experiment_id="e-1")
    assert owned.ids(runner_service_pb2.CancelRunResponse(run=run)) == ["r-1"]
    assert owned.ids(runner_service_pb2.GetRunFileResponse(chunk=b"x")) == []


def test_what_is_too_long_for_an_id_is_none() -> None:
    with tenants.acting("acme"), pytest.raises(FiretrialError) as caught:
        owned.take(runner_service_pb2.SubmitExperimentRequest(task_ids=["t" * 513, "t" * 512, "é" * 600]))
    assert [fault.field for fault in caught.value.faults] == ["task_ids", "task_ids"]

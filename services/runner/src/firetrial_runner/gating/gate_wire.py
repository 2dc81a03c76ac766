"""The gate of a plan and the facts about proposals: protobuf → domain."""

from __future__ import annotations

from firetrial.parser.v1 import events_pb2, proposal_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_runner.gating.gate import Gate, Opinion

_MODES = {
    plan_pb2.Gate.MODE_UNSPECIFIED: "standard",
    plan_pb2.Gate.MODE_STANDARD: "standard",
    plan_pb2.Gate.MODE_AGGRESSIVE: "aggressive",
}


def gate_to_domain(plan: plan_pb2.Plan) -> Gate | None:
    """The gate of a plan; None where it has none. A mode that is not known is the stricter one."""
    if not plan.HasField("gate"):
        return None
    return Gate(
        mode=_MODES.get(plan.gate.mode, "aggressive"),
        min_confidence=plan.gate.min_confidence or 1,
        proposals={(one.agent_id, one.task_id): one.proposal_id for one in plan.gate.proposals},
        exempt=plan.probe,
    )


def gate_of(slip: str) -> Gate | None:
    """The gate of a slip's plan."""
    return gate_to_domain(plan_pb2.Slip.FromString(bytes.fromhex(slip)).plan)


def opinions_to_domain(event: events_pb2.ProposalAssessed) -> dict[str, Opinion]:
    """By mode; what is not called high is low."""
    return {
        _MODES.get(one.mode, ""): Opinion(
            one.bucket == proposal_pb2.Assessment.BUCKET_HIGH, one.confidence, one.rationale
        )
        for one in event.assessments
    }

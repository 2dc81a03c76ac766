"""The gate of a plan, as it comes over the wire."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from firetrial.plan.v1 import plan_pb2
from firetrial_kit.errors import Fault

MAX_GATE = 20_000  # entries


def gate_faults(plan: plan_pb2.Plan) -> Iterator[Fault]:
    """What is wrong with the shape of a plan's gate. Whether its proposals exist is the runner's to say."""
    if not plan.HasField("gate"):
        return
    gate = plan.gate
    if gate.mode not in plan_pb2.Gate.Mode.values():
        yield Fault("plan.gate.mode", str(gate.mode), "must be standard or aggressive")
    if not 0 <= gate.min_confidence <= 5:
        yield Fault("plan.gate.min_confidence", str(gate.min_confidence), "must be 1 to 5, or 0 for 1")
    if len(gate.proposals) > MAX_GATE:
        yield Fault("plan.gate.proposals", f"{len(gate.proposals)} entries", f"at most {MAX_GATE}")
    for i, one in enumerate(gate.proposals[:MAX_GATE]):
        if one.agent_id not in plan.agents:
            yield Fault(f"plan.gate.proposals[{i}].agent_id", one.agent_id, "must be one of plan.agents")
    counted = Counter((one.agent_id, one.task_id) for one in gate.proposals[:MAX_GATE])
    for (agent, task), times in counted.items():
        if times > 1:
            yield Fault("plan.gate.proposals", f"{agent} on {task or 'every task'}", "must be there once")

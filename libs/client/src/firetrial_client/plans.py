"""Plans in plain values."""

from __future__ import annotations

from collections.abc import Sequence

from firetrial.plan.v1.plan_pb2 import JudgeConfig, Limits, Plan
from firetrial_client.errors import Fault, check

_BACKENDS = {
    "": JudgeConfig.BACKEND_UNSPECIFIED,
    "offline": JudgeConfig.BACKEND_OFFLINE,
    "model": JudgeConfig.BACKEND_MODEL,
}


def make_plan(
    agents: Sequence[str],
    *,
    repeats: int = 1,
    pool: str = "",
    wall_time: float = 0.0,
    memory: int = 0,
    judge: str = "",
    judge_model: str = "",
    max_tasks: int = 0,
) -> Plan:
    """A plan for `agents` (ids); zero and empty leave a value to the services.

    `wall_time` is in seconds of the agent's process, `memory` in bytes, `judge` is "offline", "model" or "".
    Raises INVALID for a judge that does not exist or contradicts its model.
    """
    faults = []
    if judge not in _BACKENDS:
        faults.append(Fault("judge", f"is {judge!r}: must be offline or model"))
    if judge == "offline" and judge_model:
        faults.append(Fault("judge_model", f"is {judge_model!r}: the offline judge takes no model"))
    check("the plan", faults)
    backend = _BACKENDS["model" if judge_model else judge]
    limits = Limits(memory_bytes=memory)
    if wall_time:
        limits.wall_time.FromNanoseconds(round(wall_time * 1e9))
    return Plan(
        agents=agents,
        repeats=repeats,
        pool=pool,
        limits=limits if wall_time or memory else None,
        judge=JudgeConfig(backend=backend, model=judge_model) if backend else None,
        max_tasks=max_tasks,
    )

"""Plans in plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from firetrial.plan.v1.plan_pb2 import Gate, GateProposal, JudgeConfig, Limits, Plan
from firetrial_client.errors import Fault, check

_BACKENDS = {
    "": JudgeConfig.BACKEND_UNSPECIFIED,
    "offline": JudgeConfig.BACKEND_OFFLINE,
    "model": JudgeConfig.BACKEND_MODEL,
}
_MODES = {
    "": JudgeConfig.MODE_UNSPECIFIED,
    "text": JudgeConfig.MODE_TEXT,
    "set": JudgeConfig.MODE_SET,
}

_GATES = {"standard": Gate.MODE_STANDARD, "aggressive": Gate.MODE_AGGRESSIVE}


@dataclass(frozen=True, slots=True)
class Spending:
    """What agents may spend on models through the gateway; None and 0 are no cap.

    `usd` holds for all runs of the experiment, the rest for each run; `run_calls` counts by the model's name,
    "*" for each that is not named.
    """

    usd: float | None = None
    run_usd: float | None = None
    run_tokens: int = 0
    run_calls: Mapping[str, int] = field(default_factory=dict)


FREE = Spending()


def make_judge(
    backend: str = "",
    model: str = "",
    *,
    mode: str = "",
    panel: Sequence[str] = (),
    repeats: int = 0,
    core_idea: bool = False,
    max_cost_usd: float | None = None,
) -> JudgeConfig:
    """How conclusions are judged; empty and zero leave a value to the judge.

    `backend` is "offline", "model" or "" (as the judge is set up; a model where one is named), `mode` is
    "text" or "set", `panel` names further models that vote, `repeats` is how often each judges, and
    `max_cost_usd` caps what the judging of one experiment may cost.
    Raises INVALID for values that do not exist or contradict each other, all at once.
    """
    faults = []
    if backend not in _BACKENDS:
        faults.append(Fault("judge", f"is {backend!r}: must be offline or model"))
    if mode not in _MODES:
        faults.append(Fault("judge_mode", f"is {mode!r}: must be text or set"))
    if backend == "offline" and (model or panel):
        named = model or panel[0]
        faults.append(Fault("judge_model", f"is {named!r}: the offline judge takes no model"))
    check("the judge", faults)
    return JudgeConfig(
        backend=_BACKENDS["model" if model or panel else backend],
        model=model,
        mode=_MODES[mode],
        panel=panel,
        judge_repeats=repeats,
        core_idea=core_idea,
        max_cost_usd=max_cost_usd,
    )


def make_gate(
    proposals: Mapping[tuple[str, str], str], *, mode: str = "standard", min_confidence: int = 0
) -> Gate:
    """The gate that runs must pass: proposals by (agent, task), the task "" for each that is not named.

    `mode` is "standard" or "aggressive"; a low verdict stops a run from `min_confidence` on, 1 to 5 (0: 1).
    Raises INVALID for a mode that does not exist.
    """
    if mode not in _GATES:
        check("the gate", [Fault("gate", f"is {mode!r}: must be standard or aggressive")])
    named = [
        GateProposal(agent_id=agent, task_id=task, proposal_id=id_)
        for (agent, task), id_ in proposals.items()
    ]
    return Gate(mode=_GATES[mode], min_confidence=min_confidence, proposals=named)


def make_plan(
    agents: Sequence[str],
    *,
    repeats: int = 1,
    pool: str = "",
    wall_time: float = 0.0,
    memory: int = 0,
    judge: str | JudgeConfig = "",
    max_tasks: int = 0,
    model: str = "",
    probe: str = "",
    spending: Spending = FREE,
    at_once: int = 0,
    release: str = "",
    gpus: int = 0,
    gpu_memory: int = 0,
    gate: Gate | None = None,
) -> Plan:
    """A plan for `agents` (ids); zero and empty leave a value to the services.

    `wall_time` is in seconds of the agent's process, `memory` in bytes; `judge` is "offline", "model", "" or
    what `make_judge` gives. `model` is what the agents use; `probe` is the one of them that answers from
    memory; `at_once` bounds the runs at the same time. `gpus` is how many GPUs a run has for itself, each of
    at least `gpu_memory` bytes. `gate` is what `make_gate` gives. Raises INVALID for a judge that does not
    exist.
    """
    config = make_judge(judge) if isinstance(judge, str) else judge
    limits = Limits(
        memory_bytes=memory,
        model_tokens=spending.run_tokens,
        model_cost_usd=spending.run_usd,
        model_calls=spending.run_calls,
        gpus=gpus,
        gpu_memory_bytes=gpu_memory,
    )
    if wall_time:
        limits.wall_time.FromNanoseconds(round(wall_time * 1e9))
    return Plan(
        agents=agents,
        repeats=repeats,
        pool=pool,
        limits=limits if limits != Limits() else None,
        judge=config if config != JudgeConfig() else None,
        max_tasks=max_tasks,
        model=model,
        probe=probe,
        max_cost_usd=spending.usd,
        at_once=at_once,
        release=release,
        gate=gate,
    )

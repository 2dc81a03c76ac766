"""Domain → protobuf for what looks remembered, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from firetrial.analyzer.v1 import contamination_pb2 as pb
from firetrial_analyzer.contamination import Cell, Stratum
from firetrial_analyzer.memory import AgentMemory, Memory, ProbeScore
from firetrial_analyzer.variance import Interval


def contamination_to_wire(experiment: str, memory: Memory | None) -> pb.Contamination:
    if memory is None:
        return pb.Contamination(experiment_id=experiment)
    return pb.Contamination(
        experiment_id=experiment,
        models=[_agent(agent) for agent in memory.agents],
        probes=[_probe(score) for score in memory.probes],
    )


def _agent(agent: AgentMemory) -> pb.ModelContamination:
    found = agent.finding
    return pb.ModelContamination(
        agent_id=agent.agent,
        model=agent.model,
        cutoff=agent.cutoff.isoformat() if agent.cutoff else "",
        cells=[cell for stratum in found.strata for cell in _cells(stratum)],
        pooled=_effect(found.effect, found.interval, found.p_value),
        verdict=found.verdict.value,
        reason=found.why,
        unclear_tasks=found.unclear,
        detectable=found.detectable,
    )


def _cells(stratum: Stratum) -> Iterator[pb.Cell]:
    before = _cell(stratum.before)
    if stratum.effect is not None:
        before.effect.CopyFrom(_effect(stratum.effect, stratum.interval, None))
    yield before
    yield _cell(stratum.after)


def _cell(cell: Cell) -> pb.Cell:
    return pb.Cell(
        difficulty=cell.difficulty, published=cell.side.value, tasks=cell.n, mean=cell.mean, std=cell.std
    )


def _effect(difference: float | None, interval: Interval | None, p_value: float | None) -> pb.Effect:
    return pb.Effect(
        difference=difference,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        p_value=p_value,
    )


def _probe(score: ProbeScore) -> pb.Probe:
    return pb.Probe(
        task_id=score.task,
        agent_id=score.agent,
        agent_f1=score.agent_f1,
        probe_f1=score.probe_f1,
        agent_runs=score.agent_runs,
        probe_runs=score.probe_runs,
    )

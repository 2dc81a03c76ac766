"""Protobuf ↔ domain, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime

from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToJson, Parse, ParseError
from google.protobuf.timestamp_pb2 import Timestamp

from firetrial.parser.v1 import follow_up_pb2, task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import run_pb2, runner_service_pb2
from firetrial_kit.errors import Fault, FiretrialError, Reason, check, invalid
from firetrial_kit.hosts import Network, Reach
from firetrial_kit.references import ref_to_domain, ref_to_wire
from firetrial_runner.agent import Agent, AgentDefinition, AgentFile
from firetrial_runner.allowance import MOST, Allowance, ModelCaps
from firetrial_runner.egress.contacts import Contact
from firetrial_runner.experiment import DEFAULT_ATTEMPTS, Experiment, Plan, is_id
from firetrial_runner.gpus.device import Demand
from firetrial_runner.importing.imported import Format, Imported
from firetrial_runner.kinds.follow_up import FollowUp
from firetrial_runner.kinds.repository_wire import repository_to_domain
from firetrial_runner.records import RunRecord
from firetrial_runner.run import End, Outcome, Provenance, Run, RunState, RunUsage
from firetrial_runner.sandbox.port import Termination
from firetrial_runner.task import Source, Task

_SOURCE = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*){0,15}", re.ASCII)
_STATES = {state: getattr(run_pb2, f"RUN_STATE_{state.name}") for state in RunState}
_OUTCOMES = {outcome: getattr(run_pb2, f"OUTCOME_{outcome.name}") for outcome in Outcome}
_TERMINATIONS = {end: getattr(run_pb2, f"TERMINATION_{end.name}") for end in Termination}
_FORMATS_IN = {getattr(runner_service_pb2, f"LOG_FORMAT_{form.name}"): form for form in Format}
_PROVENANCES = {origin: getattr(run_pb2, f"PROVENANCE_{origin.name}") for origin in Provenance}
_REACHES_IN = {getattr(task_pb2.Network, f"REACH_{reach.name}"): reach for reach in Reach}
_STATES_IN = {number: state for state, number in _STATES.items()}
_OUTCOMES_IN = {number: outcome for outcome, number in _OUTCOMES.items()}
_TERMINATIONS_IN = {number: end for end, number in _TERMINATIONS.items()}


def definition_to_domain(request: runner_service_pb2.SubmitAgentRequest) -> AgentDefinition:
    """The agent handed in. Raises INVALID with every fault."""
    files = tuple(AgentFile(file.path, file.content, file.executable) for file in request.files)
    told = (request.name, tuple(request.command), files, request.description, request.program, request.image)
    definition = AgentDefinition(*told)
    check("the agent", definition.faults())
    return definition


def agent_to_wire(agent: Agent) -> run_pb2.Agent:
    return run_pb2.Agent(
        id=agent.id,
        name=agent.name,
        description=agent.description,
        command=agent.command,
        bundle=ref_to_wire(agent.bundle),
        submitted_at=_timestamp(agent.submitted_at),
        program=agent.program,
        image=agent.image,
    )


def imported_to_domain(header: runner_service_pb2.ImportedRun) -> Imported:
    """What is told of a run made elsewhere. Raises INVALID for a format that is none."""
    if header.format not in _FORMATS_IN:
        names = ", ".join(f"LOG_FORMAT_{form.name}" for form in Format)
        raise invalid("the run", [Fault("header.format", str(header.format), f"must be one of {names}")])
    form = _FORMATS_IN[header.format]
    return Imported(
        header.task_id, header.agent, header.model, header.repeat, form, header.filename, header.made_by
    )


def task_to_domain(json: bytes) -> Task:
    """A task from the object that the parser put. Raises CORRUPT."""
    try:
        task = Parse(json, task_pb2.Task(), ignore_unknown_fields=True)
    except (ParseError, UnicodeDecodeError) as error:
        raise FiretrialError(Reason.CORRUPT, f"the task's object is no task: {error}") from error
    if not is_id(task.id):
        raise FiretrialError(Reason.CORRUPT, f"the task's object has no id but {task.id!r}")
    data = ref_to_domain(task.data) if task.data.uri else None
    sources = tuple(map(_source_to_domain, task.sources))
    repository = repository_to_domain(task.repository) if task.HasField("repository") else None
    network = _network_to_domain(task.network)
    follow_up = _follow_up_to_domain(task.follow_up) if task.HasField("follow_up") else None
    return Task(task.id, task.instruction, data, sources, network, repository, follow_up)


def _follow_up_to_domain(told: follow_up_pb2.FollowUpSpec) -> FollowUp:
    return FollowUp(ref_to_domain(told.source) if told.HasField("source") else None)


def _network_to_domain(network: task_pb2.Network) -> Network:
    """What has no known reach reaches nothing."""
    reach = _REACHES_IN.get(network.reach, Reach.GATEWAY)
    return Network(reach, tuple(network.hosts), tuple(network.denied))


def _source_to_domain(source: task_pb2.DataSource) -> Source:
    """Raises CORRUPT for a path that could lead out of the data folder."""
    hub = source.WhichOneof("place") == "hugging_face"
    told = source.hugging_face if hub else source.path
    if not _SOURCE.fullmatch(told):
        raise FiretrialError(Reason.CORRUPT, f"the task's object names data that has no place: {told!r}")
    return Source(told, f"huggingface/{told}" if hub else told)


def plan_to_domain(plan: plan_pb2.Plan) -> Plan:
    return Plan(
        agents=tuple(plan.agents),
        repeats=plan.repeats,
        pool=plan.pool or "default",
        limits=limits_to_domain(plan.limits),
        max_attempts=plan.max_attempts or DEFAULT_ATTEMPTS,
        model=plan.model,
        denied_hosts=tuple(plan.denied_hosts),
        at_once=plan.at_once,
    )


def limits_to_domain(limits: plan_pb2.Limits) -> Allowance:
    return Allowance(
        wall_s=limits.wall_time.ToNanoseconds() / 1e9,
        memory_bytes=limits.memory_bytes,
        cpus=limits.cpus,
        processes=limits.processes,
        output_bytes=limits.output_bytes,
        disk_bytes=limits.disk_bytes,
        models=ModelCaps(
            tokens=limits.model_tokens,
            cost_usd=limits.model_cost_usd if limits.HasField("model_cost_usd") else None,
            calls=dict(limits.model_calls),
        ),
        gpus=Demand(limits.gpus, limits.gpu_memory_bytes),
    )


def limits_to_wire(limits: Allowance) -> plan_pb2.Limits:
    return plan_pb2.Limits(
        wall_time=_duration(limits.wall_s) if limits.wall_s else None,
        memory_bytes=limits.memory_bytes,
        cpus=limits.cpus,
        processes=limits.processes,
        output_bytes=limits.output_bytes,
        disk_bytes=limits.disk_bytes,
        model_tokens=limits.models.tokens,
        model_cost_usd=limits.models.cost_usd,
        model_calls=limits.models.calls,
        gpus=limits.gpus.count,
        gpu_memory_bytes=limits.gpus.memory_bytes,
    )


def slip_to_wire(slip: str) -> plan_pb2.Slip:
    return plan_pb2.Slip.FromString(bytes.fromhex(slip))


def slip_to_domain(slip: plan_pb2.Slip) -> str:
    return slip.SerializeToString(deterministic=True).hex()


def cost_cap(slip: str) -> float | None:
    """USD that the experiment of a slip may spend on models; None for no cap."""
    plan = slip_to_wire(slip).plan
    return plan.max_cost_usd if plan.HasField("max_cost_usd") else None


def slip_plan(slip: str) -> Plan:
    """The plan of a slip."""
    return plan_to_domain(slip_to_wire(slip).plan)


def denied_hosts(slip: str) -> tuple[str, ...]:
    """What the plan of a slip denies to all runs."""
    return tuple(slip_to_wire(slip).plan.denied_hosts)


def experiment_plan(experiment: Experiment) -> Plan:
    """What the runner has to know of its plan."""
    return plan_to_domain(plan_pb2.Plan.FromString(bytes.fromhex(experiment.plan_bytes)))


def experiment_slip(experiment: Experiment) -> str:
    """The slip of its runs."""
    plan = plan_pb2.Plan.FromString(bytes.fromhex(experiment.plan_bytes))
    slip = plan_pb2.Slip(experiment_id=experiment.id, expected_runs=experiment.expected_runs, plan=plan)
    return slip_to_domain(slip)


def experiment_to_wire(experiment: Experiment, counts: dict[str, int], *, ended: bool) -> run_pb2.Experiment:
    return run_pb2.Experiment(
        id=experiment.id,
        task_ids=experiment.task_ids,
        plan=plan_pb2.Plan.FromString(bytes.fromhex(experiment.plan_bytes)),
        expected_runs=experiment.expected_runs,
        submitted_at=_timestamp(experiment.submitted_at),
        cancel_requested=experiment.cancel_requested,
        counts=counts,
        ended=ended,
    )


def run_to_wire(run: Run) -> run_pb2.Run:
    return run_pb2.Run(
        id=run.id,
        experiment_id=run.experiment_id,
        task_id=run.task_id,
        agent_id=run.agent_id,
        model=run.model,
        repeat=run.repeat,
        attempt=run.attempt,
        pool=run.pool,
        state=_STATES[run.state],
        outcome=_OUTCOMES[run.outcome] if run.outcome else run_pb2.OUTCOME_UNSPECIFIED,
        reason=run.reason,
        exit=_end_to_wire(run.end) if run.end else None,
        usage=_usage_to_wire(run.usage) if run.usage else None,
        conclusion=ref_to_wire(run.conclusion) if run.conclusion else None,
        artifacts=ref_to_wire(run.artifacts) if run.artifacts else None,
        trajectory_prefix=f"runs/{run.id}/trajectory/",
        trajectory_chunks=run.trajectory_chunks,
        cancel_requested=run.cancel_requested,
        queued_at=_timestamp(run.queued_at),
        started_at=_timestamp(run.started_at) if run.started_at else None,
        ended_at=_timestamp(run.ended_at) if run.ended_at else None,
        superseded=run.superseded,
        limits=limits_to_wire(run.limits),
        provenance=_PROVENANCES[run.origin.provenance if run.origin else Provenance.HERE],
        lacking=run.origin.lacking if run.origin else (),
        made_by=run.origin.made_by if run.origin else "",
        contacts=[run_pb2.Contact(**asdict(contact)) for contact in run.contacts],
        waiting_for=run.waiting_for,
    )


def run_to_domain(run: run_pb2.Run, *, max_attempts: int = 1) -> Run:
    """A run as it was told. Raises INVALID with every fault. The wire holds no lease."""
    check("the run", _run_faults(run))
    return Run(
        id=run.id,
        experiment_id=run.experiment_id,
        task_id=run.task_id,
        agent_id=run.agent_id,
        model=run.model,
        repeat=run.repeat,
        attempt=run.attempt,
        pool=run.pool,
        limits=limits_to_domain(run.limits),
        max_attempts=max_attempts,
        queued_at=_datetime(run.queued_at),
        state=_STATES_IN[run.state],
        outcome=_OUTCOMES_IN.get(run.outcome),
        reason=run.reason,
        cancel_requested=run.cancel_requested,
        superseded=run.superseded,
        started_at=_datetime(run.started_at) if run.HasField("started_at") else None,
        ended_at=_datetime(run.ended_at) if run.HasField("ended_at") else None,
        end=_end_to_domain(run.exit, run.reason) if run.HasField("exit") else None,
        usage=_usage_to_domain(run.usage) if run.HasField("usage") else None,
        conclusion=ref_to_domain(run.conclusion) if run.conclusion.uri else None,
        artifacts=ref_to_domain(run.artifacts) if run.artifacts.uri else None,
        trajectory_chunks=run.trajectory_chunks,
        contacts=tuple(map(_contact_to_domain, run.contacts)),
        waiting_for=run.waiting_for,
    )


def _contact_to_domain(told: run_pb2.Contact) -> Contact:
    return Contact(told.host, told.bytes, told.requests, told.refused, told.denied, told.port)


def _run_faults(run: run_pb2.Run) -> Iterator[Fault]:
    for name, value in (("id", run.id), ("task_id", run.task_id)):
        if not is_id(value):
            yield Fault(f"run.{name}", value, "must be letters, digits, _ and -, at most 128")
    if run.experiment_id and not is_id(run.experiment_id):
        yield Fault("run.experiment_id", run.experiment_id, "must be an id, or empty")
    for name, number in (("repeat", run.repeat), ("attempt", run.attempt)):
        if number < 1:
            yield Fault(f"run.{name}", str(number), "must be 1 or more")
    if run.state not in _STATES_IN:
        yield Fault("run.state", str(run.state), "must be a state")
    if run.outcome and run.outcome not in _OUTCOMES_IN:
        yield Fault("run.outcome", str(run.outcome), "must be an outcome, or unset")
    if run.HasField("exit") and run.exit.termination not in _TERMINATIONS_IN:
        yield Fault("run.exit.termination", str(run.exit.termination), "must be a termination")
    yield from limits_to_domain(run.limits).faults(MOST, "run.limits")


def result_to_json(run: Run) -> bytes:
    """A run as the object that lets another finish what this one began."""
    return MessageToJson(run_to_wire(run), preserving_proto_field_name=True).encode()


def result_to_domain(json: bytes, record: RunRecord) -> Run:
    """The run of `record` as its result object says it ended. Raises CORRUPT."""
    try:
        run = Parse(json, run_pb2.Run(), ignore_unknown_fields=True)
        return run_to_domain(run, max_attempts=record.run.max_attempts)
    except (ParseError, UnicodeDecodeError, FiretrialError) as error:
        raise FiretrialError(Reason.CORRUPT, f"the result of {record.run.id} is no run: {error}") from error


def _end_to_wire(end: End) -> run_pb2.Exit:
    told = run_pb2.Exit(termination=_TERMINATIONS[end.termination])
    if end.code is not None:
        told.code = end.code
    if end.signal is not None:
        told.signal = end.signal
    return told


def _end_to_domain(end: run_pb2.Exit, detail: str) -> End:
    status = end.WhichOneof("status")
    return End(
        _TERMINATIONS_IN[end.termination],
        end.code if status == "code" else None,
        end.signal if status == "signal" else None,
        detail,
    )


def _usage_to_wire(usage: RunUsage) -> run_pb2.Usage:
    return run_pb2.Usage(
        wall_time=_duration(usage.wall_s) if usage.wall_s is not None else None,
        cpu_time=_duration(usage.cpu_s) if usage.cpu_s is not None else None,
        max_rss_bytes=usage.max_rss_bytes or 0,
        output_bytes=usage.output_bytes,
        steps=usage.steps,
        cost_usd=usage.cost_usd,
        tokens=usage.tokens,
        cached_tokens=usage.cached_tokens,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        model_calls=usage.model_calls,
        unpriced_calls=usage.unpriced_calls,
        gpu_time=_duration(usage.gpu_s) if usage.gpu_s is not None else None,
        gpu_utilisation=usage.gpu_utilisation,
        max_gpu_memory_bytes=usage.max_gpu_memory_bytes,
    )


def _usage_to_domain(usage: run_pb2.Usage) -> RunUsage:
    return RunUsage(
        wall_s=usage.wall_time.ToNanoseconds() / 1e9 if usage.HasField("wall_time") else None,
        cpu_s=usage.cpu_time.ToNanoseconds() / 1e9 if usage.HasField("cpu_time") else None,
        max_rss_bytes=usage.max_rss_bytes or None,
        output_bytes=usage.output_bytes,
        steps=usage.steps,
        cost_usd=usage.cost_usd if usage.HasField("cost_usd") else None,
        tokens=usage.tokens if usage.HasField("tokens") else None,
        cached_tokens=usage.cached_tokens if usage.HasField("cached_tokens") else None,
        prompt_tokens=usage.prompt_tokens if usage.HasField("prompt_tokens") else None,
        completion_tokens=usage.completion_tokens if usage.HasField("completion_tokens") else None,
        model_calls=usage.model_calls,
        unpriced_calls=usage.unpriced_calls,
        gpu_s=usage.gpu_time.ToNanoseconds() / 1e9 if usage.HasField("gpu_time") else None,
        gpu_utilisation=usage.gpu_utilisation if usage.HasField("gpu_utilisation") else None,
        max_gpu_memory_bytes=usage.max_gpu_memory_bytes if usage.HasField("max_gpu_memory_bytes") else None,
    )


def _duration(seconds: float) -> Duration:
    duration = Duration()
    duration.FromNanoseconds(round(seconds * 1e9))
    return duration


def _timestamp(at: datetime) -> Timestamp:
    timestamp = Timestamp()
    timestamp.FromDatetime(at)
    return timestamp


def _datetime(at: Timestamp) -> datetime:
    return at.ToDatetime(UTC)

"""Protobuf ↔ domain, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from firetrial.parser.v1 import paper_pb2, parser_service_pb2, task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_kit import tenants
from firetrial_kit.asking import Spent
from firetrial_kit.errors import Fault
from firetrial_kit.hosts import ALONE, Network, Reach
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef
from firetrial_kit.references import ref_to_wire
from firetrial_parser.rating import Difficulty, Rating
from firetrial_parser.records import PaperRecord
from firetrial_parser.soundness.gate_wire import gate_faults
from firetrial_parser.source import Source
from firetrial_parser.task import PublicTask, Truth
from firetrial_parser.tree import Grounding, Node, NodeKind, PaperFacts, Quote, Tree

_KINDS: dict[NodeKind, paper_pb2.NodeKind.ValueType] = {
    "root": paper_pb2.NODE_KIND_ROOT,
    "intermediate": paper_pb2.NODE_KIND_INTERMEDIATE,
    "leaf": paper_pb2.NODE_KIND_LEAF,
}
REACHES = {getattr(task_pb2.Network, f"REACH_{reach.name}"): reach for reach in Reach}
REACHES[task_pb2.Network.REACH_UNSPECIFIED] = Reach.GATEWAY
_NAMES: dict[paper_pb2.NodeKind.ValueType, NodeKind] = {kind: name for name, kind in _KINDS.items()}
_POOL = re.compile(r"[a-z0-9-]{1,32}")
_RELEASE = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
_AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}@[a-z0-9]{1,64}")


def paper_to_wire(record: PaperRecord) -> paper_pb2.Paper:
    paper = paper_pb2.Paper(
        id=record.id,
        state=paper_pb2.PaperState.Value(f"PAPER_STATE_{record.state}"),
        filename=record.filename,
        title=record.title,
        source=ref_to_wire(record.source),
        document=ref_to_wire(record.document) if record.document else None,
        tree=ref_to_wire(record.tree) if record.tree else None,
        task_ids=record.task_ids,
        failure=record.failure,
        pages=record.pages,
        faults=record.faults,
        extraction=record.extraction,
        grounding=grounding_to_wire(record.grounding) if record.tree else None,
        refused=record.refused,
        usage=usage_to_wire(record.model, record.spent),
    )
    paper.submitted_at.FromDatetime(record.submitted_at)
    paper.changed_at.FromDatetime(record.changed_at)
    return paper


def node_to_wire(node: Node) -> paper_pb2.Node:
    return paper_pb2.Node(
        path=node.path,
        kind=_KINDS[node.kind],
        title=node.title,
        description=node.description,
        evidence=node.evidence,
        datasets=node.datasets,
        models=node.models,
        metrics=node.metrics,
        protocol=node.protocol,
        conclusion=node.conclusion,
        page=node.page,
        uncertain=node.uncertain,
        children=[node_to_wire(child) for child in node.children],
        task=node.task,
        quotes=[paper_pb2.Quote(**asdict(quote)) for quote in node.quotes],
    )


def node_to_domain(node: paper_pb2.Node) -> Node:
    return Node(
        kind=_NAMES[node.kind],
        title=node.title,
        path=node.path,
        description=node.description,
        evidence=node.evidence,
        page=node.page,
        datasets=tuple(node.datasets),
        models=tuple(node.models),
        metrics=tuple(node.metrics),
        protocol=node.protocol,
        conclusion=node.conclusion,
        uncertain=node.uncertain,
        children=tuple(node_to_domain(child) for child in node.children),
        task=node.task,
        quotes=tuple(Quote(q.text, q.page, q.start, q.end, q.score) for q in node.quotes),
    )


def facts_to_wire(facts: PaperFacts) -> paper_pb2.PaperFacts:
    return paper_pb2.PaperFacts(**asdict(facts))


def grounding_to_wire(grounding: Grounding) -> paper_pb2.Grounding:
    return paper_pb2.Grounding(**asdict(grounding))


def tree_to_wire(tree: Tree) -> paper_pb2.Tree:
    return paper_pb2.Tree(
        paper=facts_to_wire(tree.paper),
        root=node_to_wire(tree.root),
        extraction=tree.extraction,
        grounding=grounding_to_wire(tree.grounding),
    )


def tree_to_domain(tree: paper_pb2.Tree) -> Tree:
    paper, grounding = tree.paper, tree.grounding
    return Tree(
        node_to_domain(tree.root),
        PaperFacts(paper.title, tuple(paper.authors), paper.venue, paper.year, paper.id),
        tree.extraction,
        Grounding(grounding.supported, grounding.statements, grounding.method),
    )


def usage_to_wire(model: str, bill: Mapping[str, Spent]) -> Iterator[paper_pb2.ModelUsage]:
    for purpose, spent in bill.items():
        yield paper_pb2.ModelUsage(
            purpose=purpose,
            model=model,
            calls=spent.calls,
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
            cached_tokens=spent.cached_tokens,
            cost_usd=spent.known_cost,
            cache_hits=spent.cache_hits,
        )


def rating_to_domain(header: parser_service_pb2.TaskHeader) -> Rating:
    given = header.difficulty if header.HasField("difficulty") else None
    difficulty = given and Difficulty(
        given.conceptual_decomposition,
        given.confound_control,
        given.analysis_complexity,
        given.rated_by,
    )
    return Rating(difficulty, header.published)


def rate(task: task_pb2.Task, rating: Rating) -> None:
    """Write what is known of the task's rating into it."""
    task.published = rating.published
    if rating.difficulty:
        task.difficulty.CopyFrom(task_pb2.Difficulty(**asdict(rating.difficulty)))


def task_to_wire(public: PublicTask, *, paper_id: str, truth: ObjectRef) -> task_pb2.Task:
    """A task made from a paper. The object is its content alone; its record knows the rest."""
    task = task_pb2.Task(
        id=public.id,
        version=public.version,
        kind=task_pb2.TASK_KIND_REDISCOVERY,
        question=public.question,
        instruction=public.instruction,
        origin="paper",
        truth=ref_to_wire(truth),
        paper_id=paper_id,
        has_truth=True,
        network=network_to_wire(Network(denied=public.denied)),
        variant=task_pb2.TaskVariant.Value(f"TASK_VARIANT_{public.variant}"),
    )
    rate(task, public.rating)
    return task


def source_to_domain(source: task_pb2.DataSource) -> Source:
    if source.WhichOneof("place") == "hugging_face":
        return Source(source.hugging_face, hugging_face=True)
    return Source(source.path)


def source_to_wire(source: Source) -> task_pb2.DataSource:
    if source.hugging_face:
        return task_pb2.DataSource(hugging_face=source.name)
    return task_pb2.DataSource(path=source.name)


def truth_to_wire(truth: Truth) -> task_pb2.GroundTruth:
    return task_pb2.GroundTruth(
        task_id=truth.task_id,
        text=truth.text,
        evidence=truth.evidence,
        leaf_path=truth.leaf_path,
        paper_id=truth.paper_id,
        statements=truth.statements,
        title=truth.title,
        arxiv_id=truth.addresses.arxiv,
        doi=truth.addresses.doi,
        difficulty_reasons=truth.difficulty_reasons,
    )


def network_to_domain(network: task_pb2.Network) -> Network:
    """What has no known reach reaches nothing."""
    return Network(REACHES.get(network.reach, Reach.GATEWAY), tuple(network.hosts), tuple(network.denied))


def network_to_wire(network: Network) -> task_pb2.Network | None:
    """None for a task that says nothing of it."""
    if network == ALONE:
        return None
    reach = next(number for number, reach in REACHES.items() if reach is network.reach and number)
    return task_pb2.Network(reach=reach, hosts=network.hosts, denied=network.denied)


def experiment_id(resource_id: str, plan: plan_pb2.Plan, request_id: str) -> str:
    """The experiment that a plan asks for; the same for the same paper or task, plan and request."""
    told = plan.SerializeToString(deterministic=True).hex()
    return tenants.beside(resource_id, "e-" + digest(resource_id, told, request_id, length=16))


def slip_to_wire(plan: plan_pb2.Plan, experiment: str, tasks: int) -> plan_pb2.Slip:
    return plan_pb2.Slip(
        experiment_id=experiment, expected_runs=tasks * len(plan.agents) * plan.repeats, plan=plan
    )


def plan_faults(plan: plan_pb2.Plan) -> Iterator[Fault]:
    """What is wrong with a plan's shape. Whether its agents exist is the runner's to say."""
    if not plan.agents:
        yield Fault("plan.agents", "[]", "name at least one agent (name@hash, as SubmitAgent returned it)")
    for i, agent in enumerate(plan.agents):
        if not _AGENT.fullmatch(agent):
            yield Fault(f"plan.agents[{i}]", agent, "must be name@hash, as SubmitAgent returned it")
    if len(set(plan.agents)) < len(plan.agents):
        yield Fault("plan.agents", ", ".join(plan.agents), "names an agent twice; use repeats for more runs")
    bounds = (("repeats", 1, 100), ("max_tasks", 0, 20), ("max_attempts", 0, 10))
    for name, low, high in bounds:
        value = getattr(plan, name)
        if not low <= value <= high:
            yield Fault(f"plan.{name}", str(value), f"must be {low} to {high}")
    if plan.pool and not _POOL.fullmatch(plan.pool):
        yield Fault("plan.pool", plan.pool, "must be [a-z0-9-]{1,32}, or empty for the default pool")
    yield from _further_faults(plan)
    yield from _limit_faults(plan.limits)


def _further_faults(plan: plan_pb2.Plan) -> Iterator[Fault]:
    if plan.probe and plan.probe not in plan.agents:
        yield Fault("plan.probe", plan.probe, "must be one of plan.agents, or empty")
    if plan.HasField("max_cost_usd") and not plan.max_cost_usd >= 0:
        yield Fault("plan.max_cost_usd", str(plan.max_cost_usd), "must not be negative; unset means no cap")
    if plan.at_once < 0:
        yield Fault("plan.at_once", str(plan.at_once), "must not be negative; 0 means as many as fit")
    if plan.release and not _RELEASE.fullmatch(plan.release):
        yield Fault("plan.release", plan.release, f"must match {_RELEASE.pattern}, or be empty")
    yield from gate_faults(plan)


def _limit_faults(limits: plan_pb2.Limits) -> Iterator[Fault]:
    values = {
        "wall_time": limits.wall_time.ToTimedelta().total_seconds(),
        "memory_bytes": limits.memory_bytes,
        "cpus": limits.cpus,
        "processes": limits.processes,
        "output_bytes": limits.output_bytes,
        "disk_bytes": limits.disk_bytes,
        "model_tokens": limits.model_tokens,
        "model_cost_usd": limits.model_cost_usd,
        **{f"model_calls[{model}]": calls for model, calls in limits.model_calls.items()},
    }
    for name, value in values.items():
        if not value >= 0:  # not-a-number included
            yield Fault(f"plan.limits.{name}", str(value), "must not be negative; 0 means the default")

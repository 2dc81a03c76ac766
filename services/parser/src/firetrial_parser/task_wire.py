"""What is told of a task beside its content, and of candidates: domain → protobuf."""

from __future__ import annotations

from dataclasses import asdict

from firetrial.parser.v1 import candidate_pb2, leak_pb2, task_pb2
from firetrial_parser.candidates import Candidate
from firetrial_parser.difficulty import Rated
from firetrial_parser.leaks.checking import LeakCheck
from firetrial_parser.leaks.leak import Leak
from firetrial_parser.records import TaskRecord
from firetrial_parser.task import Variant
from firetrial_parser.wire import usage_to_wire

VARIANTS = {
    task_pb2.TASK_VARIANT_UNSPECIFIED: Variant.REDISCOVERY,
    task_pb2.TASK_VARIANT_REDISCOVERY: Variant.REDISCOVERY,
    task_pb2.TASK_VARIANT_REPLICATION: Variant.REPLICATION,
}


def tell(task: task_pb2.Task, record: TaskRecord) -> task_pb2.Task:
    """Write what the record knows into the task, as it is answered."""
    task.created_at.FromDatetime(record.created_at)
    task.state = task_pb2.TaskState.Value(f"TASK_STATE_{record.state}")
    if record.check is not None:
        task.leak_check.CopyFrom(check_to_wire(record.check))
    task.usage.extend(usage_to_wire(record.model, record.spent))
    return task


def check_to_wire(check: LeakCheck) -> leak_pb2.LeakCheck:
    wired = leak_pb2.LeakCheck(
        depth=leak_pb2.LeakCheck.Depth.Value(f"DEPTH_{check.depth}"),
        leaks=map(leak_to_wire, check.leaks),
        judge_config_hash=check.judge,
        judge_quality=check.quality,
        claims=check.claims,
    )
    if check.overruling is not None:
        wired.overruling.by, wired.overruling.reason = check.overruling.by, check.overruling.reason
        wired.overruling.at.FromDatetime(check.overruling.at)
    return wired


def leak_to_wire(leak: Leak) -> leak_pb2.Leak:
    kind = leak_pb2.LeakKind.Value(f"LEAK_KIND_{leak.kind}")
    return leak_pb2.Leak(kind=kind, sentence=leak.sentence, words=leak.words)


def candidate_to_wire(candidate: Candidate, rank: int, rated: Rated | None) -> candidate_pb2.Candidate:
    """`rank` counts from 1; 0 and no rating for a leaf that is no target."""
    wired = candidate_pb2.Candidate(
        leaf_path=candidate.leaf.path,
        title=candidate.leaf.title,
        evidence=candidate.leaf.evidence,
        rank=rank,
        score=candidate.score,
        reasons=[candidate_pb2.Candidate.Reason(points=r.points, why=r.why) for r in candidate.reasons],
        against=candidate.against,
        difficulty_reasons=rated.reasons if rated else (),
    )
    if rated is not None:
        wired.difficulty.CopyFrom(task_pb2.Difficulty(**asdict(rated.difficulty)))
    return wired

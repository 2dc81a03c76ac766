"""Protobuf ↔ domain for releases, and nothing else."""

from __future__ import annotations

import json

from google.protobuf.json_format import MessageToDict, MessageToJson, Parse, ParseError

from firetrial.analyzer.v1 import analyzer_service_pb2, release_pb2
from firetrial.parser.v1 import task_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_analyzer.release import Release, ReleasedTask, Wanted
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import sha256


def wanted_to_domain(request: analyzer_service_pb2.CreateReleaseRequest) -> Wanted:
    return Wanted(
        name=request.name,
        description=request.description,
        task_ids=tuple(request.task_ids),
        repeats=request.repeats,
        judge=json.dumps(MessageToDict(request.judge, preserving_proto_field_name=True), sort_keys=True),
        judge_config_hash=request.judge_config_hash,
        calibration_id=request.calibration_id,
        prompts_sha256=request.prompts_sha256,
        prices_sha256=request.prices_sha256,
    )


def released_task(data: bytes) -> ReleasedTask:
    """From the object with a task's public part. Raises CORRUPT for bytes that are no task."""
    try:
        task = Parse(data, task_pb2.Task(), ignore_unknown_fields=True)
    except (ParseError, UnicodeDecodeError) as error:
        raise FiretrialError(Reason.CORRUPT, f"the task cannot be read: {error}") from error
    return ReleasedTask(task.id, task.version, sha256(data), task.truth.sha256)


def release_to_wire(release: Release) -> release_pb2.Release:
    frozen = release.frozen
    wire = release_pb2.Release(
        name=frozen.name,
        description=frozen.description,
        tasks=[
            release_pb2.ReleasedTask(
                id=task.id,
                version=task.version,
                task_sha256=task.task_sha256,
                truth_sha256=task.truth_sha256,
            )
            for task in frozen.tasks
        ],
        judge=Parse(frozen.judge, plan_pb2.JudgeConfig()),
        judge_config_hash=frozen.judge_config_hash,
        calibration_id=frozen.calibration_id,
        taxonomy_version=frozen.taxonomy_version,
        taxonomy_sha256=frozen.taxonomy_sha256,
        prompts_sha256=frozen.prompts_sha256,
        prices_sha256=frozen.prices_sha256,
        cutoffs_sha256=frozen.cutoffs_sha256,
        checksum=frozen.checksum,
        repeats=frozen.repeats,
    )
    wire.created_at.FromDatetime(release.created_at)
    return wire


def release_to_json(release: Release) -> bytes:
    """The release as it lies in the object store."""
    return MessageToJson(release_to_wire(release), preserving_proto_field_name=True, sort_keys=True).encode()

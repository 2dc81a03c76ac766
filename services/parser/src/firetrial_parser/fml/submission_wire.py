"""A definition as it is submitted, and as people and programs are told of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from google.protobuf.json_format import MessageToDict

from firetrial.parser.v1.parser_service_pb2 import TaskHeader
from firetrial_parser.fml.task import Definition, facts
from firetrial_parser.kinds.briefing import briefed
from firetrial_parser.kinds.repository_wire import repository_to_wire, sealed_to_wire
from firetrial_parser.task import content_version

ORIGIN = "fml"


def header(told: Definition) -> TaskHeader:
    """The header of a submission; whatever the definition lacks is told as broken."""
    made = TaskHeader(
        slug=told.slug,
        question=told.question,
        instruction=told.instruction,
        broken=told.lacks,
        origin=ORIGIN,
        repository=repository_to_wire(told.repository, None),
    )
    made.repository.has_test = False  # the parser says so
    if told.repository.test:
        made.test.CopyFrom(sealed_to_wire(told.repository.test, None, None))
    return made


def version(told: Definition, parts: dict[str, str]) -> str:
    """As the parser service counts it; `parts` are the hashes of what is uploaded."""
    return content_version(
        told.question,
        briefed(told.instruction, told.repository),
        "",
        source=ORIGIN,
        special={"repository": told.repository.identity, "parts": parts},
    )


def shown(told: Definition) -> dict[str, Any]:
    """The definition as JSON values."""
    repository, metric = told.repository, told.repository.metric
    raw = "higher" if metric.higher_is_better else "lower"
    return {
        "name": told.name,
        "question": told.question,
        "repository": {"folder": told.folder, "commit": repository.commit},
        "environment": repository.environment,
        "recipe": repository.recipe,
        "target_files": list(repository.targets),
        "validation_command": list(repository.validation.command),
        "test_command": list(told.test_command),
        "placed": [asdict(file) for file in told.placed],
        "sealed": [asdict(file) for file in told.sealed],
        "metric": {
            "key": metric.key,
            "datasets": list(metric.datasets),
            "direction": raw,
            "direction_normalised": metric.direction,
            "transform": metric.transform,
            "best": metric.best,
            "worst": "baseline" if metric.worst is None else metric.worst,
        },
        "baseline_validation": repository.baseline_validation,
        "baseline_test": repository.baseline_test,
        "split": asdict(repository.split) if repository.split else None,
        "max_steps": repository.max_steps,
        "results_files": dict(facts()["results"]),
    }


def as_json(made: TaskHeader) -> dict[str, Any]:
    """A header in proto3 JSON, for whoever sends it."""
    return MessageToDict(made, preserving_proto_field_name=True)

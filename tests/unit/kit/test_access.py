"""That no method and no id was forgotten when it was said who may call what, and whose it is."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor

from firetrial.access.v1 import access_pb2
from firetrial_kit import auth
from firetrial_kit.tokens import Scope

# Fields of requests that look like the id of a tenant's resource and are none.
EXCUSED = {
    "request_id",  # the caller's own word
    "filename",
    "claim_id",  # of one run's, which is named beside it
    "firetrial.judge.v1.GetCalibrationRequest.id",  # calibrations are the installation's, for all to read
    "firetrial.analyzer.v1.CreateReleaseRequest.calibration_id",
    # Only a service asks these, of runs of any tenant.
    "firetrial.runner.v1.Run.experiment_id",
    "firetrial.runner.v1.Run.task_id",
    "firetrial.runner.v1.Run.agent_id",
    # Of pieces of a document that is handed in.
    "firetrial.parser.v1.Clause.id",
    # Names that a new resource's id is made of.
    "firetrial.runner.v1.SubmitAgentRequest.name",
    "firetrial.parser.v1.SplitField.name",
}
IDS = ("id", "_id", "ids", "agents", "release", "probe", "name", "compare_with")


def methods() -> list[MethodDescriptor]:
    top = Path(access_pb2.__file__).parents[3]
    modules = [".".join(path.relative_to(top).with_suffix("").parts) for path in top.rglob("*_pb2.py")]
    services = [importlib.import_module(module).DESCRIPTOR.services_by_name.values() for module in modules]
    return [method for each in services for service in each for method in service.methods]


METHODS = methods()


def test_all_services_are_here() -> None:
    names = {method.containing_service.name for method in METHODS}
    assert names >= {"ParserService", "RunnerService", "JudgeService", "AnalyzerService", "IdentityService"}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.full_name)
def test_each_method_says_who_may_call_it(method: MethodDescriptor) -> None:
    rule = auth.rule_of(f"/{method.containing_service.full_name}/{method.name}")
    assert rule.scopes
    reads = method.name.startswith(("Get", "List", "Watch", "Stream", "Render", "Export", "Describe"))
    if reads:
        assert rule.scopes == {Scope.READ}
    assert not (reads and rule.changes)
    if rule.scopes & {Scope.SUBMIT, Scope.OPERATE} and Scope.SERVICE not in rule.scopes:
        assert rule.changes or method.name == "ScoreText"  # which keeps nothing, and may cost


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.full_name)
def test_each_id_in_a_request_is_a_tenants(method: MethodDescriptor) -> None:
    forgotten = [
        field.full_name
        for field in strings(method.input_type, ())
        if field.name.endswith(IDS)
        and not field.GetOptions().Extensions[access_pb2.owned]
        and not {field.name, field.full_name} & EXCUSED
    ]
    assert forgotten == []


def test_each_excuse_is_needed() -> None:
    fields = [field for method in METHODS for field in strings(method.input_type, ())]
    bare = [field for field in fields if not field.GetOptions().Extensions[access_pb2.owned]]
    names = {name for field in bare if field.name.endswith(IDS) for name in (field.name, field.full_name)}
    assert names >= EXCUSED


def strings(type_: Descriptor, above: tuple[str, ...]) -> Iterator[FieldDescriptor]:
    for field in type_.fields:
        inner = field.message_type
        if inner is not None and inner.full_name not in above:
            yield from strings(inner, (*above, inner.full_name))
        elif field.type == FieldDescriptor.TYPE_STRING:
            yield field

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import contracts
import event_schemas
import jsonschema
import pytest
from contracts import Documented, Event
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from firetrial_kit import events
from firetrial_kit.testing import ManualClock
from firetrial_operate.contracts import message
from support.catalogue import catalogue

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def known() -> dict[str, Documented]:
    return contracts.documented(contracts.image())


@pytest.fixture(scope="module")
def declared(known: dict[str, Documented]) -> list[Event]:
    return contracts.declared(known)


def filled(type_: Any, depth: int = 3) -> Any:
    """A message with something in each field, down to a depth."""
    made = type_()
    for field in type_.DESCRIPTOR.fields:
        if field.message_type and field.message_type.GetOptions().map_entry:
            getattr(made, field.name)["k"] = 1
        elif field.message_type:
            inner = (
                filled(message(field.message_type.full_name) or _known(made, field), depth - 1)
                if depth
                else None
            )
            if field.is_repeated and inner is not None:
                getattr(made, field.name).append(inner)
            elif inner is not None:
                getattr(made, field.name).CopyFrom(inner)
        elif field.is_repeated:
            getattr(made, field.name).append(_value(field))
        else:
            setattr(made, field.name, _value(field))
    return made


def _known(made: Message, field: Any) -> Any:
    return type(getattr(made, field.name))


def _value(field: Any) -> Any:
    if field.enum_type:
        return field.enum_type.values[-1].number
    return (
        {field.CPPTYPE_STRING: "x", field.CPPTYPE_BOOL: True}.get(field.cpp_type, 7)
        if field.type != field.TYPE_BYTES
        else b"\xff"
    )


def test_every_message_of_the_events_files_is_declared(
    known: dict[str, Documented], declared: list[Event]
) -> None:
    told = {name for name, found in known.items() if found.file.endswith("/events.proto")}
    assert told == {event.type for event in declared}


def test_every_event_can_be_published_and_has_the_headers_that_are_declared(declared: list[Event]) -> None:
    names = list(catalogue().document["components"]["schemas"]["headers"]["properties"])
    for event in declared:
        payload = message(event.type)
        assert payload is not None
        teller = {"*": "runner"}.get(event.services[0], event.services[0])
        if event.stream == events.WORK:
            made = events.work(teller, "gpu", "k-1", payload(), clock=ManualClock())
        else:
            made = events.fact(teller, "k-1", payload(), clock=ManualClock())
        assert event.holds(made.subject)
        assert [*made.headers, "Nats-Msg-Id"] == names
        assert (
            catalogue().faults(made.subject, {**made.headers, "Nats-Msg-Id": made.message_id}, made.data)
            == []
        )


def test_each_service_makes_the_events_that_it_is_said_to_send(declared: list[Event]) -> None:
    for event in declared:
        short = event.type.rpartition(".")[2]
        for service in event.services:
            if service == "outside":
                continue
            folder = "libs/kit/src" if service == "*" else f"services/{service}/src"
            sources = (path.read_text() for path in (ROOT / folder).rglob("*.py"))
            assert any(re.search(rf"\b{short}\(", text) for text in sources), (service, short)


def test_every_reference_leads_somewhere_and_everything_is_described() -> None:
    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(ref := value.get("$ref"), str):
                catalogue().resolved(ref)
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(catalogue().document)
    for name, channel in catalogue().document["channels"].items():
        assert channel["description"], name


def test_the_schemas_are_of_what_protobuf_writes(known: dict[str, Documented], declared: list[Event]) -> None:
    for event in declared:
        made = filled(message(event.type))
        told = MessageToDict(made, preserving_proto_field_name=True)
        schema = {"components": {"schemas": event_schemas.schemas(known, [event.type])}}
        whole = {**schema, "$ref": f"#/components/schemas/{event.type}"}
        validator = jsonschema.Draft7Validator({**schema, "allOf": [{"$ref": whole["$ref"]}]})
        assert [error.message for error in validator.iter_errors(told)] == []
        for name in told:
            assert not validator.is_valid({**told, name: {"no": []} if isinstance(told[name], str) else "no"})

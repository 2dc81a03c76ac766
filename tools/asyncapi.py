"""The event catalogue as an AsyncAPI 3.0 document, from the contracts and from what the services consume.

python tools/asyncapi.py            writes docs/asyncapi.yaml
python tools/asyncapi.py --check    exits 1 where that is not what the code says
"""

from __future__ import annotations

import asyncio
import difflib
import importlib
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import contracts
import event_schemas
from contracts import ROOT, Documented, Event

from firetrial_kit import host, logs, metrics, service
from firetrial_kit.bus import MAX_PAYLOAD, Consumer
from firetrial_kit.clock import SystemClock
from firetrial_kit.events import ANY
from firetrial_kit.figures import Figures
from firetrial_kit.settings import CommonSettings
from firetrial_kit.testing import InMemoryBus, InMemoryObjects, InMemoryState

DOCUMENT = ROOT / "docs" / "asyncapi.yaml"
ABOUT = f"""\
What the services of Firetrial tell each other, and anyone who listens. A fact is told on
ft.evt.<service>.v1.<fact>.<key> and kept for two weeks in the stream FT_EVT; work waits on
ft.work.<kind>.<pool> in the stream FT_WORK until it is done.

Delivery is at least once. The broker drops a repeat of the same Nats-Msg-Id within two minutes; beyond that
the same ce-id may come again, so a consumer must be ready to see a message twice. Order is that of publishing
within a subject; nothing is promised across subjects. Whoever consumes makes a durable consumer of its own on
FT_EVT.

The payload is the protobuf message that ce-type names, at most {MAX_PAYLOAD // 1024} KiB: bodies stay in the
object store and travel as references. The schemas here are of protobuf's JSON mapping with the names of the
contract, as webhooks send it. Fields, enum values, headers and facts may be added at any time, and a consumer
must pass over what it does not know; none is removed or renamed within v1.
"""
_HEADERS = "firetrial.event.v1.Headers"
_FORMS: dict[str, dict[str, str]] = {
    "ce-specversion": {"const": "1.0"},
    "ce-time": {"format": "date-time"},
    "content-type": {"const": "application/protobuf"},
    "traceparent": {"pattern": "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"},
}
_PARAMETERS = {
    "pool": "The pool of runners that takes the work: [a-z0-9-]{1,32}.",
    "service": "The service that tells it of itself.",
}


async def _nothing() -> Figures:
    return Figures((), (), (), {}, 0, None)


async def consumers() -> dict[str, list[Consumer]]:
    """What each service consumes, by its name: built as it is when it runs, on parts in memory."""
    found = {}
    for name, build in sorted(host.installed().items()):
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="firetrial-"))
            environ = {
                "FIRETRIAL_OBJECTS_URL": f"file://{folder}/objects",
                "FIRETRIAL_RUNNER_WORK_DIR": f"{folder}/work",
                "FIRETRIAL_RUNNER_SANDBOX": "host",
                "FIRETRIAL_RUNNER_UNSAFE_HOST": "true",
            }
            parts = service.Parts(
                service=name, environ=environ, settings=CommonSettings.from_env(environ, name),
                bus=InMemoryBus(), state=InMemoryState(), objects=InMemoryObjects(), clock=SystemClock(),
                metrics=metrics.KitMetrics(metrics.new_registry()), broker=_nothing, log=logs.logger(name),
                instance="", stack=stack,
            )  # fmt: skip
            found[name] = list((await build(parts)).consumers)
    return found


def takers(event: Event, found: Mapping[str, Iterable[Consumer]]) -> list[str]:
    """The services that consume an event."""
    return [
        name
        for name, several in found.items()
        if any(event.holds(subject) for consumer in several for subject in consumer.subjects)
    ]


def unknown(events: Iterable[Event], found: Mapping[str, Iterable[Consumer]]) -> list[str]:
    """Subjects that a service waits on and nobody declares."""
    subjects = (
        subject for several in found.values() for consumer in several for subject in consumer.subjects
    )
    return [subject for subject in subjects if not any(event.holds(subject) for event in events)]


def document(known: Mapping[str, Documented], found: Mapping[str, Iterable[Consumer]]) -> dict[str, Any]:
    """The AsyncAPI document. Exits where a service waits for what nobody declares."""
    events = contracts.declared(known)
    if strange := unknown(events, found):
        sys.exit(f"no contract declares {', '.join(strange)}")
    types = sorted({event.type for event in events})
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Firetrial events",
            "version": "1",
            "description": ABOUT,
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/protobuf",
        "servers": {
            "broker": {
                "host": "{host}:{port}",
                "protocol": "nats",
                "description": "NATS with JetStream, 2.10 or newer.",
                "variables": {"host": {"default": "127.0.0.1"}, "port": {"default": "4222"}},
            }
        },
        "channels": {event.name: _channel(event, known[event.type]) for event in events},
        "operations": {
            name: operation
            for event in events
            for name, operation in _operations(event, takers(event, found))
        },
        "components": {
            "messages": {type_: _message(type_, known[type_]) for type_ in types},
            "schemas": {
                "headers": _headers(known[_HEADERS]),
                **event_schemas.schemas(known, types),
            },
        },
    }


def _channel(event: Event, of: Documented) -> dict[str, Any]:
    short = event.type.rpartition(".")[2]
    names = [part[1:-1] for part in event.address.split(".") if part.startswith("{")]
    return {
        "address": event.address,
        "description": of.comment,
        "messages": {short: {"$ref": f"#/components/messages/{event.type}"}},
        "parameters": {
            name: {"description": _PARAMETERS.get(name, f"The id of the {name}, as in ce-subject.")}
            for name in names
        },
        "x-stream": event.stream,
    }


def _operations(event: Event, taken_by: Iterable[str]) -> Iterable[tuple[str, dict[str, Any]]]:
    short = event.type.rpartition(".")[2]
    channel = f"#/channels/{event.name}"
    common = {"channel": {"$ref": channel}, "messages": [{"$ref": f"{channel}/messages/{short}"}]}
    for name in event.services:
        who = "each" if name == ANY else name
        yield f"{who}-sends-{event.name}", {"action": "send", **common, "x-service": name}
    for name in taken_by:
        yield f"{name}-takes-{event.name}", {"action": "receive", **common, "x-service": name}


def _message(type_: str, of: Documented) -> dict[str, Any]:
    return {
        "name": type_,
        "title": type_.rpartition(".")[2],
        "summary": of.comment,
        "contentType": "application/protobuf",
        "headers": {
            "allOf": [{"$ref": "#/components/schemas/headers"}, {"properties": {"ce-type": {"const": type_}}}]
        },
        "payload": {"$ref": f"#/components/schemas/{type_}"},
        "x-proto": of.file,
    }


def _headers(of: Documented) -> dict[str, Any]:
    properties = {
        field.json_name: {
            "type": "string",
            "description": of.comments[field.name],
            **_FORMS.get(field.json_name, {}),
        }
        for field in of.fields
    }
    return {"type": "object", "required": list(properties), "properties": properties}


def _str(dumper: Any, text: str) -> Any:
    """Texts of several lines stay readable."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _yaml(value: Any) -> str:
    """Without anchors: each thing stands where it belongs."""
    yaml = importlib.import_module("yaml")  # ships no types
    dumper: Any = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})
    dumper.add_representer(str, _str)
    return str(yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=110))


def text() -> str:
    """The document as it is committed."""
    known = contracts.documented(contracts.image())
    told = document(known, asyncio.run(consumers()))
    head = "# Made by make asyncapi from proto/ and the services. Do not edit.\n"
    return head + _yaml(told)


def main(arguments: list[str]) -> None:
    logs.configure("error")
    made = text()
    if "--check" not in arguments:
        DOCUMENT.write_text(made)
        return
    there = DOCUMENT.read_text() if DOCUMENT.exists() else ""
    if made != there:
        names = ("docs/asyncapi.yaml", "the code")
        sys.stderr.writelines(difflib.unified_diff(there.splitlines(True), made.splitlines(True), *names))
        sys.exit("docs/asyncapi.yaml is not what the code says: run make asyncapi and commit")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The contracts that are installed here: their messages by name, and the facts that they declare."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

import firetrial
from firetrial.event.v1 import event_pb2

_STUBS = "*/v*/*_pb2.py"


@cache
def _modules() -> tuple[Any, ...]:
    """All of them, loaded."""
    there = {
        path.relative_to(place) for place in map(Path, firetrial.__path__) for path in place.glob(_STUBS)
    }
    return tuple(
        import_module(".".join(["firetrial", *path.with_suffix("").parts])) for path in sorted(there)
    )


@cache
def facts() -> frozenset[tuple[str, str]]:
    """(service, name) of each fact; the service "*" stands for each."""
    found = set()
    for module in _modules():
        for descriptor in module.DESCRIPTOR.message_types_by_name.values():
            fact = descriptor.GetOptions().Extensions[event_pb2.fact]
            found |= {(service, fact.name) for service in fact.services}
    return frozenset(found)


def message(name: str) -> type[Message] | None:
    """The message of that full name; None for what is none of ours."""
    _modules()
    if not name.startswith("firetrial."):
        return None
    try:
        return GetMessageClass(descriptor_pool.Default().FindMessageTypeByName(name))
    except KeyError:
        return None


@cache
def works() -> frozenset[tuple[str, str]]:
    """(service, kind) of work, by who asks for it."""
    found = set()
    for module in _modules():
        for descriptor in module.DESCRIPTOR.message_types_by_name.values():
            work = descriptor.GetOptions().Extensions[event_pb2.work]
            found |= {(service, work.kind) for service in work.services}
    return frozenset(found)

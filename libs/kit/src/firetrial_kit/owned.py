"""The ids of resources in requests and answers: the fields that their contract marks as owned."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from firetrial.access.v1 import access_pb2
from firetrial_kit import tenants
from firetrial_kit.errors import Fault, check

LONGEST = 512
"""Characters of an id. Nothing has a longer one, and who keeps keys and tells errors need not bear it."""


def take(request: Message) -> list[str]:
    """Make each id in a request one of the caller's tenant; the ids as they are then.

    Raises INVALID for what is too long to be one.
    """
    found = []
    for message, field in _fields(request):
        value = getattr(message, field.name)
        check("the request", _too_long(field, value if field.is_repeated else [value]))
        if field.is_repeated:
            ids = [tenants.asked(id_) for id_ in value]
            del value[:]
            value.extend(ids)
            found += ids
        elif value:
            found.append(tenants.asked(value))
            setattr(message, field.name, found[-1])
    return found


def _too_long(field: FieldDescriptor, ids: Iterable[str]) -> Iterator[Fault]:
    cure = f"must be an id, which has at most {LONGEST} characters"
    return (Fault(field.name, id_, cure) for id_ in ids if len(id_) > LONGEST)


def ids(answer: Message) -> list[str]:
    """The ids in an answer."""
    found = []
    for message, field in _fields(answer):
        value = getattr(message, field.name)
        found += list(value) if field.is_repeated else [value] if value else []
    return found


def _fields(message: Message) -> Iterator[tuple[Message, FieldDescriptor]]:
    """Each owned field, with the message that holds it."""
    for field in _marked(message.DESCRIPTOR):
        if field.message_type is None:
            yield message, field
        elif field.is_repeated:
            for each in getattr(message, field.name):
                yield from _fields(each)
        elif message.HasField(field.name):
            yield from _fields(getattr(message, field.name))


@functools.cache
def _marked(type_: Descriptor) -> tuple[FieldDescriptor, ...]:
    """The fields that are owned, or below which some are."""
    return tuple(field for field in type_.fields if _is_marked(field, ()))


def _is_marked(field: FieldDescriptor, above: tuple[Descriptor, ...]) -> bool:
    inner = field.message_type
    if inner is None:
        return bool(field.GetOptions().Extensions[access_pb2.owned])
    if inner.GetOptions().map_entry or inner in above:
        return False
    return any(_is_marked(each, (*above, inner)) for each in inner.fields)

"""JSON Schema (draft 7) of messages in protobuf's JSON mapping, with the names of the contract.

https://protobuf.dev/programming-guides/json/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from contracts import Documented
from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto

_INTEGERS = {
    FieldDescriptorProto.TYPE_INT32, FieldDescriptorProto.TYPE_SINT32, FieldDescriptorProto.TYPE_SFIXED32,
    FieldDescriptorProto.TYPE_UINT32, FieldDescriptorProto.TYPE_FIXED32,
}  # fmt: skip
_LONG = {
    FieldDescriptorProto.TYPE_INT64, FieldDescriptorProto.TYPE_SINT64, FieldDescriptorProto.TYPE_SFIXED64,
    FieldDescriptorProto.TYPE_UINT64, FieldDescriptorProto.TYPE_FIXED64,
}  # fmt: skip
_REALS = {FieldDescriptorProto.TYPE_DOUBLE, FieldDescriptorProto.TYPE_FLOAT}
_KNOWN: dict[str, dict[str, Any]] = {
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Duration": {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$"},
}


def schemas(contracts: Mapping[str, Documented], roots: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The schemas of `roots` and of all that they hold, by full name."""
    found: dict[str, dict[str, Any]] = {}
    waiting = sorted(roots)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        of = contracts[name]
        if isinstance(of.descriptor, EnumDescriptorProto):
            found[name] = _enum(of, of.descriptor)
            continue
        found[name] = _message(contracts, of, of.descriptor)
        waiting += [
            field.type_name[1:]
            for field in _fields(contracts, of.descriptor)
            if field.type_name and field.type_name[1:] not in _KNOWN
        ]
    return dict(sorted(found.items()))


def _enum(of: Documented, enum: EnumDescriptorProto) -> dict[str, Any]:
    told = [f"{value.name}: {of.comments[value.name]}" for value in enum.value if of.comments[value.name]]
    text = "\n".join(filter(None, [of.comment, *told]))
    # A value that the sender's contracts have and the receiver's lack travels as its number.
    names = {"type": "string", "enum": [value.name for value in enum.value]}
    return _said(text, {"oneOf": [names, {"type": "integer"}]})


def _message(contracts: Mapping[str, Documented], of: Documented, message: DescriptorProto) -> dict[str, Any]:
    properties = {
        field.name: _said(of.comments[field.name], _field(contracts, field)) | {"x-number": field.number}
        for field in message.field
    }
    return _said(of.comment, {"type": "object", "properties": properties, "x-proto": of.file})


def _field(contracts: Mapping[str, Documented], field: FieldDescriptorProto) -> dict[str, Any]:
    if (entry := _entry(contracts, field)) is not None:
        return {"type": "object", "additionalProperties": _single(entry.field[1])}
    single = _single(field)
    return {"type": "array", "items": single} if field.label == field.LABEL_REPEATED else single


def _single(field: FieldDescriptorProto) -> dict[str, Any]:
    kind = field.type
    if field.type_name:
        name = field.type_name[1:]
        return dict(_KNOWN.get(name) or {"$ref": f"#/components/schemas/{name}"})
    if kind in _INTEGERS:
        return {"type": "integer"}
    if kind in _LONG:
        return {"type": "string", "pattern": "^-?[0-9]+$"}
    if kind in _REALS:
        return {"oneOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}
    if kind == field.TYPE_BYTES:
        return {"type": "string", "contentEncoding": "base64"}
    return {"type": "boolean" if kind == field.TYPE_BOOL else "string"}


def _entry(contracts: Mapping[str, Documented], field: FieldDescriptorProto) -> DescriptorProto | None:
    """The entry type of a map; None for what is none."""
    of = contracts.get(field.type_name[1:])
    held = of.descriptor if of else None
    return held if isinstance(held, DescriptorProto) and held.options.map_entry else None


def _fields(contracts: Mapping[str, Documented], message: DescriptorProto) -> Iterable[FieldDescriptorProto]:
    """Those of the message, with those that maps hold instead of the maps."""
    for field in message.field:
        entry = _entry(contracts, field)
        yield entry.field[1] if entry is not None else field


def _said(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    if not text:
        return schema
    # Beside a $ref, draft 7 reads nothing.
    inner = {"allOf": [schema]} if "$ref" in schema else schema
    return {"description": text, **inner}

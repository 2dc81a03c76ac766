"""Facts as CloudEvents 1.0 in JSON, structured mode.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_operate import contracts

_NEEDED = ("ce-specversion", "ce-id", "ce-source", "ce-type")
_CARRIED = ("ce-specversion", "ce-id", "ce-source", "ce-type", "ce-subject", "ce-time")


@dataclass(frozen=True, slots=True)
class CloudEvent:
    """What is sent. `webhook_id` is the same however often the fact comes, `key` names what it is about."""

    webhook_id: str
    key: str
    body: bytes
    traceparent: str = ""


def event_of(subject: str, headers: Mapping[str, str], data: bytes) -> CloudEvent:
    """A fact as it was told on the bus. Raises INVALID for what is no CloudEvent of ours."""
    lacking = [name for name in _NEEDED if not headers.get(name)]
    if lacking:
        raise FiretrialError(Reason.INVALID, f"the message on {subject} has no {', '.join(lacking)}")
    told = {name.removeprefix("ce-"): headers[name] for name in _CARRIED if headers.get(name)}
    trace = headers.get("traceparent", "")
    body = {**told, **({"traceparent": trace} if trace else {}), **_data(told["type"], data)}
    return CloudEvent(
        webhook_id=f"msg_{digest(told['source'], told['id'], length=32)}",
        key=told.get("subject", ""),
        body=_encoded(body),
        traceparent=trace,
    )


def ping(id_: str, at: str) -> CloudEvent:
    """An event that says nothing, to see whether an endpoint answers."""
    told = {
        "specversion": "1.0",
        "id": id_,
        "source": "/firetrial/webhooks",
        "type": "firetrial.ping",
        "time": at,
    }
    return CloudEvent(f"msg_{digest(id_, length=32)}", "", _encoded({**told, "data": {}}))


def _data(type_: str, data: bytes) -> dict[str, Any]:
    """The payload in protobuf's JSON mapping, with the names of the contract and with empty fields.

    A message that is newer than this program travels as it came.
    """
    message_type = contracts.message(type_)
    if message_type is None:
        return {"datacontenttype": "application/protobuf", "data_base64": base64.b64encode(data).decode()}
    try:
        message = message_type.FromString(data)
    except DecodeError as error:
        raise FiretrialError(Reason.INVALID, f"its data is no {type_}") from error
    told = MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    return {"datacontenttype": "application/json", "data": told}


def _encoded(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()

"""docs/asyncapi.yaml as those read it who only have the document, held against what is really told."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from google.protobuf.json_format import MessageToDict

from firetrial_kit.jetstream import connect
from firetrial_operate import contracts
from firetrial_operate.admin.stored import messages

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "asyncapi.yaml"
_LOOKED_INTO = 50
Told = tuple[str, Mapping[str, str], bytes]
"""Subject, headers and data of a message."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    document: Mapping[str, Any]

    def channel(self, subject: str) -> str:
        """The channel that a subject, or a filter with wildcards, is of; ""."""
        return next(
            (
                name
                for name, channel in self.document["channels"].items()
                if re.fullmatch(re.sub(r"\\{\w+\\}", r"[^.]+", re.escape(channel["address"])), subject)
            ),
            "",
        )

    def services(self, channel: str, action: str) -> set[str]:
        """Who sends to a channel, or receives from it; "*" is each service."""
        return {
            operation["x-service"]
            for operation in self.document["operations"].values()
            if operation["channel"]["$ref"] == f"#/channels/{channel}" and operation["action"] == action
        }

    def faults(self, subject: str, headers: Mapping[str, str], data: bytes) -> list[str]:
        """What the document says otherwise of a message."""
        channel = self.channel(subject)
        if not channel:
            return [f"{subject}: no channel has such an address"]
        (message,) = self.document["channels"][channel]["messages"].values()
        told = self.resolved(message["$ref"])
        found = [*self._broken(told["headers"], dict(headers))]
        sender = headers.get("ce-source", "").removeprefix("/firetrial/")
        if not {sender, "*"} & self.services(channel, "send"):
            found.append(f"{sender} does not send it")
        type_ = contracts.message(told["name"])
        assert type_ is not None, told["name"]
        payload = type_.FromString(data)
        if payload.SerializeToString(deterministic=True) != data:
            found.append(f"its data is not all of a {told['name']}")
        found += self._broken(told["payload"], MessageToDict(payload, preserving_proto_field_name=True))
        return [f"{subject}: {fault}" for fault in found]

    def resolved(self, ref: str) -> Any:
        """What a reference inside the document leads to. Raises KeyError."""
        value: Any = self.document
        for part in ref.removeprefix("#/").split("/"):
            value = value[part]
        return value

    def _broken(self, schema: Mapping[str, Any], value: Any) -> list[str]:
        whole = {"components": self.document["components"], "allOf": [schema]}
        validator = jsonschema.Draft7Validator(whole, format_checker=jsonschema.FormatChecker())
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


@cache
def catalogue() -> Catalogue:
    """The committed one."""
    yaml = importlib.import_module("yaml")  # ships no types
    return Catalogue(yaml.load(DOCUMENT.read_text(), yaml.CSafeLoader))


async def told(nats_url: str) -> list[Told]:
    """Every fact that a broker holds."""
    client = await connect(nats_url, name="catalogue")
    try:
        js = client.jetstream(timeout=10)
        return [(one.subject, one.headers, one.data) async for one in messages(js, "FT_EVT", "ft.evt.>")]
    finally:
        await client.close()


async def prove(nats_url: str) -> set[str]:
    """The channels of all that was told on a broker. Fails naming what the document says otherwise.

    Of each channel the first messages are looked into.
    """
    counts: Counter[str] = Counter()
    faults = []
    for message in await told(nats_url):
        channel = catalogue().channel(message[0])
        counts[channel] += 1
        if not channel or counts[channel] <= _LOOKED_INTO:
            faults += catalogue().faults(*message)
    assert not faults, faults[:20]
    return set(counts)

"""The contracts as descriptors with their comments, and the events that they declare."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from google.protobuf import descriptor_pb2

from firetrial.event.v1 import event_pb2
from firetrial_kit import events

ROOT = Path(__file__).resolve().parents[1]
PROTO = ROOT / "proto"
# What make proto-release writes.
RELEASED = PROTO / "released.binpb"
_MESSAGES, _ENUMS, _NESTED, _NESTED_ENUMS, _FIELDS, _VALUES = (
    4,
    5,
    3,
    4,
    2,
    2,
)  # field numbers in descriptor.proto


@dataclass(frozen=True, slots=True)
class Documented:
    """A message, an enum, and what is said of it and of its fields or values."""

    descriptor: descriptor_pb2.DescriptorProto | descriptor_pb2.EnumDescriptorProto
    file: str
    comment: str
    comments: Mapping[str, str]

    @property
    def fields(self) -> Sequence[descriptor_pb2.FieldDescriptorProto]:
        """Of a message; an enum has none."""
        return self.descriptor.field if isinstance(self.descriptor, descriptor_pb2.DescriptorProto) else ()


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """A fact or work: where it travels, with {…} for what varies, and who sends it."""

    address: str
    type: str
    name: str
    key: str
    services: tuple[str, ...]

    @property
    def stream(self) -> str:
        return next(name for name, pattern in events.STREAMS.items() if self.address.startswith(pattern[:-1]))

    def holds(self, subject: str) -> bool:
        """Whether a message on `subject`, or a filter with wildcards, is of this kind."""
        return re.fullmatch(re.sub(r"\\{\w+\\}", r"[^.]+", re.escape(self.address)), subject) is not None


def image(proto: Path = PROTO, *, comments: bool = True) -> bytes:
    """The contracts below `proto` as a FileDescriptorSet. Exits where they do not compile."""
    buf = str(Path(sys.executable).with_name("buf"))
    argv = [buf, "build", str(proto), "--as-file-descriptor-set", "-o", "-#format=binpb"]
    without = [] if comments else ["--exclude-source-info"]
    made = subprocess.run([*argv, *without], capture_output=True, check=False)
    if made.returncode:
        sys.exit(made.stderr.decode())
    return made.stdout


def documented(data: bytes) -> dict[str, Documented]:
    """Messages and enums of a FileDescriptorSet by full name."""
    files = descriptor_pb2.FileDescriptorSet.FromString(data).file
    return {name: found for file in files for name, found in _of_file(file)}


def declared(contracts: Mapping[str, Documented]) -> list[Event]:
    """The events that the contracts declare, by address."""
    return sorted(event for name, found in contracts.items() for event in _of_message(name, found))


def _of_file(file: descriptor_pb2.FileDescriptorProto) -> Iterator[tuple[str, Documented]]:
    said = {
        tuple(location.path): _plain(location.leading_comments or location.trailing_comments)
        for location in file.source_code_info.location
    }

    def enums(
        found: list[descriptor_pb2.EnumDescriptorProto], path: tuple[int, ...], scope: str
    ) -> Iterator[tuple[str, Documented]]:
        for index, enum in enumerate(found):
            at = (*path, index)
            values = {value.name: said.get((*at, _VALUES, i), "") for i, value in enumerate(enum.value)}
            yield f"{scope}.{enum.name}", Documented(enum, file.name, said.get(at, ""), values)

    def messages(
        found: list[descriptor_pb2.DescriptorProto], path: tuple[int, ...], scope: str
    ) -> Iterator[tuple[str, Documented]]:
        for index, message in enumerate(found):
            at, name = (*path, index), f"{scope}.{message.name}"
            fields = {field.name: said.get((*at, _FIELDS, i), "") for i, field in enumerate(message.field)}
            yield name, Documented(message, file.name, said.get(at, ""), fields)
            yield from messages(list(message.nested_type), (*at, _NESTED), name)
            yield from enums(list(message.enum_type), (*at, _NESTED_ENUMS), name)

    yield from messages(list(file.message_type), (_MESSAGES,), file.package)
    yield from enums(list(file.enum_type), (_ENUMS,), file.package)


def _of_message(name: str, found: Documented) -> Iterator[Event]:
    if not isinstance(found.descriptor, descriptor_pb2.DescriptorProto):
        return
    options = found.descriptor.options.Extensions
    fact, work = options[event_pb2.fact], options[event_pb2.work]
    services = tuple(fact.services)
    if services:
        alone = len(services) == 1 and services != (events.ANY,)
        address = f"ft.evt.{services[0] if alone else '{service}'}.v1.{fact.name}.{{{fact.key}}}"
        yield Event(address, name, fact.name, fact.key, services)
    if work.kind:
        address = f"ft.work.{work.kind}.{{pool}}"
        yield Event(address, name, f"{work.kind}_work", work.key, tuple(work.services))


def _plain(comment: str) -> str:
    return " ".join(line.strip() for line in comment.strip().splitlines())

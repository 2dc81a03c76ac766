"""Python stubs of other versions of the contracts: of released ones, and of ones that are still to come."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorSet

ROOT = Path(__file__).resolve().parents[2]
RELEASED = ROOT / "proto" / "released.binpb"
NEWS = ("from_the_future", 15001)
"""The field that each message of the future has, a string."""


def build(image: bytes, folder: Path) -> Path:
    """The stubs of a FileDescriptorSet below `folder`, as `make proto` would make them of its sources."""
    folder.mkdir(parents=True)
    (folder / "image.binpb").write_bytes(image)
    files = [
        file.name for file in FileDescriptorSet.FromString(image).file if file.name.startswith("firetrial/")
    ]
    argv = [sys.executable, "-m", "grpc_tools.protoc", f"--descriptor_set_in={folder}/image.binpb"]
    subprocess.run([*argv, f"--python_out={folder}", f"--grpc_python_out={folder}", *files], check=True)
    return folder


def future(image: bytes) -> bytes:
    """The same contracts with one more field in each message."""
    files = FileDescriptorSet.FromString(image)
    for file in files.file:
        if file.package.startswith("firetrial."):
            for message in file.message_type:
                _extend(message)
    return files.SerializeToString()


def _extend(message: DescriptorProto) -> None:
    for inner in message.nested_type:
        _extend(inner)
    if not message.options.map_entry:
        name, number = NEWS
        kind, label = FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.LABEL_OPTIONAL
        message.field.add(name=name, json_name="fromTheFuture", number=number, type=kind, label=label)

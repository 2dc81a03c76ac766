"""Repository runs as runners leave them in the store."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from google.protobuf.json_format import MessageToJson

from firetrial.parser.v1 import repository_pb2, task_pb2
from firetrial.runner.v1 import steps_pb2
from firetrial_kit.references import ref_to_wire
from firetrial_kit.testing import InMemoryObjects
from support.tars import tarred

State = steps_pb2.RepositoryStep.State


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def step(
    number: int, metric: float | None, text: str = "", *, void: bool = False
) -> steps_pb2.RepositoryStep:
    """A step that handed in `text` for model.py; failed where it has no metric."""
    state = State.STATE_VOID if void else State.STATE_FAILED if metric is None else State.STATE_VALID
    files = {"model.py": sha256(text)} if text else {}
    made = steps_pb2.RepositoryStep(step=number, state=state, metric=metric, files=files)
    made.took.FromSeconds(2)
    return made


async def put_task(
    objects: InMemoryObjects, task_id: str, spec: repository_pb2.RepositorySpec, pinned: Mapping[str, str]
) -> None:
    """The public part of a task, with its pinned source."""
    tar = tarred(*((name, text.encode()) for name, text in pinned.items()))
    spec.source.CopyFrom(ref_to_wire(await objects.put("runs", f"tasks/{task_id}/source.tar", tar, "")))
    task = task_pb2.Task(id=task_id, kind=task_pb2.TASK_KIND_REPOSITORY, repository=spec)
    data = MessageToJson(task, preserving_proto_field_name=True).encode()
    await objects.put("runs", f"tasks/{task_id}/task.json", data, "")


async def put_steps(
    objects: InMemoryObjects, run_id: str, steps: Sequence[steps_pb2.RepositoryStep], texts: Sequence[str]
) -> bytes:
    """The steps of a run and the texts that they name; gives the lines."""
    lines = b"".join(
        MessageToJson(told, preserving_proto_field_name=True, indent=None).encode() + b"\n" for told in steps
    )
    await objects.put("runs", f"runs/{run_id}/steps.jsonl", lines, "")
    for text in texts:
        await objects.put("runs", f"runs/{run_id}/targets/{sha256(text)}", text.encode(), "")
    return lines

"""What the judge reads and writes in the object store."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.json_format import MessageToJson, Parse, ParseError
from google.protobuf.message import Message
from pydantic import TypeAdapter, ValidationError

from firetrial.artifact.v1 import artifact_pb2
from firetrial.judge.v1 import judgement_pb2
from firetrial.parser.v1 import task_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_judge.claims import Extraction
from firetrial_kit import tenants
from firetrial_kit.errors import Fault, FiretrialError, Reason, check
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef, Objects

M = TypeVar("M", bound=Message)
_JSON = "application/json"
_MAX_CONCLUSION = 16 * 1024 * 1024
_EXTRACTION: TypeAdapter[Extraction] = TypeAdapter(Extraction)


def check_left(uri: str) -> None:
    """What a runner says that a run left lies where runners can write. Raises INVALID.

    The judge may read the truth and runners may not: it must not read it for them.
    """
    fault = Fault("uri", uri, "must be an object of the bucket runs")
    check("what the run left", [] if uri.startswith("runs/") else [fault])


class Archive:
    """Texts in, judgements out."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def run(self, run_id: str) -> run_pb2.Run:
        """A run as it was when it had concluded. Raises NOT_FOUND where it has not, or does not exist."""
        try:
            data = await self._objects.get(f"runs/runs/{run_id}/result.json")
        except FiretrialError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
            raise FiretrialError(
                Reason.NOT_FOUND,
                f"there is no run {run_id!r} that has ended",
                faults=[Fault("run_id", run_id, "must be the id of a run that has ended")],
            ) from error
        return _parsed(data, run_pb2.Run())

    async def conclusion(self, ref: artifact_pb2.ArtifactRef) -> str:
        """The agent's conclusion; bytes that are no UTF-8 become replacement characters."""
        check_left(ref.uri)
        data = await self._objects.get(ref.uri, sha256=ref.sha256, max_size=_MAX_CONCLUSION)
        return data.decode("utf-8", "replace")

    async def task(self, task_id: str) -> task_pb2.Task:
        """The public part of a task. Raises NOT_FOUND."""
        return _parsed(await self._objects.get(f"runs/tasks/{task_id}/task.json"), task_pb2.Task())

    async def secret(self, task: task_pb2.Task) -> task_pb2.GroundTruth:
        """The secret part of a task. Raises PRECONDITION where it has none."""
        if not task.HasField("truth"):
            raise FiretrialError(Reason.PRECONDITION, f"task {task.id} has no ground truth to judge against")
        data = await self._objects.get(task.truth.uri, sha256=task.truth.sha256)
        return _parsed(data, task_pb2.GroundTruth())

    async def ground_truth(self, task_id: str) -> str:
        """The findings of a task as prose. Raises PRECONDITION where the task has none."""
        task = await self.task(task_id)
        if not task.has_truth:
            raise FiretrialError(Reason.PRECONDITION, f"task {task_id} has no ground truth to judge against")
        if task.kind == task_pb2.TASK_KIND_REPOSITORY:
            raise FiretrialError(Reason.PRECONDITION, f"task {task_id} is judged by its sealed test alone")
        if task.kind == task_pb2.TASK_KIND_FOLLOW_UP:
            raise FiretrialError(Reason.PRECONDITION, f"task {task_id} is graded as its runs end, by rubrics")
        return (await self.secret(task)).text

    async def steps(self, run_id: str) -> bytes:
        """The steps of a repository run as JSON lines; none where it made none."""
        try:
            return await self._objects.get(f"runs/runs/{run_id}/steps.jsonl")
        except FiretrialError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
            return b""

    async def target(self, run_id: str, sha256: str) -> bytes:
        """The text of a target file that a run handed in."""
        return await self._objects.get(f"runs/runs/{run_id}/targets/{sha256}", sha256=sha256)

    async def find(self, id_: str) -> tuple[judgement_pb2.Judgement, ObjectRef] | None:
        """The judgement with this id, and where it lies."""
        ref = await self._objects.stat(_judgement(id_))
        return (await self.judgement(ref), ref) if ref else None

    async def judgement(self, ref: ObjectRef) -> judgement_pb2.Judgement:
        """The judgement at a reference."""
        return _parsed(await self._objects.get(ref.uri, sha256=ref.sha256), judgement_pb2.Judgement())

    async def put(self, judgement: judgement_pb2.Judgement) -> ObjectRef:
        """Store a judgement under its id."""
        bucket, _, key = _judgement(judgement.id).partition("/")
        data = MessageToJson(judgement, preserving_proto_field_name=True).encode()
        return await self._objects.put(bucket, key, data, _JSON)

    async def claims(self, text_hash: str, config_hash: str) -> Extraction | None:
        """The claims of a ground truth as this configuration extracted them before; None if it has not."""
        key = _claims(text_hash, config_hash)
        if await self._objects.stat(f"results/{key}") is None:
            return None
        try:
            return _EXTRACTION.validate_json(await self._objects.get(f"results/{key}"))
        except ValidationError:
            return None  # of an older form: extracted again

    async def keep_claims(self, text_hash: str, config_hash: str, extraction: Extraction) -> None:
        """Keep them for the next run of the same task."""
        key = _claims(text_hash, config_hash)
        await self._objects.put("results", key, _EXTRACTION.dump_json(extraction), _JSON)


def _judgement(id_: str) -> str:
    return f"results/judgements/{id_}.json"


def _claims(text_hash: str, config_hash: str) -> str:
    return f"truth-claims/{tenants.apart(digest(text_hash, config_hash))}.json"


def _parsed(data: bytes, into: M) -> M:
    try:
        return Parse(data, into, ignore_unknown_fields=True)
    except (ParseError, UnicodeDecodeError) as error:
        name = into.DESCRIPTOR.full_name
        raise FiretrialError(Reason.CORRUPT, f"a stored object is no {name}: {error}") from error

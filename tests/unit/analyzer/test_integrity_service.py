"""Integrity in the service: from what a run left to GetAnalysis."""

import gzip
import io
import json
import tarfile

import pytest

from firetrial.analyzer.v1 import analyzer_service_pb2 as pb
from firetrial.analyzer.v1 import integrity_pb2
from firetrial.artifact.v1 import artifact_pb2
from firetrial.runner.v1 import run_pb2
from firetrial_analyzer.integrity.findings import Finding, Integrity, NumberTrace, Trace
from firetrial_analyzer.integrity_wire import integrity_to_wire
from firetrial_analyzer.taxonomy.steps import Citation
from unit.analyzer.bench import Bench, run

CONCLUSION = "The accuracy is 73.1%, the recall 0.612 and the precision 0.884."


def line(step: int, kind: str, text: str, **more: object) -> str:
    return json.dumps({"step": step, "offset_s": step, "kind": kind, "text": text, **more}) + "\n"


STEPS = [
    line(1, "command", "python eval.py", call="c1"),
    line(2, "output", "accuracy 0.7312", stream="stdout", call="c1"),
]


def tar(name: str, data: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


async def left(bench: Bench, artifacts: bytes, chunks: list[bytes]) -> run_pb2.Run:
    """A run with a conclusion, files and a trajectory in the store."""
    made = run()
    for n, (name, data) in enumerate([("conclusion", CONCLUSION.encode()), ("artifacts", artifacts)]):
        ref = await bench.everything.put("runs", f"runs/{made.id}/{name}", data, ["text/plain", "a/tar"][n])
        getattr(made, name).CopyFrom(artifact_pb2.ArtifactRef(uri=ref.uri, sha256=ref.sha256, size=ref.size))
    for n, chunk in enumerate(chunks, 1):
        key = f"runs/{made.id}/trajectory/{n:010}.jsonl.gz"
        await bench.everything.put("runs", key, chunk, "application/gzip")
    made.trajectory_chunks = len(chunks)
    return made


async def integrity(bench: Bench, made: run_pb2.Run) -> integrity_pb2.Integrity:
    await bench.judged(made)
    assert await bench.deliver("run_judged") == ["done"]
    answer = await bench.servicer.GetAnalysis(pb.GetAnalysisRequest(run_id=made.id), None)
    return answer.analysis.integrity


async def test_numbers_are_looked_up_in_outputs_and_files() -> None:
    bench = Bench()
    chunks = [gzip.compress(step.encode()) for step in STEPS]
    made = await left(bench, tar("metrics.json", b'{"recall": 0.6123}'), chunks)
    made.contacts.add(host="arxiv.org", requests=2)
    found = await integrity(bench, made)
    assert [(number.text, number.trace) for number in found.numbers] == [
        ("73.1%", integrity_pb2.TRACE_TRACED),
        ("0.612", integrity_pb2.TRACE_TRACED),
        ("0.884", integrity_pb2.TRACE_UNTRACED),
    ]
    assert [(cited.step, cited.quote) for cited in found.numbers[0].citations] == [(2, "accuracy 0.7312")]
    assert found.numbers[1].source == "metrics.json"
    assert [finding.name for finding in found.findings] == ["untraced_number", "literature_contacted"]
    assert found.complete


@pytest.mark.parametrize(
    ("artifacts", "chunks"), [(b"no tar", STEPS), (tar("a.json", b"1"), [STEPS[0], "\x1f\x8bno gzip"])]
)
async def test_what_cannot_be_read_is_a_finding(artifacts: bytes, chunks: list[str]) -> None:
    bench = Bench()
    made = await left(bench, artifacts, [chunk.encode("latin-1") for chunk in chunks])
    found = await integrity(bench, made)
    assert "not_read" in [finding.name for finding in found.findings]
    assert not found.complete


async def test_files_that_are_gone_are_a_finding() -> None:
    bench = Bench()
    made = await left(bench, tar("a.json", b"1"), [])
    made.artifacts.uri = f"runs/runs/{made.id}/gone"
    found = await integrity(bench, made)
    assert "could not be read" in found.findings[-1].statement


async def test_a_run_without_a_conclusion_has_no_integrity() -> None:
    bench = Bench()
    made = run()
    await bench.judged(made)
    await bench.deliver("run_judged")
    answer = await bench.servicer.GetAnalysis(pb.GetAnalysisRequest(run_id=made.id), None)
    assert not answer.analysis.HasField("integrity")


def test_every_trace_is_in_the_contract() -> None:
    numbers = tuple(
        NumberTrace("1", n, n + 1, trace, "x", (Citation(3, "q"),)) for n, trace in enumerate(Trace)
    )
    wire = integrity_to_wire(Integrity(numbers, (Finding("n", "s", (Citation(4, "r"),)),), complete=False))
    assert [integrity_pb2.Trace.Name(number.trace) for number in wire.numbers] == [
        f"TRACE_{trace.name}" for trace in Trace
    ]
    assert (wire.numbers[2].start, wire.numbers[2].end, wire.numbers[2].citations[0].step) == (2, 3, 3)
    assert (wire.findings[0].name, wire.findings[0].citations[0].quote, wire.complete) == ("n", "r", False)

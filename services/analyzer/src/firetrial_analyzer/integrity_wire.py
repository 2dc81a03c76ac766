"""Integrity as the contract carries it."""

from __future__ import annotations

from collections.abc import Sequence

from firetrial.analyzer.v1 import attribution_pb2
from firetrial.analyzer.v1 import integrity_pb2 as pb
from firetrial.runner.v1 import run_pb2
from firetrial_analyzer.analysing import Left
from firetrial_analyzer.integrity.contact import Host
from firetrial_analyzer.integrity.findings import Finding, Integrity, NumberTrace, Trace
from firetrial_analyzer.taxonomy.steps import Citation
from firetrial_kit.references import ref_to_domain

_TRACES = {trace: getattr(pb, f"TRACE_{trace.name}") for trace in Trace}


def left_to_domain(run: run_pb2.Run) -> Left:
    """What a run left, by reference."""
    conclusion = ref_to_domain(run.conclusion) if run.HasField("conclusion") else None
    artifacts = ref_to_domain(run.artifacts) if run.HasField("artifacts") else None
    hosts = tuple(Host(contact.host, contact.refused, contact.denied) for contact in run.contacts)
    return Left(run.trajectory_chunks, conclusion, artifacts, hosts)


def integrity_to_wire(found: Integrity) -> pb.Integrity:
    return pb.Integrity(
        numbers=map(_number, found.numbers),
        findings=map(_finding, found.findings),
        complete=found.complete,
    )


def _number(number: NumberTrace) -> pb.NumberTrace:
    return pb.NumberTrace(
        text=number.text,
        start=number.start,
        end=number.end,
        trace=_TRACES[number.trace],
        source=number.source,
        citations=_citations(number.citations),
    )


def _finding(finding: Finding) -> pb.Finding:
    return pb.Finding(name=finding.name, statement=finding.statement, citations=_citations(finding.citations))


def _citations(citations: Sequence[Citation]) -> list[attribution_pb2.Citation]:
    return [attribution_pb2.Citation(step=citation.step, quote=citation.quote) for citation in citations]

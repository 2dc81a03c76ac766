"""Integrity as the contract carries it."""

from __future__ import annotations

from collections.abc import Sequence

from firetrial.analyzer.v1 import attribution_pb2
from firetrial.analyzer.v1 import integrity_pb2 as pb
from firetrial_analyzer.integrity.findings import Finding, Integrity, NumberTrace, Trace
from firetrial_analyzer.taxonomy.steps import Citation

_TRACES = {trace: getattr(pb, f"TRACE_{trace.name}") for trace in Trace}


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

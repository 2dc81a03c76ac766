"""Integrity as JSON: what a rubric's folder of logs can hold, and what the command prints."""

from collections.abc import Sequence
from typing import Any

from firetrial_analyzer.integrity.findings import Integrity, Trace
from firetrial_analyzer.taxonomy.steps import Citation

SCHEMA = "firetrial.integrity/1"


def to_json(found: Integrity) -> dict[str, Any]:
    """An object of SCHEMA."""
    return {
        "schema": SCHEMA,
        "complete": found.complete,
        "counts": {trace.value: found.count(trace) for trace in Trace},
        "untraced_share": found.untraced_share,
        "fingerprint": found.fingerprint,
        "numbers": [
            {
                "text": number.text,
                "start": number.start,
                "end": number.end,
                "trace": number.trace.value,
                "source": number.source,
                "citations": _citations(number.citations),
            }
            for number in found.numbers
        ],
        "findings": [
            {
                "name": finding.name,
                "statement": finding.statement,
                "citations": _citations(finding.citations),
            }
            for finding in found.findings
        ],
    }


def _citations(citations: Sequence[Citation]) -> list[dict[str, Any]]:
    return [{"step": citation.step, "quote": citation.quote} for citation in citations]

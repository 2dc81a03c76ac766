"""What a run left, as the runner tells it."""

from __future__ import annotations

from firetrial.runner.v1 import run_pb2
from firetrial_analyzer.analysing import Left
from firetrial_analyzer.integrity.contact import Host
from firetrial_kit.references import ref_to_domain


def left_to_domain(run: run_pb2.Run) -> Left:
    """What a run left, by reference."""
    conclusion = ref_to_domain(run.conclusion) if run.HasField("conclusion") else None
    artifacts = ref_to_domain(run.artifacts) if run.HasField("artifacts") else None
    hosts = tuple(Host(contact.host, contact.refused, contact.denied) for contact in run.contacts)
    return Left(run.trajectory_chunks, conclusion, artifacts, hosts)

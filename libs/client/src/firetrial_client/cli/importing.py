"""What `firetrial import …` of a plugin needs to store the tasks it reads, and to ask the judge of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseDict

from firetrial.judge.v1.judgement_pb2 import Verdict
from firetrial.parser.v1.parser_service_pb2 import TaskHeader
from firetrial_client.errors import FiretrialError
from firetrial_client.sync import Firetrial

Submit = Callable[..., tuple[str, str]]
SubmitHeader = Callable[[Mapping[str, Any], Path | None], tuple[str, str]]
# An import works without a server, so it does not wait long to learn whether there is one.
_PROBE = 2.0


Entail = Callable[[str, Sequence[str]], tuple[list[tuple[int, str, str, str]], str, str]]


def entailer(endpoint: str | None) -> Entail | None:
    """A function that asks what a text gives away of findings; None where no judge service answers.

    It gives (number of the finding, claim, verdict, evidence) for each claim, the hash of the judge's
    configuration, and what is known of its quality.
    """
    if not _answers(endpoint, "judge"):
        return None

    def entail(premise: str, findings: Sequence[str]) -> tuple[list[tuple[int, str, str, str]], str, str]:
        with Firetrial(endpoint) as client:
            answer = client.check_entailment(premise, findings, atomic=True, searching=True)
        ruled = [
            (e.hypothesis, e.claim, Verdict.Name(e.verdict).removeprefix("VERDICT_"), e.evidence)
            for e in answer.entailments
        ]
        return ruled, answer.config_hash, answer.quality

    return entail


def _answers(endpoint: str | None, service: str) -> bool:
    try:
        with Firetrial(endpoint) as client:
            return client.health(_PROBE)[service] == "serving"
    except FiretrialError:
        return False


def header_submitter(endpoint: str | None) -> SubmitHeader:
    """A function that stores a task whose header is told in JSON, with its files as a tar; gives the same."""

    def submit_header(told: Mapping[str, Any], data: Path | None) -> tuple[str, str]:
        with Firetrial(endpoint) as client:
            task = client.submit_header(ParseDict(dict(told), TaskHeader()), data).task
        return task.id, task.version

    return submit_header


def submitter(endpoint: str | None) -> Submit | None:
    """A function that stores one task and gives its id and version; None where no parser service answers."""
    if not _answers(endpoint, "parser"):
        return None

    def submit_task(
        *,
        slug: str,
        question: str,
        instruction: str,
        ground_truth: str,
        broken: Sequence[str],
        origin: str,
        data: Path | None,
        difficulty: Mapping[str, int | str] | None = None,
        published: str = "",
    ) -> tuple[str, str]:
        with Firetrial(endpoint) as client:
            task = client.submit_task(
                slug,
                question=question,
                instruction=instruction,
                ground_truth=ground_truth,
                broken=broken,
                origin=origin,
                data=data,
                difficulty=difficulty,
                published=published,
            ).task
        return task.id, task.version

    return submit_task

"""The model's part: proposals out of papers, claims out of proposals, what supports them, and opinions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firetrial_kit.errors import Fault, FiretrialError
from firetrial_parser.asking import Asker, Bill, Prompt, load_prompt
from firetrial_parser.document import Document
from firetrial_parser.soundness.assessment import Bucket, Mode, Opinion
from firetrial_parser.soundness.proposal import Proposal, read

_PACKAGE = "firetrial_parser.soundness.prompts"
MAX_SOURCE = 400_000  # characters of a source that are shown


def prompt(name: str, version: str = "v1") -> Prompt:
    """A prompt of the gate."""
    return load_prompt(name, version, _PACKAGE)


class ModelAssessor:
    """The `Assessor` port over a model, asked by the mode's own prompt at temperature 0."""

    quality = "model, not calibrated against reviewers here: see `firetrial proposals evaluate`"

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._prompts = {mode: prompt(f"assess-{mode}") for mode in Mode}
        self.name = f"{asker.model}, prompts {self._prompts[Mode.STANDARD].version}"

    async def opinion(self, proposal: Proposal, mode: Mode, bill: Bill) -> Opinion:
        answered = await self._asker.ask(self._prompts[mode], {"PROPOSAL": proposal.shown}, bill)
        told = answered.value
        return Opinion(told["rationale"], Bucket(told["bucket"]), told["confidence"])


async def extract(document: Document, asker: Asker, bill: Bill) -> Proposal:
    """The proposal behind a paper; results that stand in it are the caller's to mask.

    Raises INVALID where the answer is none even after it was asked for again, and what `Asker.ask` raises.
    """
    answered = await asker.ask(
        prompt("proposal"), {"PAPER": paper_text(document)}, bill, check=_proposal_faults
    )
    return read(answered.value)


def paper_text(document: Document) -> str:
    """What is shown of a paper: title, abstract, sections, captions."""
    body = "\n\n".join(f"## {section.title}\n{section.text}" for section in document.sections)
    captions = "\n".join(f"{caption.label}: {caption.text}" for caption in document.captions)
    return f"{document.title}\n\n{document.abstract}\n\n{body}\n\n{captions}"[:MAX_SOURCE]


def _proposal_faults(value: Any) -> Sequence[Fault]:
    try:
        read(value)
    except FiretrialError as error:
        return error.faults
    return ()

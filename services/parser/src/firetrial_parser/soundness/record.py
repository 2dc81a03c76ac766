"""What the parser keeps of proposals in its state; their texts lie in the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from firetrial_kit.asking import Spent
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef
from firetrial_parser.soundness.assessment import Assessment, Bucket, Mode
from firetrial_parser.soundness.outcomes import Outcome
from firetrial_parser.soundness.proposal import Proposal
from firetrial_parser.soundness.support import Support


class State(StrEnum):
    """The life of a proposal; the names are those of the contract."""

    SUBMITTED = "SUBMITTED"
    ASSESSED = "ASSESSED"
    FAILED = "FAILED"

    @property
    def settled(self) -> bool:
        """Whether nothing more happens to the proposal by itself."""
        return self is not State.SUBMITTED


@dataclass(frozen=True, slots=True)
class Source:
    """Where a proposal comes from: a paper, or who submitted it for which task; all may be empty."""

    paper_id: str = ""
    agent_id: str = ""
    task_id: str = ""

    def id(self, proposal: Proposal | None) -> str:
        """The id of a proposal from here; None for the one that is still to be extracted."""
        if proposal is not None:
            return proposal.id(self.paper_id, self.agent_id, self.task_id)
        return f"q-{digest('extracted', self.paper_id, self.agent_id, self.task_id, length=16)}"


@dataclass(frozen=True, slots=True)
class Kept:
    """The proposal as it lies in the store, and what was taken out of it."""

    proposal: Proposal
    masked: tuple[Outcome, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """What was said of it. `support` is None where nobody could rule on its claims."""

    assessments: tuple[Assessment, ...]
    support: Support | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """An assessment in short."""

    mode: Mode
    bucket: Bucket
    confidence: int


@dataclass(frozen=True, slots=True)
class ProposalRecord:
    """`attempt` grows when a failed one is submitted again; `spent` is what all of them took, by prompt."""

    id: str
    state: State
    source: Source
    submitted_at: datetime
    changed_at: datetime
    attempt: int = 1
    title: str = ""
    kept: ObjectRef | None = None
    said: ObjectRef | None = None
    verdicts: tuple[Verdict, ...] = ()
    support_ratio: float | None = None
    failure: str = ""
    model: str = ""
    spent: Mapping[str, Spent] = field(default_factory=dict)

"""One paper through the three stages, and what is kept of a batch of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from firetrial_kit.asking import Spent
from firetrial_kit.objects import ObjectRef
from firetrial_parser.selection.candidates import Candidate, Entry, Format
from firetrial_parser.selection.contribution import Contribution
from firetrial_parser.selection.criteria import CriterionVerdict, Outcome, outcome
from firetrial_parser.selection.deciding import Charge, Deciding, Read
from firetrial_parser.selection.keywords import Keywords
from firetrial_parser.selection.patterns import Hit

PART = 50  # items that are stored together
CANCELLED = "cancelled by its submitter"


@dataclass(frozen=True, slots=True)
class Screened:
    """What screening made of one item, stage by stage; later stages are empty where an earlier settled it.

    `spent` tells by prompt what models were asked. `review_id` is where people decide on it.
    """

    place: int
    candidate: Candidate
    outcome: Outcome
    error: str = ""
    hits: tuple[Hit, ...] = ()
    contribution: Contribution | None = None
    criteria: tuple[CriterionVerdict, ...] = ()
    spent: Mapping[str, Spent] = field(default_factory=dict)
    review_id: str = ""


async def screen(
    entry: Entry, read: Read, keywords: Keywords, deciding: Deciding, charge: Charge
) -> Screened:
    """Take one paper as far as it goes. Raises what `deciding` raises; the bill holds what was spent."""
    looked = keywords.look(read.title, read.abstract)
    found = Screened(entry.place, entry.candidate, Outcome.OFF_TOPIC, hits=looked.hits)
    if looked.against:
        return found
    contribution = await deciding.contribution(read, charge)
    found = replace(found, outcome=Outcome.NOT_EMPIRICAL, contribution=contribution)
    if contribution.kept:
        verdicts = await deciding.criteria(read, charge)
        found = replace(found, outcome=outcome(verdicts), criteria=verdicts)
    return replace(found, spent=dict(charge.bill.spent))


class State(StrEnum):
    """The life of a batch; the names are those of the contract."""

    SUBMITTED = "SUBMITTED"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    STOPPED = "STOPPED"
    CANCELLED = "CANCELLED"

    @property
    def settled(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self not in {State.SUBMITTED, State.RUNNING}


@dataclass(frozen=True, slots=True)
class ScreeningRecord:
    """A batch. Its first `parts` parts are done; `counts` are their items by outcome, `items` all there are.

    `attempt` grows each time it is submitted to go on; `spent` is over all of them.
    """

    id: str
    state: State
    source: str
    items_ref: ObjectRef
    form: Format
    items: int
    rules: tuple[str, ...]
    model: str
    submitted_at: datetime
    changed_at: datetime
    max_cost_usd: float | None = None
    attempt: int = 1
    parts: int = 0
    counts: Mapping[Outcome, int] = field(default_factory=dict)
    spent: Mapping[str, Spent] = field(default_factory=dict)
    reason: str = ""


def ended(record: ScreeningRecord, state: State, at: datetime, reason: str = "") -> ScreeningRecord | None:
    """A batch that ended; None for one that has."""
    return None if record.state.settled else replace(record, state=state, reason=reason, changed_at=at)


def counted(counts: Mapping[Outcome, int], screened: Iterable[Screened]) -> dict[Outcome, int]:
    """The counts with some more items in them."""
    total = Counter({Outcome(name): number for name, number in counts.items()})
    total.update(one.outcome for one in screened)
    return dict(total)

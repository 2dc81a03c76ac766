"""Why one run missed findings and stated false ones: the verdict on each claim, and what it rests on.

A run that failed has no claims, yet its failure has a cause: it is attributed as a whole, as one `Missed`
whose claim is RUN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from firetrial_analyzer.claims import Judgement
from firetrial_analyzer.false_claims import FalsePositive, typed
from firetrial_analyzer.taxonomy.catalogue import LATEST, Taxonomy, load
from firetrial_analyzer.taxonomy.evidence import Signal
from firetrial_analyzer.taxonomy.settle import Settled
from firetrial_analyzer.taxonomy.steps import Citation

__all__ = [
    "RUN",
    "SIGNALS",
    "UNSEEN",
    "Attribution",
    "FalsePositive",
    "Missed",
    "ModelUsage",
    "attribute",
    "attribute_failure",
    "without_model",
]
# Stands for the whole run where a claim's id would be; no claim has it.
RUN = "run"
SIGNALS = "signals"
# What the signals say where no trajectory was looked at.
UNSEEN = Settled(None, (), ())


@dataclass(frozen=True, slots=True)
class Missed:
    """A truth claim that the conclusion does not contain, or a RUN that failed.

    `stage` and `type` are ids of the taxonomy, and `settled_by` is SIGNALS or the model that said so; all
    three are empty where nothing settles it.
    """

    claim_id: str
    stage: str = ""
    type: str = ""
    rationale: str = ""
    citations: tuple[Citation, ...] = ()
    settled_by: str = ""


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What a model was paid for one attribution. `usd` is None where the price is unknown, which is not 0."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Attribution:
    """One entry for each claim that the judge found wrong, in the judge's order.

    `method` is SIGNALS where no model was asked, else the model's name and the version of its prompts.
    `signals` are all facts that were found without a model, `refused` the answers of a model that were not
    taken, and `notes` what a reader must know: what of the trajectory was not read, why no model was asked.
    `id` is a hash of what it was made from and how; empty where it is to be made again if it is asked for.
    """

    run_id: str
    missed: tuple[Missed, ...] = ()
    false_positives: tuple[FalsePositive, ...] = ()
    signals: tuple[Signal, ...] = ()
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    usage: ModelUsage = ModelUsage()
    method: str = SIGNALS
    taxonomy_version: str = LATEST
    id: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """Ids of the truth claims that the conclusion does not contain."""
        return tuple(missed.claim_id for missed in self.missed if missed.claim_id != RUN)

    @property
    def failure(self) -> Missed | None:
        """Why the run as a whole failed; None for one that was judged."""
        return next((missed for missed in self.missed if missed.claim_id == RUN), None)


def attribute(
    judgement: Judgement,
    settled: Settled = UNSEEN,
    notes: Sequence[str] = (),
    *,
    taxonomy: Taxonomy | None = None,
) -> Attribution:
    """What can be said of a judged run without a model."""
    known = taxonomy or load()
    return Attribution(
        judgement.run_id,
        tuple(_missed(claim.id, settled, known) for claim in judgement.false_negatives),
        typed(judgement),
        settled.facts,
        notes=tuple(notes),
        taxonomy_version=known.version,
    )


def attribute_failure(
    run_id: str, settled: Settled, notes: Sequence[str] = (), *, taxonomy: Taxonomy | None = None
) -> Attribution:
    """What can be said of a run that failed without a model."""
    known = taxonomy or load()
    return Attribution(
        run_id,
        (_missed(RUN, settled, known),),
        signals=settled.facts,
        notes=tuple(notes),
        taxonomy_version=known.version,
    )


def without_model(known: Attribution, why: str) -> Attribution:
    """The same with a note why no model was asked."""
    return replace(known, notes=(*known.notes, f"no model has attributed: {why}"))


def _missed(claim_id: str, settled: Settled, taxonomy: Taxonomy) -> Missed:
    """What the signals prove holds for the run, and so for each finding that it missed."""
    if settled.error_type is None:
        return Missed(claim_id)
    return Missed(
        claim_id,
        taxonomy.stage_of(settled.error_type).id,
        settled.error_type,
        " ".join(signal.statement for signal in settled.proof),
        tuple(dict.fromkeys(citation for signal in settled.proof for citation in signal.citations)),
        SIGNALS,
    )

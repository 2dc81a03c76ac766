"""Screenings and their results: protobuf ↔ domain, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from firetrial.parser.v1 import paper_pb2, screening_pb2
from firetrial_kit.errors import Fault
from firetrial_parser.selection.candidates import Candidate, Format
from firetrial_parser.selection.contribution import Contribution, Kind
from firetrial_parser.selection.criteria import Criterion, CriterionVerdict, Met, Outcome, Reason
from firetrial_parser.selection.patterns import Hit
from firetrial_parser.selection.screening import Screened, ScreeningRecord
from firetrial_parser.selection.screenings import MAX_BYTES
from firetrial_parser.upload import size_faults
from firetrial_parser.wire import usage_to_wire

MAX_SOURCE = 500
_FORMATS: dict[screening_pb2.ScreeningFormat.ValueType, Format] = {
    screening_pb2.SCREENING_FORMAT_JSONL: "jsonl",
    screening_pb2.SCREENING_FORMAT_CSV: "csv",
}
_OUTCOMES = {screening_pb2.ScreeningOutcome.Value(f"SCREENING_OUTCOME_{one}"): one for one in Outcome}
_TO_OUTCOME = {outcome: number for number, outcome in _OUTCOMES.items()}
_KINDS = {one: screening_pb2.ContributionKind.Value(f"CONTRIBUTION_KIND_{one}") for one in Kind}
_CRITERIA = {one: screening_pb2.Criterion.Value(f"CRITERION_{one}") for one in Criterion}
_MET = {one: screening_pb2.Met.Value(f"MET_{one}") for one in Met}


def format_to_domain(form: screening_pb2.ScreeningFormat.ValueType) -> Format:
    return _FORMATS[form]


def outcome_to_domain(outcome: screening_pb2.ScreeningOutcome.ValueType) -> Outcome:
    return _OUTCOMES[outcome]


def header_faults(header: screening_pb2.ScreeningHeader) -> Iterator[Fault]:
    """What is wrong with the header of a batch."""
    if header.format not in _FORMATS:
        yield Fault("header.format", str(header.format), "must be JSONL or CSV")
    if not header.size:
        yield Fault("header.size", "0", "there is nothing to screen")
    yield from size_faults("header.size", header.size, MAX_BYTES)
    if len(header.source) > MAX_SOURCE:
        yield Fault("header.source", f"{len(header.source)} characters", f"at most {MAX_SOURCE} characters")
    if header.HasField("max_cost_usd") and not header.max_cost_usd >= 0:  # not-a-number included
        yield Fault("header.max_cost_usd", str(header.max_cost_usd), "must not be negative; unset: no cap")


def outcome_faults(outcomes: Iterator[screening_pb2.ScreeningOutcome.ValueType]) -> Iterator[Fault]:
    """What is wrong with a choice of outcomes."""
    for outcome in outcomes:
        if outcome not in _OUTCOMES:
            yield Fault("outcomes", str(outcome), "must be outcomes")


def screening_to_wire(record: ScreeningRecord) -> screening_pb2.Screening:
    counts = {Outcome(name): number for name, number in record.counts.items()}
    screening = screening_pb2.Screening(
        id=record.id,
        state=screening_pb2.ScreeningState.Value(f"SCREENING_STATE_{record.state}"),
        reason=record.reason,
        model=record.model,
        rules=record.rules,
        source=record.source,
        counts=screening_pb2.ScreeningCounts(
            off_topic=counts.get(Outcome.OFF_TOPIC, 0),
            not_empirical=counts.get(Outcome.NOT_EMPIRICAL, 0),
            unfit=counts.get(Outcome.UNFIT, 0),
            uncertain=counts.get(Outcome.UNCERTAIN, 0),
            fit=counts.get(Outcome.FIT, 0),
            errors=counts.get(Outcome.ERROR, 0),
            items=record.items,
        ),
        usage=usage_to_wire(record.model, record.spent),
        max_cost_usd=record.max_cost_usd,
    )
    screening.submitted_at.FromDatetime(record.submitted_at)
    screening.changed_at.FromDatetime(record.changed_at)
    return screening


def screened_to_wire(screened: Screened, model: str) -> screening_pb2.ScreenedPaper:
    return screening_pb2.ScreenedPaper(
        item=_candidate(screened.candidate),
        outcome=_TO_OUTCOME[screened.outcome],
        error=screened.error,
        hits=map(_hit, screened.hits),
        contribution=_contribution(screened.contribution) if screened.contribution else None,
        criteria=map(_verdict, screened.criteria),
        usage=usage_to_wire(model, screened.spent),
        review_id=screened.review_id,
        place=screened.place,
    )


def _candidate(candidate: Candidate) -> screening_pb2.Candidature:
    return screening_pb2.Candidature(**asdict(candidate))


def _hit(hit: Hit) -> screening_pb2.KeywordHit:
    return screening_pb2.KeywordHit(**asdict(hit))


def _contribution(found: Contribution) -> screening_pb2.Contribution:
    return screening_pb2.Contribution(
        kind=_KINDS[found.kind],
        method=found.method,
        reason=found.reason,
        close=found.close,
        cues=map(_hit, found.cues),
    )


def _verdict(verdict: CriterionVerdict) -> screening_pb2.CriterionVerdict:
    return screening_pb2.CriterionVerdict(
        criterion=_CRITERIA[verdict.criterion],
        met=_MET[verdict.met],
        reasons=map(_reason, verdict.reasons),
        method=verdict.method,
    )


def _reason(reason: Reason) -> screening_pb2.CriterionReason:
    quote = paper_pb2.Quote(**asdict(reason.quote)) if reason.quote.text else None
    return screening_pb2.CriterionReason(text=reason.text, quote=quote)

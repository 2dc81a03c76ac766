"""All that is known of one run, as parts of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from firetrial_analyzer.analysis import AnalysedRun
from firetrial_analyzer.attribution import Attribution, FalsePositive, Missed
from firetrial_analyzer.claims import JudgedClaim, Judgement, Verdict
from firetrial_analyzer.integrity.findings import Integrity, Trace
from firetrial_analyzer.kinds.repository import Improvement
from firetrial_analyzer.kinds.validity import CONDITIONS
from firetrial_analyzer.outcomes import F1
from firetrial_analyzer.render import text
from firetrial_analyzer.render.nodes import Child, Node, node
from firetrial_analyzer.render.words import OUTCOMES, measured, named, usage
from firetrial_analyzer.taxonomy.steps import Citation

# Mark, word, tone: no verdict is told by colour alone.
AGENT_VERDICTS = {
    Verdict.ENTAILED: ("✓", "Entailed", "good"),
    Verdict.CONTRADICTED: ("✗", "Contradicted", "bad"),
    Verdict.NEUTRAL: ("○", "Neutral", "open"),
    Verdict.UNSCORED: ("–", "Unscored", "none"),
}
TRUTH_VERDICTS = {
    Verdict.ENTAILED: ("✓", "Found", "good"),
    Verdict.CONTRADICTED: ("✗", "Contradicted", "bad"),
    Verdict.NEUTRAL: ("○", "Missing", "open"),
    Verdict.UNSCORED: ("–", "Unscored", "none"),
}
_QUOTE = 300
_Linked = Callable[[int], bool]


def run_view(item: AnalysedRun, notes: str = "", linked: _Linked = lambda _: False) -> tuple[Node, ...]:
    """How the run ended, its claims with what they were held against, why they are wrong, and its integrity.

    `notes` are the judge's on this run. A step for which `linked` holds can be gone to on the page.
    """
    parts: list[Child] = [_facts(item, notes)]
    if item.attribution and (failure := item.attribution.failure):
        parts.append(_failure(failure, linked))
    if item.judgement and item.run.measure == F1:
        why = item.attribution or Attribution(item.run.run_id)
        falses = {found.claim_id: found for found in why.false_positives}
        missed = {found.claim_id: found for found in why.missed}
        parts += [_claims(item.judgement, falses, linked), _truths(item.judgement, missed, linked)]
        parts += [_unsettled(why)]
    if item.integrity:
        parts += _integrity(item.integrity, linked)
    if item.attribution:
        parts += _signals(item.attribution, linked)
    return tuple(part for part in parts if isinstance(part, Node))


def _facts(item: AnalysedRun, notes: str) -> Node:
    run = item.run
    scored = (
        f"precision {text.points(run.precision)}, recall {text.points(run.recall)}, F1 {text.points(run.f1)}"
        if run.measure == F1
        else f"{measured(run.measure).lower()} {text.points(run.worth)}"
    )
    told = (
        ("Run", f"{text.shown(run.run_id, 120)}{f', attempt {run.attempt}' if run.attempt > 1 else ''}"),
        ("Agent", text.shown(run.agent, 200)),
        ("Outcome", OUTCOMES[run.outcome]),
        ("Why", text.shown(run.reason, 600)),
        ("Process", text.shown(run.ending or "did not run", 200)),
        ("Score", scored if item.judgement else ""),
        ("Judge’s notes", text.shown(notes, 600)),
        *(_improved(item.improvement) if item.improvement else ()),
        *(_conditions(item.judgement) if item.judgement else ()),
        ("Used", usage(run.usage)),
    )
    rows = [part for name, value in told if value for part in (node("dt", name), node("dd", value))]
    return node("dl", *rows, cls="facts")


def _improved(found: Improvement) -> Iterator[tuple[str, str]]:
    """A repository run's steps and what they came to."""
    yield "Steps", f"{found.steps}, {found.valid} of them valid, {found.void} void"
    validation = ("Validation", found.baseline_validation, found.validation)
    for name, baseline, value in (validation, ("Test", found.baseline_test, found.test)):
        told = f"{_figure(value)}, the baseline {_figure(baseline)} ({found.direction} is better)"
        yield name, f"{text.shown(found.metric, 80)} {told}"
    yield "Tested", f"step {found.tested_step}" if found.tested_step else ""
    yield "No credit", text.shown(found.no_credit, 300)


def _conditions(judgement: Judgement) -> Iterator[tuple[str, str]]:
    """How the conditions of a follow-up task held."""
    for one in judgement.conditions:
        open_ = f", {one.unscored} without a grade" if one.unscored else ""
        told = f"{one.passed} of {one.total} questions passed{open_}; p {_figure(one.p)}"
        yield f"{one.name} {CONDITIONS.get(one.name, '').lower()}", told


def _figure(value: float | None) -> str:
    return text.UNKNOWN if value is None else f"{value:.4g}"


def _failure(failure: Missed, linked: _Linked) -> Node:
    return node(
        "div",
        node("h3", "Why it failed"),
        node("p", *_cause(failure)),
        _cited(failure.citations, linked),
    )


def _claims(judgement: Judgement, falses: dict[str, FalsePositive], linked: _Linked) -> Node:
    truths = {claim.id: claim for claim in judgement.truth_claims}
    rows = [
        _row(
            _verdict(claim, AGENT_VERDICTS, named(wrong.kind) if (wrong := falses.get(claim.id)) else ""),
            text.shown(claim.text),
            _held(claim, wrong, truths, linked),
        )
        for claim in judgement.agent_claims
    ]
    return _table(
        "What the agent claimed",
        ("Verdict", "Claim", "Held against the ground truth"),
        rows,
        "The conclusion makes no claim.",
    )


def _truths(judgement: Judgement, missed: dict[str, Missed], linked: _Linked) -> Node:
    rows = [
        _row(
            _verdict(claim, TRUTH_VERDICTS, named(why.type) if (why := missed.get(claim.id)) else ""),
            text.shown(claim.text),
            [*_evidence(claim, ""), *(_why_missed(why, linked) if why else ())],
        )
        for claim in judgement.truth_claims
    ]
    return _table(
        "What there was to find",
        ("Found", "Ground truth", "In the conclusion"),
        rows,
        "The ground truth has no claim.",
    )


def _held(
    claim: JudgedClaim, wrong: FalsePositive | None, truths: dict[str, JudgedClaim], linked: _Linked
) -> list[Child]:
    against = truths.get(wrong.against) if wrong else None
    parts = _evidence(claim, against.text if against else "")
    if wrong:
        who = text.shown(wrong.settled_by, 80)
        parts += [_sub(f"{named(wrong.kind)}, by {who}: {text.shown(wrong.rationale, 600)}")]
        parts += [_cited(wrong.citations, linked)]
    return parts


def _evidence(claim: JudgedClaim, near: str) -> list[Child]:
    passage = claim.evidence or near
    found = node("q", text.shown(passage, 600)) if passage else node("span", "nothing near", cls="void")
    return [found, _sub(f"Judge: {text.shown(claim.rationale, 600)}") if claim.rationale else None]


def _why_missed(why: Missed, linked: _Linked) -> tuple[Child, ...]:
    """Nothing of one that nothing settles: all of those are told together."""
    if not why.type and not why.rationale:
        return ()
    return node("span", *_cause(why), cls="sub"), _cited(why.citations, linked)


def _unsettled(why: Attribution) -> Node | None:
    count = sum(not missed.type for missed in why.missed)
    return node("p", f"Of what was missed, nothing settles why: {count}.", cls="note") if count else None


def _cause(why: Missed) -> tuple[Child, ...]:
    if not why.type:
        rationale = f" {text.shown(why.rationale, 600)}" if why.rationale else ""
        return (f"Nothing settles why.{rationale}",)
    stage, type_ = named(why.stage), named(why.type)
    said = f", by {text.shown(why.settled_by, 80)}: {text.shown(why.rationale, 600)}"
    return (f"{stage}: ", node("strong", type_), said)


def _cited(citations: Sequence[Citation], linked: _Linked) -> Node | None:
    """The steps that show it, each with its words."""
    if not citations:
        return None
    return node("ul", *(node("li", *_citation(cited, linked)) for cited in citations), cls="cited")


def _citation(cited: Citation, linked: _Linked) -> tuple[Child, ...]:
    name = f"Step {cited.step:,}"
    place = node("a", name, href=f"#step-{cited.step}") if linked(cited.step) else node("strong", name)
    return place, " ", node("q", text.shown(cited.quote, _QUOTE))


def _integrity(found: Integrity, linked: _Linked) -> list[Child]:
    counts = ", ".join(
        f"{found.count(trace)} {word}" for trace, word in _TRACES.items() if found.count(trace)
    )
    results = (
        f"Numbers of the conclusion: {counts}." if counts else "The conclusion states no number as a result."
    )
    partly = "" if found.complete else " Outputs and files were not read to their end."
    return [
        node("h3", "Integrity"),
        node("p", results + partly),
        _list(found.findings, linked),
    ]


_TRACES = {
    Trace.TRACED: "found in the run’s outputs",
    Trace.DERIVED: "derived from them",
    Trace.GIVEN: "given by the task",
    Trace.UNTRACED: "untraced",
}


def _signals(why: Attribution, linked: _Linked) -> list[Child]:
    notes = [text.shown(note, 300) for note in why.notes]
    if why.refused:
        first = text.shown(why.refused[0], 200)
        notes.append(f"{len(why.refused)} answers of the model were refused, the first: {first}")
    if not why.signals and not notes:
        return []
    return [
        node("h3", "Facts about the run"),
        _list(why.signals, linked),
        *(node("p", note, cls="note") for note in notes),
    ]


def _list(found: Iterable[object], linked: _Linked) -> Node | None:
    items = [
        node("li", text.shown(fact.statement, 400), _cited(fact.citations, linked))  # type: ignore[attr-defined]
        for fact in found
    ]
    return node("ul", *items) if items else None


def _verdict(claim: JudgedClaim, words: dict[Verdict, tuple[str, str, str]], below: str) -> list[Child]:
    mark, word, tone = words[claim.verdict]
    told = node("span", node("span", f"{mark} ", aria_hidden="true"), word, cls=f"verdict {tone}")
    return [told, _sub(below) if below else None]


def _sub(said: str) -> Node:
    return node("span", said, cls="sub")


def _row(verdict: Sequence[Child], claim: str, held: Sequence[Child]) -> Node:
    cells = (
        node("td", *verdict, role="cell"),
        node("td", claim, role="cell"),
        node("td", *held, role="cell"),
    )
    return node("tr", *cells, role="row")


def _table(caption: str, head: Sequence[str], rows: Sequence[Node], empty: str) -> Node:
    """Its roles are said again, for on a phone it is laid out as blocks."""
    heads = [node("th", name, scope="col", role="columnheader") for name in head]
    none = node("tr", node("td", empty, colspan=str(len(head)), cls="void", role="cell"), role="row")
    return node(
        "table",
        node("caption", caption),
        node("thead", node("tr", *heads, role="row"), role="rowgroup"),
        node("tbody", *(rows or [none]), role="rowgroup"),
        cls="claims",
        role="table",
    )

"""The report as Markdown (GitHub's dialect), for pull requests and notes."""

import re
from collections.abc import Sequence
from dataclasses import fields

from firetrial_analyzer.analysis import AnalysedRun, Judge
from firetrial_analyzer.claims import Verdict
from firetrial_analyzer.outcomes import F1, SCORE
from firetrial_analyzer.render import text
from firetrial_analyzer.render.sheets import Cell, Sheet, sheets
from firetrial_analyzer.render.words import (
    OUTCOMES,
    cost,
    measured,
    named,
    outcome_counts,
    title,
    usage,
    wall_time,
)
from firetrial_analyzer.report import ClaimCounts, Report

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!&~$^@])")
# What would become a link by itself.
_AUTOLINK = re.compile(r"(?i)(://|www\.)")
_FOUND = {
    Verdict.ENTAILED: "found",
    Verdict.CONTRADICTED: "contradicted",
    Verdict.NEUTRAL: "missing",
    Verdict.UNSCORED: "unscored",
}


def escaped(value: str, limit: int = text.MAX_TEXT) -> str:
    """`value` as plain text inside a table cell or a heading."""
    inert = _SPECIAL.sub(r"\\\1", text.shown(value, limit))
    return _AUTOLINK.sub(lambda link: f"\\{link.group()}" if ":" in link.group() else "www\\.", inert)


def markdown(report: Report) -> str:
    """Header, agents, claims by kind, and each run's claims."""
    parts = [
        f"# {escaped(title(report), 400)}",
        _facts(report),
        *_notice(report),
        "## Agents",
        _agents(report),
    ]
    if report.comparisons:
        parts += ["## Differences between agents", _differences(report)]
    if report.judges and report.measure == F1:
        parts += ["## Claims", _claims(report)]
    if any(agent.integrity for agent in report.agents):
        parts += ["## Integrity", _integrity(report)]
    for sheet in sheets(report)[1:]:
        parts += [f"## {sheet.title}", escaped(sheet.note), sheet_table(sheet)]
    parts += ["## Runs"] if report.runs else []
    for item in report.runs:
        parts += _run(item)
    if report.omitted.runs:
        parts.append(
            f"{report.omitted.runs:,} further runs: the formats csv and parquet have a row for each."
        )
    return "\n\n".join(parts) + "\n"


def _facts(report: Report) -> str:
    judges = [f"{judge.backend} {judge.model}".strip() for judge in report.judges]
    return "\n".join(
        (
            f"- Experiment: {escaped(report.experiment)}",
            f"- Runs: {report.ended_runs} of {report.expected_runs} ended",
            f"- When: {text.when(report.started_at)} to {text.when(report.ended_at)}",
            f"- Judge: {escaped(', '.join(judges)) or 'no run was judged'}",
        )
    )


def _notice(report: Report) -> list[str]:
    """What is known of each judge, before any score."""
    return [
        f"> {_state(judge)}"
        if judge.measured
        else f"> {_state(judge)} The judge's quality: {escaped(judge.quality, 600) or text.UNKNOWN}"
        for judge in report.judges
    ]


def _state(judge: Judge) -> str:
    if judge.measured:
        return "Scores were measured in a sealed test: no judge has an opinion on them."
    if judge.offline:
        return "**A demonstration, not a benchmark score.** These verdicts were given without a model."
    if judge.calibrated:
        return f"The judge is calibrated against people's labels ({escaped(judge.calibration_id, 60)})."
    return "**The judge is not calibrated** against people's labels."


def _agents(report: Report) -> str:
    claims = ("Precision", "Recall") if report.measure == F1 else ()
    head = (
        "Agent",
        measured(report.measure),
        "95 % interval",
        *claims,
        "Counted",
        "Outcomes",
        "Wall time a run",
        "Cost a run",
    )
    rows = [
        (
            escaped(row.agent, 120),
            text.mean_and_spread(row.score.main),
            text.interval(row.variation.interval if row.variation else None),
            *(text.mean_and_spread(getattr(row.score, name.lower())) for name in claims),
            row.score.main.coverage,
            ", ".join(outcome_counts(row.score.outcomes)),
            wall_time(row),
            cost(row),
        )
        for row in report.agents
    ]
    return _table(head, rows)


def _differences(report: Report) -> str:
    head = ("Agent", "Against", "Tasks", "Difference", "95 % interval", "p", "p, corrected (Holm)")
    rows = [
        (
            escaped(pair.left, 120),
            escaped(pair.right, 120),
            str(pair.tasks),
            text.difference(pair.difference),
            text.interval(pair.interval, -1),
            text.probability(pair.p_value),
            text.probability(pair.p_adjusted),
        )
        for pair in report.comparisons
    ]
    return _table(head, rows)


def _claims(report: Report) -> str:
    names = [field.name for field in fields(ClaimCounts)]
    rows = [
        (escaped(row.agent, 120), *(str(getattr(row.claims, name)) for name in names))
        for row in report.agents
    ]
    return _table(("Agent", *(name.replace("_", " ").capitalize() for name in names)), rows)


def _integrity(report: Report) -> str:
    head = (
        "Agent",
        "Runs looked up",
        "Traced",
        "Derived",
        "Untraced",
        "Untraced share",
        "Runs with a finding",
    )
    rows = [
        (
            escaped(row.agent, 120),
            str(found.runs),
            *(str(count) for count in (found.traced, found.derived, found.untraced)),
            text.percent(found.untraced_share),
            ", ".join(f"{escaped(_plain(name), 60)} {count}" for name, count in found.findings) or "none",
        )
        for row in report.agents
        if (found := row.integrity)
    ]
    return _table(head, rows)


def _run(item: AnalysedRun) -> list[str]:
    return [*_told(item), *_findings(item)]


def _findings(item: AnalysedRun) -> list[str]:
    """What integrity checks found, as a list of one line each, with the steps that show it."""
    if item.integrity is None:
        return []
    lines = [
        f"- {escaped(_plain(found.name), 60)}: {escaped(found.statement, 600)}"
        + "".join(f" (step {cited.step})" for cited in found.citations)
        for found in item.integrity.findings
    ]
    return ["Findings:\n" + "\n".join(lines)] if lines else []


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _told(item: AnalysedRun) -> list[str]:
    run = item.run
    head = f"### {escaped(run.agent, 120)}, {escaped(run.task, 80)}, repeat {run.repeat}"
    reason = f": {escaped(run.reason, 600)}" if run.reason else ""
    end = f"Run {escaped(run.run_id, 120)}, {OUTCOMES[run.outcome]}{reason}."
    line = f"{end} {measured(run.measure)} {text.points(run.score(SCORE))}. {escaped(usage(run.usage))}."
    if not item.judgement or item.run.measure != F1:
        return [head, line]
    why = item.attribution
    kinds = {false.claim_id: escaped(named(false.kind)) for false in why.false_positives} if why else {}
    causes = {missed.claim_id: escaped(named(missed.type)) for missed in why.missed} if why else {}
    claims = [
        (claim.verdict.value, escaped(claim.text), kinds.get(claim.id, ""), escaped(claim.evidence, 600))
        for claim in item.judgement.agent_claims
    ]
    truth = [
        (_FOUND[claim.verdict], escaped(claim.text), causes.get(claim.id, ""), escaped(claim.evidence, 600))
        for claim in item.judgement.truth_claims
    ]
    return [
        head,
        line,
        _table(("Verdict", "Claim", "False how", "Ground truth"), claims),
        _table(("Found", "Ground truth", "Why missed", "In the conclusion"), truth),
    ]


def sheet_table(sheet: Sheet) -> str:
    """A table, the best of a row or column bold."""
    return _table(
        [escaped(name) for name in sheet.head], [[_cell(cell) for cell in row] for row in sheet.rows]
    )


def _cell(cell: Cell) -> str:
    return f"**{escaped(cell.text)}**" if cell.best else escaped(cell.text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))

"""Experiment: how runs get on, how they end, and where their time goes."""

from __future__ import annotations

from dashboards.page import Page, Row
from dashboards.panels import PER_HOUR, PER_SECOND, Column, Query, Steps, bars, lines, rows, stat_of
from dashboards.promql import in_window, or_none, or_zero, per_second, quantile, share

_POOL = 'pool=~"$pool"'
_BY = f'{_POOL}, agent=~"$agent", model=~"$model"'
_ENDED = "firetrial_run_outcomes_total"
_COUNTED = 'outcome=~"scored|agent_failed"'
_LOST: Steps = ((None, "green"), (0.02, "yellow"), (0.05, "red"))
_COVERED: Steps = ((None, "red"), (0.9, "yellow"), (0.97, "green"))


def _ended(labels: str = "", by: str = "") -> str:
    """Attempts that ended in the time shown."""
    selected = f"{_BY}, {labels}" if labels else _BY
    return in_window(f"{_ENDED}{{{selected}}}", "$__range", by)


def _of_agent(outcome: str) -> str:
    """Of each agent and model that ended anything: how often so."""
    by, such = "agent, model", f'outcome="{outcome}"'
    return f"({_ended(such, by)}) or 0 * {_ended(by=by)}"


def _state(state: str) -> str:
    return f'sum(max by (pool, state) (firetrial_open_runs{{{_POOL}, state="{state}"}})) or vector(0)'


_NOW = Row(
    "Now",
    (
        stat_of("Runs queued", _state("queued"), "In a pool, or waiting for their turn in their experiment."),
        stat_of("Runs under way", _state("running"), "An agent is at work in a sandbox."),
        stat_of("Runs being judged", _state("concluded"), "The agent is over, and the judge decides.",
                alerts=("JudgeFailuresHigh",)),
        stat_of(
            "Coverage",
            share(_ended(_COUNTED), _ended()),
            "Of the attempts that ended in the time shown, those that enter a mean: SCORED and AGENT_FAILED.",
            unit="percentunit",
            steps=_COVERED,
        ),
        stat_of(
            "Lost to our faults",
            or_zero(share(_ended('outcome="infra_failed"'), _ended())),
            "Attempts that ended as INFRA_FAILED in the time shown. They are made again.",
            unit="percentunit",
            steps=_LOST,
            alerts=("InfraFailuresHigh",),
        ),
        stat_of(
            "Not judged",
            or_zero(share(_ended('outcome="judge_failed"'), _ended())),
            "Runs that ended as JUDGE_FAILED in the time shown. Their conclusions are kept.",
            unit="percentunit",
            steps=_LOST,
            alerts=("JudgeFailuresHigh",),
        ),
    ),
)  # fmt: skip

_OUTCOMES = Row(
    "How runs end",
    (
        lines(
            "Ends by outcome",
            (Query(f"{per_second(f'{_ENDED}{{{_BY}}}', 'outcome')} * 3600", "{{outcome}}"),),
            "Attempts an hour, by how they ended.",
            unit=PER_HOUR,
            stacked=True,
        ),
        lines(
            "Runs by state",
            (Query(f"sum by (state) (max by (pool, state) (firetrial_open_runs{{{_POOL}}}))", "{{state}}"),),
            "Runs that have not ended. What is queued should fall while an experiment goes on.",
            stacked=True,
        ),
        rows(
            "Agents",
            ("agent", "model"),
            tuple(
                Column(title, _of_agent(outcome), "none")
                for title, outcome in (
                    ("scored", "scored"),
                    ("agent failed", "agent_failed"),
                    ("infra failed", "infra_failed"),
                    ("judge failed", "judge_failed"),
                    ("cancelled", "cancelled"),
                )
            ),
            "Attempts that ended in the time shown, by agent and model. Beyond 100"
            " names the rest is called other.",
            width=14,
        ),
        lines(
            "Agents that fail",
            (
                Query(
                    share(_ended('outcome="agent_failed"', "agent"), _ended(_COUNTED, "agent")),
                    "{{agent}}",
                ),
            ),
            "Of the runs that count, those in which the agent failed: no"
            " conclusion, its own error, its own cap.",
            unit="percentunit",
            most=1,
            width=10,
        ),
    ),
)

_STAGES = (
    ("waits", "firetrial_run_queue_seconds", _POOL),
    ("sandbox starts", "firetrial_sandbox_start_seconds", ""),
    ("agent runs", "firetrial_run_seconds", _POOL),
    ("is stored", "firetrial_run_store_seconds", _POOL),
    ("is judged", "firetrial_judge_seconds", ""),
    ("is analysed", "firetrial_analysis_seconds", ""),
    ("report is made", "firetrial_report_seconds", ""),
)

_TIME = Row(
    "Where the time goes",
    (
        lines(
            "Stages, in the middle",
            tuple(
                Query(quantile(0.5, metric, labels=labels, window="15m"), name)
                for name, metric, labels in _STAGES
            ),
            "Median of each stage of a run, of those that ended in the last 15 minutes.",
            unit="s",
        ),
        lines(
            "Stages, at worst",
            tuple(
                Query(quantile(0.99, metric, labels=labels, window="15m"), name)
                for name, metric, labels in _STAGES
            ),
            "99th percentile of each stage of a run, of those that ended in the last 15 minutes.",
            unit="s",
        ),
        lines(
            "Steps",
            (Query(per_second("firetrial_trajectory_steps_total", "kind"), "{{kind}}"),),
            "Steps a second that agents' trajectories grow by, by kind. Agents that are alive make some.",
            unit=PER_SECOND,
        ),
        lines(
            "Trajectories stored",
            (Query(per_second("firetrial_trajectory_stored_bytes_total"), "compressed"),),
            "Size of what is stored of trajectories.",
            unit="Bps",
        ),
    ),
)

_TASKS = Row(
    "Papers, tasks, the network",
    (
        lines(
            "Papers and tasks in an hour",
            (
                Query(in_window("firetrial_papers_total", "1h", "result"), "papers {{result}}"),
                Query(in_window("firetrial_tasks_total", "1h", "origin"), "tasks: {{origin}}"),
            ),
            "Papers that were read, and tasks that were stored, in an hour.",
            unit="none",
            width=8,
        ),
        lines(
            "Time to read a paper",
            tuple(
                Query(quantile(q, "firetrial_paper_parse_seconds", window="1h"), f"p{q * 100:.0f}")
                for q in (0.5, 0.9)
            ),
            "From a paper to its tree, of the last hour.",
            unit="s",
            width=8,
        ),
        bars(
            "Contacts outside",
            or_none(in_window("firetrial_egress_contacts_total", "$__range", "decision"), "decision"),
            "{{decision}}",
            "Connections of runs to hosts outside in the time shown. Denied ones to"
            " the paper's own hosts are findings.",
        ),
        lines(
            "Steps of repository tasks in an hour",
            (
                Query(
                    or_none(in_window("firetrial_repository_steps_total", "1h", "state"), "state"),
                    "{{state}}",
                ),
            ),
            "Steps in an hour, by what became of them.",
            unit="none",
            width=8,
        ),
        lines(
            "Sealed tests in an hour",
            (
                Query(
                    or_none(in_window("firetrial_sealed_tests_total", "1h", "result"), "result"), "{{result}}"
                ),
            ),
            "Tests over what agents left, in an hour. infra_failed is ours.",
            unit="none",
            alerts=("InfraFailuresHigh",),
            width=8,
        ),
        bars(
            "False claims",
            or_none(in_window("firetrial_false_claims_total", "$__range", "kind"), "kind"),
            "{{kind}}",
            "Claims of agents that the ground truth does not bear out, in the time shown, by kind.",
        ),
    ),
)

PAGE = Page(
    "experiment",
    "experiment",
    "How runs get on, how they end, and where their time goes.",
    (_NOW, _OUTCOMES, _TIME, _TASKS),
    ("pool", "agent", "model"),
)

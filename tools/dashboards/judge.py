"""Judge quality: can its verdicts be believed, and does it keep up?"""

from __future__ import annotations

from dashboards.page import Page, Row
from dashboards.panels import NONE_IS_WELL, PER_MINUTE, PER_SECOND, Query, Steps, bars, lines, stat_of
from dashboards.promql import in_window, or_none, or_zero, per_second, quantile, share

_VERDICTS = "firetrial_judge_verdicts_total"
_JUDGED = 'service="judge"'
_ACCURACY: Steps = ((None, "red"), (0.75, "yellow"), (0.85, "green"))
_UNSCORED: Steps = ((None, "green"), (0.01, "yellow"), (0.05, "red"))
_FLIPS: Steps = ((None, "green"), (0.1, "yellow"), (0.15, "red"))
_LOST: Steps = ((None, "green"), (0.02, "yellow"), (0.05, "red"))

_NOW = Row(
    "Now",
    (
        stat_of(
            "Judges that drifted",
            or_zero("sum(max by (backend) (firetrial_judge_drift))"),
            "Judges whose model, prompts or rules are not those of their last calibration.",
            steps=NONE_IS_WELL,
            alerts=("JudgeDrift",),
        ),
        stat_of(
            "Agreement with people",
            "min(firetrial_judge_calibration_accuracy)",
            "Accuracy of the newest calibration, entailed against the rest; the"
            " worst judge. None: never calibrated.",
            unit="percentunit",
            steps=_ACCURACY,
            alerts=("JudgeDrift",),
        ),
        stat_of(
            "Not judged",
            or_zero(
                share(
                    in_window('firetrial_run_outcomes_total{outcome="judge_failed"}', "$__range"),
                    in_window("firetrial_run_outcomes_total", "$__range"),
                )
            ),
            "Runs that ended as JUDGE_FAILED in the time shown.",
            unit="percentunit",
            steps=_LOST,
            alerts=("JudgeFailuresHigh",),
        ),
        stat_of(
            "Claims without a verdict",
            or_zero(
                share(
                    in_window(f'{_VERDICTS}{{verdict="UNSCORED"}}', "$__range"),
                    in_window(_VERDICTS, "$__range"),
                )
            ),
            "Verdicts in the time shown that are UNSCORED: the judge's answer"
            " could not be had, or not be read.",
            unit="percentunit",
            steps=_UNSCORED,
        ),
        stat_of(
            "Votes that differ",
            or_zero(
                share(
                    in_window("firetrial_judge_flips_total", "$__range"),
                    in_window("firetrial_judge_votes_total", "$__range"),
                )
            ),
            "Of the votes of panels in the time shown, those that differ from their panel's verdict.",
            unit="percentunit",
            steps=_FLIPS,
            alerts=("JudgeFlips",),
        ),
        stat_of(
            "Waiting to be judged",
            or_zero('sum(max by (consumer) (firetrial_consumer_pending{consumer=~"judge.*"}))'),
            "Events that the judge has not been given yet.",
        ),
    ),
)

_VERDICT = Row(
    "Verdicts",
    (
        lines(
            "Verdicts",
            (Query(f"{per_second(_VERDICTS, 'verdict')} * 60", "{{verdict}}"),),
            "Verdicts a minute. A mix that shifts without another kind of task is a judge that shifts.",
            unit=PER_MINUTE,
            stacked=True,
        ),
        lines(
            "Share of each verdict",
            (
                Query(
                    f"sum by (verdict) (increase({_VERDICTS}[1h])) / on () group_left ()"
                    f" (sum(increase({_VERDICTS}[1h])) > 0)",
                    "{{verdict}}",
                ),
            ),
            "The mix of the last hour.",
            unit="percentunit",
            most=1,
        ),
        lines(
            "Votes that differ from the verdict",
            (
                Query(
                    "sum by (backend) (increase(firetrial_judge_flips_total[1h]))"
                    " / (sum by (backend) (increase(firetrial_judge_votes_total[1h])) > 0)",
                    "{{backend}}",
                ),
            ),
            "By judge, of the votes of an hour. Only panels have votes.",
            unit="percentunit",
            steps=_FLIPS,
            alerts=("JudgeFlips",),
            width=8,
        ),
        lines(
            "Agreement with people, by judge",
            (
                Query(
                    "max by (backend, model) (firetrial_judge_calibration_accuracy)", "{{backend}} {{model}}"
                ),
            ),
            "Accuracy of the newest calibration of each judge.",
            unit="percentunit",
            most=1,
            width=8,
        ),
        bars(
            "False claims",
            or_none(in_window("firetrial_false_claims_total", "$__range", "kind"), "kind"),
            "{{kind}}",
            "Claims of agents in the time shown that were not borne out, by kind: what the verdicts lead to.",
        ),
    ),
)

_PACE = Row(
    "Does it keep up?",
    (
        lines(
            "Time for a conclusion",
            tuple(
                Query(
                    quantile(q, "firetrial_judge_seconds", "backend", window="15m"),
                    f"{{{{backend}}}} p{q * 100:.0f}",
                )
                for q in (0.5, 0.99)
            ),
            "From a conclusion to its judgement, of the last 15 minutes.",
            unit="s",
            width=8,
        ),
        lines(
            "Requests to models",
            (
                Query(
                    or_none(
                        per_second(f"firetrial_model_calls_total{{{_JUDGED}}}", "model, result"), "model"
                    ),
                    "{{model}} {{result}}",
                ),
            ),
            "Requests a second, answered or failed.",
            unit=PER_SECOND,
            alerts=("ModelEndpointFailing",),
            width=8,
        ),
        lines(
            "Time of a request",
            tuple(
                Query(
                    quantile(q, "firetrial_model_call_seconds", "model", _JUDGED, window="15m"),
                    f"{{{{model}}}} p{q * 100:.0f}",
                )
                for q in (0.5, 0.99)
            ),
            "From a request to a model to its answer, of the last 15 minutes.",
            unit="s",
            alerts=("ModelEndpointFailing",),
            width=8,
        ),
        lines(
            "Answers from the cache",
            (
                Query(
                    f'sum(increase(firetrial_cache_lookups_total{{{_JUDGED}, result="hit"}}[1h]))'
                    f" / (sum(increase(firetrial_cache_lookups_total{{{_JUDGED}}}[1h])) > 0)",
                    "judge",
                ),
            ),
            "Of the answers that the judge wanted in an hour, those at hand. Judging"
            " again should be nearly all cache.",
            unit="percentunit",
            most=1,
            width=8,
        ),
        lines(
            "Cost: USD an hour",
            (
                Query(
                    or_none(
                        f"{per_second(f'firetrial_model_cost_usd_total{{{_JUDGED}}}', 'model')} * 3600",
                        "model",
                    ),
                    "{{model}}",
                ),
            ),
            "USD an hour that judging costs.",
            unit="currencyUSD",
            alerts=("SpendAboveBudget",),
            width=8,
        ),
        lines(
            "Runs analysed",
            (
                Query(quantile(0.5, "firetrial_analysis_seconds", window="15m"), "p50"),
                Query(quantile(0.99, "firetrial_analysis_seconds", window="15m"), "p99"),
            ),
            "Time to analyse a judged run, of the last 15 minutes: what comes after the judge.",
            unit="s",
            width=8,
        ),
    ),
)

PAGE = Page(
    "judge",
    "judge quality",
    "Can its verdicts be believed, and does it keep up?",
    (_NOW, _VERDICT, _PACE),
    (),
)

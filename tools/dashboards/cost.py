"""Cost: what is spent, on what, and who was refused."""

from __future__ import annotations

from dashboards.page import Page, Row
from dashboards.panels import FEW_ARE_WELL, PER_SECOND, Column, Query, Steps, bars, lines, rows, stat_of
from dashboards.promql import in_window, or_none, or_zero, per_second, quantile, share

_AGENTS = 'firetrial_gateway_cost_usd_total{model=~"$model"}'
_OURS = 'firetrial_model_cost_usd_total{model=~"$model"}'
_OF_BUDGET: Steps = ((None, "green"), (0.75, "yellow"), (1, "red"))
_UNPRICED = (
    or_zero(in_window("firetrial_gateway_unpriced_total", "$__range")),
    or_zero(in_window("firetrial_model_unpriced_calls_total", "$__range")),
)
_SPENT = f"({or_zero(in_window(_AGENTS, '$__range'))}) + ({or_zero(in_window(_OURS, '$__range'))})"
_SCORED = in_window('firetrial_run_outcomes_total{outcome="scored"}', "$__range")


def _by_model(counter: str, labels: str = "") -> str:
    """What agents had of each model in the time shown."""
    return in_window(f'firetrial_gateway_{counter}{{{labels}model=~"$model"}}', "$__range", "upstream, model")


_NOW = Row(
    "Now",
    (
        stat_of(
            "Of the day's budget",
            "firetrial:cost_usd:increase1d / on () firetrial:budget_usd:per_day",
            "Spent in 24 hours by agents, parser, judge and analyzer, of what"
            " deploy/prometheus/rules/budget.yml allows.",
            unit="percentunit",
            steps=_OF_BUDGET,
            alerts=("SpendAboveBudget",),
        ),
        stat_of(
            "At this rate, in a day",
            "24 * firetrial:cost_usd:increase1h",
            "What a day would cost if it went on like the last hour.",
            unit="currencyUSD",
            decimals=2,
            alerts=("SpendAboveBudget",),
        ),
        stat_of(
            "Spent",
            _SPENT,
            "By agents, parser, judge and analyzer in the time shown, where the price is known.",
            unit="currencyUSD",
            decimals=2,
        ),
        stat_of(
            "For a scored run",
            share(f"({_SPENT})", _SCORED),
            "All that was spent in the time shown, over the runs that were scored in it.",
            unit="currencyUSD",
            decimals=4,
        ),
        stat_of(
            "Of the caps under way",
            or_zero(share("max(firetrial_experiment_spent_usd)", "max(firetrial_experiment_budget_usd)")),
            "Spent by the experiments that have a cap and go on, of all their caps"
            " together. At 100 % agents are refused.",
            unit="percentunit",
            steps=((None, "green"), (0.9, "yellow")),
        ),
        stat_of(
            "Calls without a price",
            f"({_UNPRICED[0]}) + ({_UNPRICED[1]})",
            "Answered calls in the time shown whose price is unknown: they are missing in all sums here.",
            steps=FEW_ARE_WELL,
            decimals=0,
            alerts=("UnpricedModelCalls",),
        ),
    ),
)

_MONEY = Row(
    "Money",
    (
        lines(
            "Agents, by model: USD an hour",
            (
                Query(
                    f"sum by (upstream, model) (rate({_AGENTS}[$__rate_interval])) * 3600",
                    "{{upstream}} {{model}}",
                ),
            ),
            "USD an hour that agents spend through the gateway.",
            unit="currencyUSD",
            stacked=True,
            alerts=("SpendAboveBudget",),
        ),
        lines(
            "Parser, judge and analyzer, by purpose: USD an hour",
            (
                Query(
                    or_none(f"sum by (service, purpose) (rate({_OURS}[$__rate_interval])) * 3600", "service"),
                    "{{service}} {{purpose}}",
                ),
            ),
            "USD an hour that services spend on models, by what they ask for.",
            unit="currencyUSD",
            stacked=True,
        ),
        lines(
            "Day by day",
            (
                Query("firetrial:cost_usd:increase1d", "spent in 24 hours"),
                Query("firetrial:budget_usd:per_day", "budget"),
            ),
            "What was spent in the 24 hours before each moment, beside the budget of a day.",
            unit="currencyUSD",
        ),
        rows(
            "Models",
            ("upstream", "model"),
            (
                Column("USD", _by_model("cost_usd_total"), "currencyUSD"),
                Column("calls", _by_model("requests_total")),
                Column("tokens in", _by_model("tokens_total", 'kind="prompt", ')),
                Column("tokens out", _by_model("tokens_total", 'kind="completion", ')),
                Column("without price", _by_model("unpriced_total"), steps=FEW_ARE_WELL),
            ),
            "What agents had of each model in the time shown. The model is the entry of"
            " the upstream's list that allows it.",
            alerts=("UnpricedModelCalls",),
        ),
    ),
)

_TOKENS = Row(
    "Tokens and calls",
    (
        lines(
            "Tokens of agents",
            (Query(per_second('firetrial_gateway_tokens_total{model=~"$model"}', "kind"), "{{kind}}"),),
            "Tokens a second. Cached ones are among the prompt's, and cheaper.",
            unit=PER_SECOND,
            width=8,
        ),
        lines(
            "Tokens of services",
            (
                Query(
                    or_none(
                        per_second('firetrial_model_tokens_total{model=~"$model"}', "service, kind"),
                        "service",
                    ),
                    "{{service}} {{kind}}",
                ),
            ),
            "Tokens a second that parser, judge and analyzer pay for.",
            unit=PER_SECOND,
            width=8,
        ),
        lines(
            "Calls of agents, by answer",
            (Query(per_second('firetrial_gateway_requests_total{model=~"$model"}', "status"), "{{status}}"),),
            "Calls a second by what the agent got: 200, the agent's own faults (4xx),"
            " the upstream's (5xx), nothing (0).",
            unit=PER_SECOND,
            alerts=("GatewayUpstreamFailing",),
            width=8,
        ),
        lines(
            "Answers from the cache",
            (
                Query(
                    'sum by (service) (increase(firetrial_cache_lookups_total{result="hit"}[1h]))'
                    " / (sum by (service) (increase(firetrial_cache_lookups_total[1h])) > 0)",
                    "{{service}}",
                ),
            ),
            "Of the answers of models that a service wanted in an hour, those that"
            " were at hand and cost nothing.",
            unit="percentunit",
            most=1,
            width=8,
        ),
        lines(
            "Time of a call",
            tuple(
                Query(
                    quantile(
                        q, "firetrial_gateway_request_seconds", "upstream", 'model=~"$model"', window="15m"
                    ),
                    f"{{{{upstream}}}} p{q * 100:.0f}",
                )
                for q in (0.5, 0.99)
            ),
            "From a call's budget to the end of its answer, of agents' calls in the last 15 minutes.",
            unit="s",
            alerts=("GatewayUpstreamFailing",),
            width=8,
        ),
        lines(
            "GPU time",
            (Query(or_none(f"{per_second('firetrial_gpu_run_seconds_total', 'pool')}", "pool"), "{{pool}}"),),
            "GPUs that runs have for themselves, on average: GPU hours an hour. They are not among the USD.",
            unit="none",
            width=8,
        ),
        bars(
            "Refused for money",
            f"{in_window('firetrial_budget_refusals_total', '$__range', 'service, scope')}",
            "{{service}}: {{scope}}",
            "Calls in the time shown that a cap did not allow: of the run, or of the experiment.",
        ),
        bars(
            "Refused by the gateway",
            or_none(in_window("firetrial_gateway_refusals_total", "$__range", "reason"), "reason"),
            "{{reason}}",
            "Agents' calls in the time shown that were not passed on, by reason.",
        ),
        bars(
            "Refused by quotas",
            or_none(in_window("firetrial_quota_refusals_total", "$__range", "tenant, quota"), "tenant"),
            "{{tenant}} {{quota}}",
            "Times in the time shown that a tenant's quota had no room: runs refused, or made to wait.",
        ),
    ),
)

PAGE = Page(
    "cost",
    "cost",
    "What is spent, on what, and who was refused.",
    (_NOW, _MONEY, _TOKENS),
    ("model",),
    range="now-24h",
)

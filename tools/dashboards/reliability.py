"""Reliability: what is broken, what comes again, what is refused."""

from __future__ import annotations

from dashboards.page import Page, Row
from dashboards.panels import FEW_ARE_WELL, PER_SECOND, Column, Query, Steps, bars, lines, rows, stat_of
from dashboards.promql import in_window, or_none, or_zero, per_second, quantile, share

_JOB = 'job=~"firetrial-$service"'
# Without those that last for as long as somebody watches.
_BRIEF = f'{_JOB}, method!~".*/Watch.*"'
_LOST: Steps = ((None, "green"), (0.02, "yellow"), (0.05, "red"))
_FULL: Steps = ((None, "green"), (0.7, "yellow"), (0.85, "red"))
_AGAIN: Steps = ((None, "green"), (0.05, "yellow"), (0.1, "red"))

_REFUSED = in_window(f"firetrial_object_store_refusals_total{{{_JOB}}}", "10m", "job, bucket, reason")
# What each alert is of, in one column, whatever label says it.
_LABELS = "job, instance, pool, consumer, stream, bucket, upstream, model, backend, path"
_OF = ", ".join(f'"{label}"' for label in ("of", " ", *_LABELS.split(", ")))
_SINCE = (
    "max by (alertname, alertstate, severity, of)"
    f" (label_join(ALERTS * ignoring (alertstate) group_left () ALERTS_FOR_STATE, {_OF}))"
)

_NOW = Row(
    "Now",
    (
        stat_of(
            "Broker",
            "max(firetrial_broker_up) or vector(0)",
            "Whether NATS JetStream answers the analyzer.",
            steps=((None, "red"), (1, "green")),
            words={0: "away", 1: "up"},
            alerts=("BrokerAway",),
        ),
        stat_of(
            "Store refuses",
            or_zero(
                share(
                    "sum(rate(firetrial_object_store_refusals_total[$__rate_interval]))",
                    "sum(rate(firetrial_object_store_seconds_count[$__rate_interval]))",
                )
            ),
            "Of the operations on the object store, those that were denied or not answered.",
            unit="percentunit",
            steps=_LOST,
            alerts=("ObjectStoreRefusing",),
        ),
        stat_of(
            "Fullest stream",
            or_zero(
                "max(max by (stream) (firetrial_stream_bytes) / max by (stream)"
                " (firetrial_stream_limit_bytes))"
            ),
            "Of the streams that have a limit, how full the fullest is.",
            unit="percentunit",
            steps=_FULL,
            alerts=("StreamNearlyFull",),
        ),
        stat_of(
            "Dead letters",
            or_zero("sum(max by (consumer) (firetrial_dead_letters))"),
            "Messages that were given up, and wait for somebody to decide.",
            steps=FEW_ARE_WELL,
            alerts=("DeadLetters",),
        ),
        stat_of(
            "Runs lost to our faults",
            or_zero(
                share(
                    'sum(pool_outcome:firetrial_run_outcomes:increase1h{outcome="infra_failed"})',
                    "sum(pool_outcome:firetrial_run_outcomes:increase1h)",
                )
            ),
            "Attempts of the last hour that ended as INFRA_FAILED.",
            unit="percentunit",
            steps=_LOST,
            alerts=("InfraFailuresHigh",),
        ),
        stat_of(
            "RPCs that failed",
            or_zero(
                share(
                    f"sum(rate(firetrial_rpc_seconds_count{{{_JOB},"
                    f' code=~"INTERNAL|UNAVAILABLE|UNKNOWN|DEADLINE_EXCEEDED"}}[$__rate_interval]))',
                    f"sum(rate(firetrial_rpc_seconds_count{{{_JOB}}}[$__rate_interval]))",
                )
            ),
            "Of the calls of clients, those that failed by our fault.",
            unit="percentunit",
            steps=_LOST,
            alerts=("ServiceDown",),
        ),
    ),
)

_ALERTS = Row(
    "Alerts",
    (
        rows(
            "Firing and pending",
            ("alertstate", "severity", "alertname", "of"),
            (Column("since", f"time() - {_SINCE}", "s"),),
            "All alerts that fire or are about to. Watchdog always fires; were it"
            " missing, none could be trusted.",
            sort="alertstate",
            leads={"alertname": "${runbooks}/${__value.raw}.md"},
            alerts=("Watchdog",),
        ),
        lines(
            "Is it scraped?",
            (Query(f"sum by (job) (up{{{_JOB}}})", "{{job}}"),),
            "Instances of each service that answer Prometheus.",
            alerts=("ServiceDown", "InstanceNotScraped"),
        ),
    ),
)

_MESSAGES = Row(
    "Messages",
    (
        lines(
            "Delivered before",
            (
                Query(
                    share(
                        "consumer:firetrial_messages_redelivered:increase30m",
                        "consumer:firetrial_messages:increase30m",
                    ),
                    "{{consumer}}",
                ),
            ),
            "Of what a consumer handled in 30 minutes, deliveries that were not the"
            " first. Runs that wait for GPUs are left out.",
            unit="percentunit",
            steps=_AGAIN,
            alerts=("RedeliveriesRising",),
        ),
        lines(
            "Settled",
            (
                Query(
                    per_second(f"firetrial_messages_total{{{_JOB}}}", "consumer, result"),
                    "{{consumer}} {{result}}",
                ),
            ),
            "Messages a second by how they were settled: done, later (they come back), failed (for good).",
            unit=PER_SECOND,
            alerts=("RedeliveriesRising", "DeadLetters"),
        ),
        rows(
            "Consumers",
            ("stream", "consumer"),
            (
                Column("pending", "max by (stream, consumer) (firetrial_consumer_pending)"),
                Column("in hand", "max by (stream, consumer) (firetrial_consumer_unsettled)"),
                Column(
                    "of them again",
                    "max by (stream, consumer) (firetrial_consumer_redelivered)",
                    steps=FEW_ARE_WELL,
                ),
            ),
            "What each durable consumer has before it. Pending that grows is a"
            " reader that is away or too slow.",
            alerts=("ServiceDown", "RedeliveriesRising"),
        ),
        lines(
            "Time to handle a message",
            (
                Query(
                    quantile(0.99, "firetrial_message_seconds", "consumer", _JOB, window="15m"),
                    "{{consumer}}",
                ),
            ),
            "99th percentile of the last 15 minutes. What nears ACK_WAIT without a"
            " sign of life is given to another.",
            unit="s",
            alerts=("RedeliveriesRising",),
        ),
        lines(
            "Size of streams",
            (Query("max by (stream) (firetrial_stream_bytes)", "{{stream}}"),),
            "What the broker keeps: FT_ streams are messages, KV_ streams are the services' state.",
            unit="bytes",
            alerts=("StreamNearlyFull",),
            width=8,
        ),
        bars(
            "Dead letters by consumer",
            or_none("max by (consumer) (firetrial_dead_letters) > 0", "consumer"),
            "{{consumer}}",
            "Messages that were given up, by who could not handle them.",
            steps=FEW_ARE_WELL,
            alerts=("DeadLetters",),
        ),
        lines(
            "Webhooks in 10 minutes",
            (
                Query(
                    or_none(
                        in_window("firetrial_webhook_deliveries_total", "10m", "endpoint, result"), "endpoint"
                    ),
                    "{{endpoint}} {{result}}",
                ),
            ),
            "Attempts in 10 minutes to tell receivers outside: delivered, later, or dead for the last one.",
            unit="none",
            alerts=("DeadLetters",),
            width=8,
        ),
    ),
)

_STORE = Row(
    "Store and RPC",
    (
        lines(
            "Refusals of the object store in 10 minutes",
            (Query(or_none(f"{_REFUSED} > 0", "job"), "{{job}} {{bucket}} {{reason}}"),),
            "Operations in 10 minutes that were denied (keys, policies) or not answered (away, full).",
            unit="none",
            alerts=("ObjectStoreRefusing",),
        ),
        lines(
            "Time of the object store",
            (
                Query(
                    quantile(0.99, "firetrial_object_store_seconds", "operation", _JOB, window="15m"),
                    "{{operation}}",
                ),
            ),
            "99th percentile of each operation, of the last 15 minutes.",
            unit="s",
            alerts=("ObjectStoreRefusing",),
        ),
        lines(
            "RPCs by code",
            (Query(per_second(f"firetrial_rpc_seconds_count{{{_JOB}}}", "job, code"), "{{job}} {{code}}"),),
            "Calls of clients a second, by how they ended.",
            unit=PER_SECOND,
            alerts=("ServiceDown",),
        ),
        lines(
            "Slowest RPCs",
            (
                Query(
                    f"topk(8, {quantile(0.99, 'firetrial_rpc_seconds', 'method', _BRIEF, window='15m')})",
                    "{{method}}",
                ),
            ),
            "99th percentile of the eight slowest methods, of the last 15 minutes, without those that watch.",
            unit="s",
        ),
    ),
)

_MODELS = Row(
    "Models and sandboxes",
    (
        lines(
            "Upstreams that fail",
            (
                Query(
                    share(
                        "upstream:firetrial_gateway_failures:increase10m",
                        "upstream:firetrial_gateway_requests:increase10m",
                    ),
                    "{{upstream}}",
                ),
            ),
            "Of agents' calls in 10 minutes, those that got a 5xx after all repeats.",
            unit="percentunit",
            steps=((None, "green"), (0.2, "red")),
            alerts=("GatewayUpstreamFailing",),
            width=8,
        ),
        lines(
            "Waiting for upstreams",
            (Query(per_second("firetrial_gateway_wait_seconds_total", "upstream"), "{{upstream}}"),),
            "Calls that wait at a time because an upstream is busy or broken."
            " Their runs' clocks stand still.",
            unit="none",
            alerts=("GatewayUpstreamFailing",),
            width=8,
        ),
        lines(
            "Repeats in 10 minutes",
            (Query(in_window("firetrial_gateway_retries_total", "10m", "upstream"), "{{upstream}}"),),
            "Requests to upstreams that were made again in 10 minutes.",
            unit="none",
            width=8,
        ),
        lines(
            "How sandboxed commands end",
            (
                Query(
                    per_second("firetrial_sandbox_terminations_total", "sandbox, termination"),
                    "{{sandbox}} {{termination}}",
                ),
            ),
            "Commands a second, by what ended them.",
            unit=PER_SECOND,
            width=8,
        ),
        bars(
            "Left by dead runners",
            or_none(in_window("firetrial_runner_reaped_total", "$__range", "kind"), "kind"),
            "{{kind}}",
            "Processes, containers, control groups and folders that were removed in"
            " the time shown. Many: runners die.",
            alerts=("SandboxesLeaked",),
        ),
        bars(
            "Floods turned away",
            or_none(
                f"({in_window('firetrial_gateway_turned_away_total', '$__range', 'reason')})"
                f" or ({in_window('firetrial_egress_turned_away_total', '$__range', 'reason')})",
                "reason",
            ),
            "{{reason}}",
            "Connections of agents in the time shown that were too many at once, or too many a second.",
        ),
    ),
)

PAGE = Page(
    "reliability",
    "reliability",
    "What is broken, what comes again, what is refused.",
    (_NOW, _ALERTS, _MESSAGES, _STORE, _MODELS),
    ("service",),
)

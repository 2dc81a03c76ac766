"""Fleet: does somebody take the work, and are the machines well?"""

from __future__ import annotations

from dashboards.page import Page, Row
from dashboards.panels import (
    MOST_PROCESSES,
    NONE_IS_WELL,
    PER_MINUTE,
    Column,
    Query,
    Steps,
    bars,
    lines,
    rows,
    stat_of,
)
from dashboards.promql import in_window, or_none, or_zero, per_second, quantile, share

_POOL = 'pool=~"$pool"'
_WAITING = f"max by (pool) (firetrial_pool_waiting_runs{{{_POOL}}})"
_DELIVERED = f"max by (pool) (firetrial_pool_delivered_runs{{{_POOL}}})"
_OLDEST = f"max by (pool) (firetrial_pool_oldest_waiting_seconds{{{_POOL}}})"
_SLOTS = f"sum by (pool) (firetrial_runner_slots{{{_POOL}}})"
_BUSY = f"sum by (pool) (firetrial_runner_slots_busy{{{_POOL}}})"
_TESTS = f"max by (pool) (firetrial_pool_waiting_tests{{{_POOL}}})"
_TESTED = f"max by (pool) (firetrial_pool_delivered_tests{{{_POOL}}})"
_TESTERS = f"sum by (pool) (firetrial_runner_tests{{{_POOL}}})"
_OLDEST_TEST = f"max by (pool) (firetrial_pool_oldest_waiting_test_seconds{{{_POOL}}})"
_RUNNERS = f"count by (pool) (firetrial_runner_slots{{{_POOL}}} > 0)"
_AGE: Steps = ((None, "green"), (3600, "yellow"), (6 * 3600, "red"))
_FREE: Steps = ((None, "red"), (0.05, "yellow"), (0.2, "green"))

_NOW = Row(
    "Now",
    (
        stat_of(
            "Alerts that wake somebody",
            or_zero('count(ALERTS{alertstate="firing", severity="page"})'),
            "Alerts of severity page that fire now. The reliability dashboard lists them.",
            steps=NONE_IS_WELL,
            page="reliability",
        ),
        stat_of(
            "Services that are away",
            '3 - (count(max by (job) (up{job=~"firetrial-(parser|judge|analyzer)"}) == 1) or vector(0))',
            "Of parser, judge and analyzer: those of which no instance answers,"
            " or which are not watched at all.",
            steps=NONE_IS_WELL,
            alerts=("ServiceDown", "InstanceNotScraped"),
        ),
        stat_of(
            "Pools without a runner",
            or_zero(f"count(pool:firetrial_unserved_work:max{{{_POOL}}})"),
            "Pools in which runs wait, or were left by runners that died, and which no"
            " runner serves. Work of cancelled runs does not count.",
            steps=NONE_IS_WELL,
            alerts=("NoRunnerForWaitingWork",),
        ),
        stat_of(
            "Runs that wait",
            f"sum({_WAITING})",
            "Runs in the pools that were never given to a runner.",
        ),
        stat_of(
            "Oldest of them",
            f"max({_OLDEST})",
            "How long the oldest waiting run has waited.",
            unit="s",
            steps=_AGE,
            alerts=("WorkWaitsTooLong",),
        ),
        stat_of(
            "Slots in use",
            or_zero(share(f"sum({_BUSY})", f"sum({_SLOTS})")),
            "Runs under way, of those that all runners could hold. Full is good, as long as little waits.",
            unit="percentunit",
        ),
    ),
)

_POOLS = Row(
    "Pools",
    (
        rows(
            "Pools",
            ("pool",),
            (
                Column("runners", _RUNNERS),
                Column("slots", _SLOTS),
                Column("busy", _BUSY),
                Column("waiting", _WAITING),
                Column("given out", _DELIVERED),
                Column("oldest", _OLDEST, "s", _AGE),
                Column("tests waiting", _TESTS),
            ),
            "Each pool now. Given out: running, put back until its GPUs are free, or"
            " in the hands of a runner that died.",
            alerts=("NoRunnerForWaitingWork", "NoRunnerForWaitingTests", "WorkWaitsTooLong"),
        ),
        lines(
            "Waiting and running",
            (Query(_WAITING, "{{pool}} waits"), Query(_BUSY, "{{pool}} runs")),
            "Runs in each pool that wait, and runs under way. Waiting that grows while"
            " running stands still wants runners.",
        ),
        lines(
            "Runners",
            (Query(_RUNNERS, "{{pool}}"),),
            "Runners that answer, by pool. What a scaler or pilots have made of the waiting work.",
            alerts=("NoRunnerForWaitingWork",),
            width=8,
        ),
        lines(
            "Pilots",
            (
                Query(
                    or_none(f"sum by (pool, state) (firetrial_pilots{{{_POOL}}})", "pool", "no pilots"),
                    "{{pool}} {{state}}",
                ),
                Query(
                    or_none(f"sum by (pool) (firetrial_pilots_wanted{{{_POOL}}})", "pool", "none"),
                    "{{pool}} wanted",
                ),
                Query(
                    or_none(f"sum by (pool) (firetrial_pilots_limit{{{_POOL}}})", "pool"), "{{pool}} at most"
                ),
            ),
            "Jobs of a scheduler that start runners: wanted by the work, queued, active, and at most.",
            alerts=("NoRunnerForWaitingWork",),
            width=8,
        ),
        lines(
            "Runs that began and ended",
            (
                Query(
                    f"sum by (pool)"
                    f" (rate(firetrial_run_queue_seconds_count{{{_POOL}}}[$__rate_interval])) * 60",
                    "{{pool}} began",
                ),
                Query(f"{per_second(f'firetrial_runs_total{{{_POOL}}}', 'pool')} * 60", "{{pool}} ended"),
            ),
            "Runs a minute.",
            unit=PER_MINUTE,
            width=8,
        ),
        lines(
            "Wait for a runner",
            tuple(
                Query(
                    quantile(q, "firetrial_run_queue_seconds", labels=_POOL, window="15m"), f"p{q * 100:.0f}"
                )
                for q in (0.5, 0.9, 0.99)
            ),
            "From a run's request to its start, of runs that began in the last 15 minutes.",
            unit="s",
            alerts=("WorkWaitsTooLong",),
        ),
        lines(
            "How long runs take",
            tuple(
                Query(quantile(q, "firetrial_run_seconds", labels=_POOL, window="15m"), f"p{q * 100:.0f}")
                for q in (0.5, 0.9, 0.99)
            ),
            "Wall time of agents' processes that ended in the last 15 minutes.",
            unit="s",
        ),
        lines(
            "Sealed tests",
            (
                Query(_TESTS, "{{pool}} waits"),
                Query(_TESTED, "{{pool}} given out"),
                Query(_TESTERS, "{{pool}} at a time"),
            ),
            "Sealed tests of runs, and looks of graders: those that wait, those given out,"
            " and how many runners make at a time. Where nobody does, runs are not judged.",
            alerts=("NoRunnerForWaitingTests",),
        ),
        lines(
            "Wait of sealed tests",
            (Query(_OLDEST_TEST, "{{pool}}"),),
            "How long the oldest waiting test has waited.",
            unit="s",
            alerts=("NoRunnerForWaitingTests",),
        ),
    ),
)

_MACHINES = Row(
    "Machines",
    (
        bars(
            "Disk left",
            "min by (service, path) (firetrial_disk_free_bytes / firetrial_disk_size_bytes)",
            "{{service}} {{path}}",
            "Share of the disk that is free where each service keeps its work, cache"
            " or objects; the fullest instance.",
            unit="percentunit",
            steps=_FREE,
            most=1,
            alerts=("DiskNearlyFull", "DiskFillsWithinADay"),
            width=6,
        ),
        lines(
            "Sandboxes",
            (
                Query(f"sum by (sandbox) (firetrial_sandboxes_alive{{{_POOL}}})", "{{sandbox}}"),
                Query(f"sum by (sandbox) (firetrial_sandboxes_leaked{{{_POOL}}})", "{{sandbox}} leaked"),
            ),
            "Sandboxes of living runners, and those of dead ones that sweeps did not"
            " get rid of. The second must be 0.",
            alerts=("SandboxesLeaked",),
            width=6,
        ),
        lines(
            "Start of a sandbox",
            (
                Query(
                    quantile(0.5, "firetrial_sandbox_start_seconds", "sandbox", window="15m"),
                    "{{sandbox}} p50",
                ),
                Query(
                    quantile(0.99, "firetrial_sandbox_start_seconds", "sandbox", window="15m"),
                    "{{sandbox}} p99",
                ),
            ),
            "From a command's request to its start, of the last 15 minutes.",
            unit="s",
            width=6,
        ),
        lines(
            "Sandboxes that did not start",
            (
                Query(
                    or_none(in_window("firetrial_sandbox_start_failures_total", "15m", "sandbox"), "sandbox"),
                    "{{sandbox}}",
                ),
            ),
            "Commands in 15 minutes that could not be started. Runs end as INFRA_FAILED by it.",
            alerts=("InfraFailuresHigh",),
            width=6,
        ),
    ),
)

_GPUS = Row(
    "GPUs",
    (
        lines(
            "GPUs at work",
            (
                Query(
                    f"avg by (pool, model) (firetrial_gpu_utilisation_ratio{{{_POOL}}})", "{{pool}} {{model}}"
                ),
            ),
            "Share of the time in which a pool's GPUs compute, by kind.",
            unit="percentunit",
            most=1,
        ),
        lines(
            "Memory of GPUs",
            (
                Query(
                    f"max by (pool, model) (firetrial_gpu_memory_used_bytes{{{_POOL}}}"
                    f" / firetrial_gpu_memory_bytes{{{_POOL}}})",
                    "{{pool}} {{model}}",
                ),
            ),
            "Memory in use of the fullest GPU, by pool and kind.",
            unit="percentunit",
            most=1,
        ),
    ),
)

_JOB = 'job=~"firetrial-$service"'
_FIRST = f"topk({MOST_PROCESSES}"
_PROCESSES = Row(
    "Processes",
    (
        lines(
            "CPU",
            (
                Query(
                    f"{_FIRST}, sum by (job, instance)"
                    f" (rate(process_cpu_seconds_total{{{_JOB}}}[$__rate_interval])))",
                    "{{job}} {{instance}}",
                ),
            ),
            "Cores in use by the busiest of our processes, without the agents'.",
            unit="none",
            width=8,
        ),
        lines(
            "Memory",
            (Query(f"{_FIRST}, process_resident_memory_bytes{{{_JOB}}})", "{{job}} {{instance}}"),),
            "Memory of the largest of our processes, without the agents'. What only grows will be killed.",
            unit="bytes",
            width=8,
        ),
        lines(
            "Open files",
            (
                Query(
                    f"{_FIRST}, process_open_fds{{{_JOB}}} / process_max_fds{{{_JOB}}})",
                    "{{job}} {{instance}}",
                ),
            ),
            "Of those that a process may have, in the fullest ones. Connections of agents are files too.",
            unit="percentunit",
            steps=((None, "green"), (0.8, "red")),
            width=8,
        ),
        rows(
            "Releases",
            ("service", "version", "python"),
            (
                Column(
                    "processes",
                    'count by (service, version, python) (firetrial_build_info{service=~"$service"})',
                ),
            ),
            "What runs. Two releases of one service mean an upgrade that is on its"
            " way, or was forgotten half-way.",
        ),
        lines(
            "Time since start",
            (
                Query(
                    f"bottomk({MOST_PROCESSES}, time() - process_start_time_seconds{{{_JOB}}})",
                    "{{job}} {{instance}}",
                ),
            ),
            "Of the youngest processes. A saw is a service that ends over and over.",
            unit="s",
            alerts=("ServiceDown",),
        ),
    ),
)

PAGE = Page(
    "fleet",
    "fleet",
    "Does somebody take the work, and are the machines well?",
    (_NOW, _POOLS, _MACHINES, _PROCESSES, _GPUS),
    ("pool", "service"),
)

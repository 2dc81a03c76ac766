"""What is scraped grows with neither runs nor names, and its histograms hold what really happens."""

from __future__ import annotations

import random
import string
from itertools import pairwise

import pytest
from prometheus_client import CollectorRegistry

from firetrial_analyzer.metrics import AnalyzerMetrics
from firetrial_analyzer.outcomes import Outcome, RunOutcome
from firetrial_judge.calibration.calibrating import CalibrationMetrics
from firetrial_judge.metrics import JudgeMetrics
from firetrial_judge.verdict import Verdict
from firetrial_kit.asking import Call, Usage
from firetrial_kit.metrics import KitMetrics
from firetrial_parser.metrics import ParserMetrics
from firetrial_runner.gateway.exchange import Exchange, Tokens
from firetrial_runner.metrics import GatewayMetrics, RunnerMetrics

HOUR, DAY = 3600, 86400


class Process:
    """All that the four services count, of runs that come with agents, models and pools named by users."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.dice = random.Random(7)  # noqa: S311 - names for a test
        self.kit = KitMetrics(self.registry)
        self.runner = RunnerMetrics(self.registry, "default", 4)
        self.gateway = GatewayMetrics(self.registry)
        self.parser = ParserMetrics(self.registry)
        self.judge, self.calibration = JudgeMetrics(self.registry), CalibrationMetrics(self.registry)
        self.analyzer = AnalyzerMetrics(self.registry)
        self.observe = self.kit.models.observer("judge", {})

    def run(self, number: int, agent: str, model: str, pool: str) -> None:
        """One run, from its task to its outcome."""
        outcome = list(Outcome)[number % len(Outcome)]
        self.analyzer.ended(
            RunOutcome(f"r-{number}", "e-1", "t-1", agent, 1, 1, outcome, model=model, pool=pool)
        )
        self.parser.stored(agent)
        self.calibration.calibrated("model", model, 0.9)
        self.judge.count_verdicts("model", [Verdict.ENTAILED])
        self.observe(Call(model, 1.0, Usage(10, 1), True, "verdicts"))
        exchange = Exchange("chat/completions", status=200, attempts=1)
        exchange.tokens = Tokens(10, 1)
        self.gateway.exchanged("main", "gpt-*", exchange)
        with self.runner.sandbox.starting("bubblewrap"):
            pass
        self.kit.objects.seconds.labels("put", "runs", "ok").observe(0.01)
        self.kit.rpc.labels("/firetrial.runner.v1.RunnerService/GetRun", "OK").observe(0.001)

    def series(self) -> int:
        return sum(len(family.samples) for family in self.registry.collect())

    def name(self) -> str:
        return "".join(self.dice.choices(string.printable + "é\ud800", k=self.dice.randint(20, 90)))


def test_runs_make_no_series_and_agents_few() -> None:
    """200 runs of 50 agents; then ten times as many runs; then names without end."""
    process = Process()
    agents = [f"agent-{n}" for n in range(50)]
    for n in range(200):
        process.run(n, agents[n % 50], f"model-{n % 5}", "default")
    after = process.series()
    # Each agent with its model, by the outcomes it had (4 runs of 4 kinds), and 50 origins of tasks.
    assert after < 600
    for n in range(200, 2200):
        process.run(n, agents[n % 50], f"model-{n % 5}", "default")
    assert process.series() <= after + 50 * (len(Outcome) - 4), "an agent's other outcomes, and nothing else"
    for n in range(2_000):
        process.run(n, process.name(), process.name(), process.name())
    full = process.series()
    for n in range(2_000):
        process.run(n, process.name(), process.name(), process.name())
    assert process.series() == full
    assert full < 4_000, "of one process, in the worst case"


REAL = {
    "firetrial_run_seconds": (1, 3 * DAY),
    "firetrial_run_queue_seconds": (1, 2 * DAY),
    "firetrial_run_store_seconds": (0.1, HOUR / 2),
    "firetrial_sandbox_start_seconds": (0.03, HOUR / 2),
    "firetrial_rpc_seconds": (0.003, 60),
    "firetrial_message_seconds": (0.005, 3 * DAY),
    "firetrial_object_store_seconds": (0.002, 240),
    "firetrial_gateway_request_seconds": (0.1, 1200),
    "firetrial_model_call_seconds": (0.1, 590),
    "firetrial_judge_seconds": (0.05, HOUR),
    "firetrial_paper_parse_seconds": (0.1, HOUR),
    "firetrial_report_seconds": (0.1, 200),
}
"""Seconds from a short one to a long one: what was measured here, and what operators tell of."""


@pytest.mark.parametrize("name", REAL)
def test_a_histogram_tells_a_short_one_from_a_long_one(name: str) -> None:
    """Neither is beyond its bounds, and between two bounds lies no more than a factor of 6."""
    found = Process().registry._names_to_collectors[name]
    short, long = REAL[name]
    *bounds, _ = found._upper_bounds  # type: ignore[attr-defined]
    assert bounds[0] <= short
    assert bounds[-1] >= long
    inside = [bound for bound in bounds if short <= bound <= long]
    assert max(b / a for a, b in pairwise(inside)) <= 6 + 1e-9, bounds

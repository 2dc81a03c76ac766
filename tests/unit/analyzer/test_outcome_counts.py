"""Each attempt is counted once, however often, by whomever and with however many judgements it is told."""

from __future__ import annotations

import asyncio

from firetrial.runner.v1 import run_pb2
from unit.analyzer.bench import Bench, run


def counted(*benches: Bench) -> dict[str, float]:
    """Attempts by outcome, over these processes."""
    found: dict[str, float] = {}
    for bench in benches:
        (family,) = (one for one in bench.registry.collect() if one.name == "firetrial_run_outcomes")
        for sample in family.samples:
            if sample.name.endswith("_total"):
                outcome = sample.labels["outcome"]
                found[outcome] = found.get(outcome, 0.0) + sample.value
    return found


async def test_a_run_that_is_told_again_counts_once() -> None:
    bench = Bench()
    message = await bench.finished(run(1), expected=2)
    await bench.deliver("run_finished")
    bench.bus.redeliver(bench.consumer("run_finished"), message)
    await bench.deliver("run_finished")
    assert counted(bench) == {"agent_failed": 1}


async def test_a_crash_between_counting_and_settling_counts_nothing_twice() -> None:
    bench = Bench()
    message = await bench.judged(run(1), expected=2)
    await bench.deliver("run_judged")
    assert counted(bench) == {"scored": 1}
    bench.start()
    bench.bus.redeliver(bench.consumer("run_judged"), message)
    await bench.deliver("run_judged")
    assert counted(bench) == {}, "the process before has counted it"


async def test_another_judgement_is_no_other_run() -> None:
    bench = Bench()
    await bench.judged(run(1), expected=2, name="j-1")
    await bench.deliver("run_judged")
    message = await bench.judged(run(1), expected=2, name="j-2")
    bench.bus.redeliver(bench.consumer("run_judged"), message)
    await bench.deliver("run_judged")
    assert counted(bench) == {"scored": 1}


async def test_attempts_count_each_for_itself() -> None:
    bench = Bench()
    await bench.finished(run(1, superseded=True), run_pb2.OUTCOME_INFRA_FAILED)
    await bench.judged(run(1, attempt=2))
    for fact in ("run_finished", "run_judged"):
        await bench.deliver(fact)
    assert counted(bench) == {"infra_failed": 1, "scored": 1}


async def test_two_analyzers_that_race_count_once_together() -> None:
    first = Bench()
    second = Bench(first.everything, first.bus, first.state, first.clock)
    messages = [await first.finished(run(number), expected=9) for number in range(1, 9)]
    for bench in (first, second):
        for message in messages:
            bench.bus.redeliver(bench.consumer("run_finished"), message)
    await asyncio.gather(*(bench.deliver("run_finished") for bench in (first, second)))
    assert counted(first, second) == {"agent_failed": 8}


async def test_a_run_of_no_experiment_counts_once_too() -> None:
    bench = Bench()
    alone = run(1)
    alone.experiment_id = ""
    message = await bench.finished(alone)
    await bench.deliver("run_finished")
    bench.bus.redeliver(bench.consumer("run_finished"), message)
    await bench.deliver("run_finished")
    assert counted(bench) == {"agent_failed": 1}

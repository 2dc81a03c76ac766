"""What is counted: each thing once, and figures that are right."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from prometheus_client import CollectorRegistry

from firetrial_runner import run as runs
from firetrial_runner.egress.contacts import Visit
from firetrial_runner.gateway.account import Account
from firetrial_runner.gateway.exchange import Exchange, Tokens
from firetrial_runner.gpus.device import GIB
from firetrial_runner.metrics import EgressMetrics, GatewayMetrics, GpuMetrics, RunnerMetrics
from firetrial_runner.run import RunUsage
from firetrial_runner.sandbox.port import Leftover
from unit.runner.world import World


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(f"firetrial_{name}", labels)


async def test_a_run_is_counted_from_its_start_to_its_stored_steps(tmp_path: Path) -> None:
    world = World(tmp_path / "work")
    for program in ("conclude", "vanish"):
        await world.submit(program, max_attempts=1)
    await world.deliver()
    registry = world.registry
    assert value(registry, "sandbox_start_seconds_count", sandbox="fake") == 2
    assert value(registry, "sandbox_terminations_total", sandbox="fake", termination="exited") == 1
    assert value(registry, "sandbox_terminations_total", sandbox="fake", termination="lost") == 1
    assert value(registry, "runs_total", pool="default", outcome="concluded") == 1
    assert value(registry, "trajectory_steps_total", kind="output") == 1
    assert value(registry, "trajectory_chunks_total") == 4  # a chunk and an index each
    keys = await world.objects.keys("runs", "runs/")
    sizes = [len(await world.objects.get(f"runs/{key}")) for key in keys if "/trajectory" in key]
    assert value(registry, "trajectory_stored_bytes_total") == sum(sizes)


async def test_a_sandbox_that_does_not_start_is_counted(tmp_path: Path) -> None:
    world = World(tmp_path / "work")

    async def refuse(_: object) -> None:
        raise OSError("no processes left")

    world.sandbox.start = refuse  # type: ignore[assignment,method-assign]
    await world.submit("conclude", max_attempts=1)
    await world.deliver()
    assert value(world.registry, "sandbox_start_failures_total", sandbox="fake") == 1


async def test_what_a_dead_runner_left_is_counted_by_its_kind(tmp_path: Path) -> None:
    world = World(tmp_path / "work")
    dead = f"{world.presence.lease.partition('-')[0]}-gone"
    for run in ("r-1", "r-2"):
        (world.work_dir / f"{run}.{dead}").mkdir()
    (world.work_dir / "runners" / dead).touch()
    await world.reaper.sweep()
    assert value(world.registry, "runner_reaped_total", kind="folder") == 2


async def test_runs_are_counted_by_state_until_they_have_ended(tmp_path: Path) -> None:
    world = World(tmp_path / "work")
    first, second = [(await world.submit(program, max_attempts=1))[0] for program in ("conclude", "hang")]
    await world.reaper.sweep()
    assert value(world.registry, "open_runs", pool="default", state="queued") == 2
    await world.dispatch.cancel(second.id)
    await world.deliver()
    await world.reaper.sweep()
    assert value(world.registry, "open_runs", pool="default", state="queued") is None
    assert value(world.registry, "open_runs", pool="default", state="concluded") == 1
    await world.books.change_run(first.id, runs.judged)
    await world.reaper.sweep()
    assert value(world.registry, "open_runs", pool="default", state="concluded") is None


async def test_money_is_that_of_experiments_with_a_cap_and_runs_to_come(tmp_path: Path) -> None:
    world = World(tmp_path / "work")
    (run,) = await world.submit("conclude", max_cost_usd=2.5)
    await world.submit("vanish")
    await world.books.accounts.create(run.experiment_id, Account(0.75))
    await world.reaper.sweep()
    assert value(world.registry, "experiment_budget_usd") == 2.5
    assert value(world.registry, "experiment_spent_usd") == 0.75


async def test_sandboxes_that_cannot_be_removed_are_leaked(tmp_path: Path) -> None:
    world = World(tmp_path / "work")
    dead = f"{world.presence.lease.partition('-')[0]}-gone"
    (world.work_dir / "runners" / dead).touch()

    async def left() -> list[Leftover]:
        mine = [Leftover("r-1", world.presence.lease, what) for what in ("process 1", "process 2")]
        return [*mine, Leftover("r-2", dead, "container")]

    async def reap(_: Collection[str]) -> list[Leftover]:
        return []

    world.sandbox.leftovers, world.sandbox.reap = left, reap  # type: ignore[method-assign, assignment]
    await world.reaper.sweep()
    by = {"pool": "default", "sandbox": "fake"}
    assert value(world.registry, "sandboxes_alive", **by) == 1
    assert value(world.registry, "sandboxes_leaked", **by) == 1


def test_a_runner_without_slots_is_none_of_its_pool() -> None:
    registry = CollectorRegistry()
    RunnerMetrics(registry, "default", 0)
    assert value(registry, "runner_slots", pool="default") is None
    assert value(registry, "runner_tests", pool="default") is None
    RunnerMetrics(registry := CollectorRegistry(), "default", 3, 2)
    assert value(registry, "runner_slots", pool="default") == 3
    assert value(registry, "runner_tests", pool="default") == 2


def test_contacts_by_policy_and_decision() -> None:
    registry = CollectorRegistry()
    metrics = EgressMetrics(registry)
    for visit in (
        Visit("a", 443, sent=10, received=90),
        Visit("b", 443, sent=1),
        Visit("c", 443, refused="not listed"),
        Visit("d", 443, refused="denied", denied=True),
        Visit("e", 443, failed="it does not answer"),
    ):
        metrics.visited("listed", visit)
    counts = {
        decision: value(registry, "egress_contacts_total", policy="listed", decision=decision)
        for decision in ("allowed", "refused", "denied", "failed")
    }
    assert counts == {"allowed": 2, "refused": 1, "denied": 1, "failed": 1}
    by = {"policy": "listed", "decision": "allowed"}
    assert value(registry, "egress_bytes_total", **by, direction="sent") == 11
    assert value(registry, "egress_bytes_total", **by, direction="received") == 90


def test_calls_by_what_they_are_for() -> None:
    registry = CollectorRegistry()
    exchange = Exchange("embeddings", status=200, attempts=3, latency_s=0.5, waited_s=2.5)
    exchange.tokens, exchange.cost_usd = Tokens(100, 0, 40), 0.25
    GatewayMetrics(registry).exchanged("openai", "text-*", exchange)
    by = {"upstream": "openai", "model": "text-*", "endpoint": "embeddings"}
    assert value(registry, "gateway_requests_total", **by, status="200") == 1
    assert value(registry, "gateway_retries_total", **by) == 2
    assert value(registry, "gateway_wait_seconds_total", **by) == 2.5
    assert value(registry, "gateway_tokens_total", **by, kind="cached") == 40
    assert value(registry, "gateway_cost_usd_total", **by) == 0.25


def test_what_runs_made_of_their_gpus() -> None:
    registry = CollectorRegistry()
    metrics = GpuMetrics(registry, "lab")
    plain = RunUsage(10.0, 1.0, None, 0, 0)
    metrics.used(plain)
    assert value(registry, "gpu_run_seconds_total", pool="lab") is None
    metrics.used(
        RunUsage(10.0, 1.0, None, 0, 0, gpu_s=20.0, gpu_utilisation=0.8, max_gpu_memory_bytes=30 * GIB)
    )
    metrics.used(RunUsage(1.0, 1.0, None, 0, 0, gpu_s=1.0))  # over before a look
    assert value(registry, "gpu_run_seconds_total", pool="lab") == 21
    assert value(registry, "gpu_run_utilisation_ratio_sum", pool="lab") == 0.8
    assert value(registry, "gpu_run_memory_bytes_bucket", pool="lab", le="4.294967296e+10") == 1
    assert value(registry, "gpu_run_memory_bytes_count", pool="lab") == 1

"""N and N-1 speak to each other: other stubs, fields and facts of the future, restarts in any order."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from firetrial.plan.v1 import plan_pb2
from firetrial.runner.v1 import events_pb2, run_pb2
from firetrial_client import AsyncFiretrial, make_plan
from firetrial_kit.jetstream import connect
from support import stubs
from support.agents import SORTING, register
from support.catalogue import told
from support.cluster import SERVICES, Cluster

pytestmark = [pytest.mark.needs("nats-server", "weed", "bwrap"), pytest.mark.timeout(300)]
CLIENT = Path(stubs.__file__).with_name("plain_client.py")
FULL = os.environ.get("FIRETRIAL_BENCH") == "full"
ORDERS = list(permutations(SERVICES))
NAME, NUMBER = stubs.NEWS


async def tried(system: Cluster, folder: Path, paper: Path, request_id: str, *more: str) -> dict[str, Any]:
    """What a client on the stubs in `folder` says of a whole experiment."""
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    argv = [sys.executable, str(CLIENT), system.endpoints, str(paper), request_id, *more]
    client = await asyncio.create_subprocess_exec(
        *argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await client.communicate()
    assert client.returncode == 0, err.decode()[-2000:]
    found: dict[str, Any] = json.loads(out)
    assert found["stubs"] == [str(folder)]
    assert found["complete"]
    assert found["paper_states"]
    assert found["watched"] == [run_pb2.RUN_STATE_ENDED]
    assert found["outcomes"] == ["OUTCOME_SCORED"] * 2
    assert found["f1"] == [1.0] * 2
    assert (found["agents"], found["plan_repeats"]) == (1, 2)
    return found


async def test_a_client_on_the_released_stubs_does_all_that_it_did(
    system: Cluster, study: Path, tmp_path: Path
) -> None:
    folder = stubs.build(stubs.RELEASED.read_bytes(), tmp_path / "released")
    assert (await tried(system, folder, study, "released"))["plan_mark"] == ""


async def test_what_a_newer_client_says_in_its_plan_goes_through_every_service_unharmed(
    system: Cluster, study: Path, tmp_path: Path
) -> None:
    folder = stubs.build(stubs.future(stubs.RELEASED.read_bytes()), tmp_path / "future")
    found = await tried(system, folder, study, "future", "--future")
    assert found["plan_mark"] == "hello"
    seen = {}
    for subject, _, data in await told(system.nats_url):
        if b"hello" in data and found["experiment"].encode() in data:
            seen[subject.split(".")[4]] = data
    # From the parser to the runner, from it to the judge, and from there to the analyzer.
    assert set(seen) >= {"paper_submitted", "paper_parsed", "task_created", "run_requested", "run_started",
                         "run_finished", "run_judged"}  # fmt: skip
    known = plan_pb2.Plan()
    known.MergeFromString(bytes([*_varint(NUMBER << 3 | 2), 5]) + b"hello")
    slip = events_pb2.RunFinished.FromString(seen["run_finished"]).slip
    assert slip.plan.SerializeToString(deterministic=True).endswith(known.SerializeToString())
    assert slip.plan.judge.SerializeToString(deterministic=True).endswith(known.SerializeToString())


def _varint(number: int) -> bytes:
    low, high = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(high) if high else bytes([low])


async def test_facts_and_fields_of_the_future_do_no_harm(system: Cluster, study: Path) -> None:
    """Facts that nobody knows, and known ones with more in them, in the middle of an experiment."""
    client = await connect(system.nats_url, name="future")
    js = client.jetstream()
    more = _varint(NUMBER << 3 | 2) + b"\x05hello"

    async def tell(subject: str, type_: str, data: bytes) -> None:
        headers = {
            "ce-specversion": "1.0",
            "ce-type": type_,
            "ce-id": subject,
            "ce-hue": "blue",
            "Nats-Msg-Id": subject,
        }
        await js.publish(subject, data, headers=headers)

    async with AsyncFiretrial(system.endpoints) as sdk:
        plan = make_plan([await register(sdk, "right")], repeats=2, judge="offline")
        submitted = await sdk.submit_paper(study, plan=plan, request_id="amid-the-future")
        for service in SERVICES:
            await tell(f"ft.evt.{service}.v1.mood_changed.x", f"firetrial.{service}.v9.MoodChanged", more)
            await tell(f"ft.evt.{service}.v2.run_finished.x", f"firetrial.{service}.v2.RunFinished", more)
        async for _ in sdk.watch_report(submitted.experiment_id, timeout=120, appear=30):
            pass
        (run, *_) = [run async for run in sdk.list_runs(submitted.experiment_id)]
        again = events_pb2.RunFinished(run=run, slip=plan_pb2.Slip(experiment_id=submitted.experiment_id))
        again.run.outcome = run_pb2.OUTCOME_UNSPECIFIED
        judged = (await sdk.get_judgement(run_id=run.id)).id
        await tell(f"ft.evt.runner.v1.run_finished.{run.id}", "firetrial.runner.v1.RunFinished",
                   again.SerializeToString() + more)  # fmt: skip
        await asyncio.sleep(1)
        assert (await sdk.get_judgement(run_id=run.id)).id == judged
        await tried_again(sdk, study)
    for service in SERVICES:
        assert system.processes[service].poll() is None
        assert '"bug"' not in system.log(service)
    # What no contract knows is none of the catalogue's: gone, before this broker is held against it.
    for subject in ("ft.evt.*.v1.mood_changed.*", "ft.evt.*.v2.>", f"ft.evt.runner.v1.run_finished.{run.id}"):
        await js.purge_stream("FT_EVT", subject=subject)
    await client.close()


async def tried_again(sdk: AsyncFiretrial, study: Path) -> None:
    """After all that, an experiment goes through as ever."""
    plan = make_plan([await register(sdk, "right")], repeats=1, judge="offline")
    submitted = await sdk.submit_paper(study, plan=plan, request_id="after-the-future")
    async for report in sdk.watch_report(submitted.experiment_id, timeout=120, appear=30):
        last = report
    assert last.complete


@pytest.mark.parametrize("order", ORDERS if FULL else ORDERS[-1:], ids="-".join)
async def test_services_restarted_one_after_another_lose_nothing(
    system: Cluster, study: Path, order: tuple[str, ...]
) -> None:
    """Each of them while an experiment has just begun."""
    async with AsyncFiretrial(system.endpoints) as client:
        plan = make_plan([await register(client, "right")], repeats=2, judge="offline")
        begun = []
        for service in order:
            id_ = f"{'-'.join(order)}-{service}"
            begun.append((await client.submit_paper(study, plan=plan, request_id=id_)).experiment_id)
            await asyncio.to_thread(system.stop, service)
            await asyncio.to_thread(system.start, service)
        assert len({*begun}) == len(order)
        for experiment_id in begun:
            async for report in client.watch_report(experiment_id, timeout=120, appear=60):
                last = report
            assert (last.complete, last.ended_runs) == (True, 2)
            async for _ in client.watch_runs(experiment_id, timeout=60):
                pass
            runs = [run async for run in client.list_runs(experiment_id)]
            counted = [run for run in runs if not run.superseded]
            assert Counter(run.repeat for run in counted) == {1: 1, 2: 1}
            assert {run.outcome for run in counted} == {run_pb2.OUTCOME_SCORED}
            assert [await client.conclusion(run.id) for run in counted] == [SORTING["right"]] * 2

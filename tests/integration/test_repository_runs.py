"""Repository runs from an agent's steps to a judgement, in a real sandbox."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from firetrial_kit.clock import SystemClock
from firetrial_kit.testing import InMemoryState
from firetrial_runner.gateway.doors import Doors
from firetrial_runner.records import Books
from firetrial_runner.run import Outcome, RunState
from support import repositories
from support import scripted_models as scripted
from support.bench import Bench, bench
from support.repositories import BEST, BETTER, BROKEN, OVERFIT
from support.scripted_models import ScriptedModels

pytestmark = pytest.mark.needs("bwrap")
long = pytest.mark.skipif(
    os.environ.get("FIRETRIAL_BENCH") != "full", reason="FIRETRIAL_BENCH=full runs what takes long"
)


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path / "work") as made:
        yield made


@pytest.mark.parametrize("apart", [True, False])
async def test_steps_are_validated_recorded_told_and_the_best_is_tested(found: Bench, apart: bool) -> None:
    tried = {"a slope": BETTER, "layers": BROKEN, "its slope": BEST, "back": BETTER}
    agent = "".join(f"step({text!r}, {idea!r})\n" for idea, text in tried.items())
    judgement = await found.judged(agent, repositories.made(apart=apart))
    assert (judgement.scores.score, judgement.scores.measure) == (1.0, "normalized_improvement")
    sealed = judgement.sealed
    assert (sealed.step, sealed.validation, sealed.test, sealed.no_credit) == (3, 0.0, 0.0, "")
    assert not sealed.findings
    steps = await found.steps(judgement.run_id)
    assert [step["state"].removeprefix("STATE_") for step in steps] == ["VALID", "FAILED", "VALID", "VALID"]
    assert [step.get("metric") for step in steps] == [1.0, None, 0.0, 1.0]
    assert [step["idea"] for step in steps] == ["a slope", "layers", "its slope", "back"]
    assert steps[1]["reason"] == "it exited with 1"
    kept = await found.everything.get(f"runs/runs/{judgement.run_id}/targets/{steps[2]['files']['model.py']}")
    assert kept.decode() == BEST
    run = await found.runner.run(judgement.run_id)
    assert run.conclusion is not None
    said = (await found.everything.get(run.conclusion.uri)).decode()
    assert said.startswith("4 steps, 3 of them valid.")
    told = [step["validation"] for step in await found.trajectory(run) if "validation" in step]
    assert [one["step"] for one in told] == [1, 2, 3, 4]
    assert "+    return [2.0 * x for x in xs]" in told[2]["diff"]
    assert told[2]["exit_code"] == 0
    assert "no such layer" in await found.said(run)
    assert await found.everything.keys("sealed", "") == []
    assert [*found.runner.work_dir.glob("r-*"), *found.runner.work_dir.glob("test-*")] == []


@long
async def test_who_overfits_the_validation_gains_nothing_in_the_test(found: Bench) -> None:
    sealed = (await found.judged(f"step({OVERFIT!r})\n", repositories.made())).sealed
    assert (sealed.validation_improvement, sealed.test_improvement) == (1.0, 0.0)
    assert (sealed.test, sealed.no_credit) == (40.0, "")


async def test_a_run_of_broken_steps_scores_0_and_one_that_left_nothing_failed(found: Bench) -> None:
    judgement = await found.judged(f"step({BROKEN!r})\n", repositories.made())
    assert (judgement.scores.score, judgement.sealed.no_credit) == (0.0, "no valid step")
    run = await found.conduct(await found.submit("print('bye')\n", repositories.made()))
    assert (run.state, run.outcome) == (RunState.ENDED, Outcome.AGENT_FAILED)


async def test_what_lies_in_the_workspace_is_handed_in_by_the_program(found: Bench) -> None:
    agent = f"""\
(REPO / "model.py").write_text({BETTER!r})
done = subprocess.run([sys.executable, "/opt/firetrial/step.py", "--idea", "by hand"], capture_output=True)
print(done.returncode, done.stdout.decode(), done.stderr.decode())
"""
    judgement = await found.judged(agent, repositories.made())
    assert judgement.sealed.validation == 1.0
    (step,) = await found.steps(judgement.run_id)
    assert step["idea"] == "by hand"
    assert sorted(step["files"]) == ["model.py", "split.json"]


async def test_steps_end_and_what_is_no_step_is_refused(found: Bench) -> None:
    agent = f"""\
import urllib.error, urllib.request
def raw(body, token=os.environ["FIRETRIAL_STEP_TOKEN"], path=""):
    url, headers = os.environ["FIRETRIAL_STEP_URL"] + path, {{"authorization": f"Bearer {{token}}"}}
    request = urllib.request.Request(url, body, headers)
    try:
        print("status", urllib.request.urlopen(request).status)
    except urllib.error.HTTPError as error:
        print("status", error.code)
for body in (b"", b"[]", b'{{"files": {{}}}}', b'{{"files": {{"model.py": 1}}}}',
             b'{{"files": {{"model.py": "\\\\ud800"}}}}', b"\\xff\\xfe", b"[" * 100000,
             b'{{"idea": 1, "files": {{"model.py": ""}}}}'):
    raw(body)
raw(json.dumps({{"files": {{"model.py": "x" * (3 << 20)}}}}).encode())
raw(b"{{}}", token="")
raw(b"{{}}", path="/other")
step({BETTER!r})
step({BEST!r})
step({BEST!r})
"""
    judgement = await found.judged(agent, repositories.made(max_steps=2))
    said = await found.said(await found.runner.run(judgement.run_id))
    assert re.findall(r"status (\d+)", said) == ["400"] * 8 + ["413", "401", "404"]
    assert "all 2 steps are made" in said
    assert len(await found.steps(judgement.run_id)) == 2
    assert judgement.scores.score == 1.0


@long
async def test_time_that_is_up_ends_the_step_under_way(found: Bench) -> None:
    slow = "import time\ndef predict(xs):\n    time.sleep(60)\n    return xs\n"
    agent = f"step({BETTER!r})\nstep({slow!r})\n"
    judgement = await found.judged(agent, repositories.made(), wall_s=6)
    assert (judgement.sealed.step, len(await found.steps(judgement.run_id))) == (1, 1)
    run = await found.runner.run(judgement.run_id)
    assert "step 2 was under way when the run ended" in await found.said(run)


@long
async def test_a_validation_that_takes_too_long_is_a_failed_step(found: Bench) -> None:
    slow = "import time\ndef predict(xs):\n    time.sleep(60)\n    return xs\n"
    judgement = await found.judged(f"step({slow!r})\n", repositories.made(step_time="2s"))
    (step,) = await found.steps(judgement.run_id)
    assert (step["state"], step["exit"]["termination"]) == ("STATE_FAILED", "TERMINATION_TIMED_OUT")
    assert step["reason"].startswith("timed out")


async def test_models_and_steps_are_reached_by_one_door_and_tokens_are_told_by_step(tmp_path: Path) -> None:
    agent = f"""\
import urllib.request
def chat():
    body = {{"model": "small", "messages": [{{"role": "user", "content": "hello"}}]}}
    headers = {{"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    return json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))
used = [chat()["usage"]["total_tokens"] for _ in range(3)]
step({BETTER!r})
step({BEST!r})
used.append(chat()["usage"]["total_tokens"])
step({BEST!r})
print("used", sum(used[:3]), used[3])
"""
    registry, clock, settings = CollectorRegistry(), SystemClock(), tmp_path / "gateway.toml"
    with ScriptedModels(lambda _: scripted.text("hello there")) as models:
        told = {"dialect": "openai", "models": ["small"], "key_env": "KEY", "url": models.base_url}
        settings.write_text(
            "[upstreams.main]\n" + "".join(f"{n} = {json.dumps(v)}\n" for n, v in told.items())
        )
        state = InMemoryState()
        async with Doors.by(settings, {"KEY": "sk-real"}, Books(state), clock, registry) as doors:
            with bench(tmp_path / "work", doors, state) as found:
                judgement = await found.judged(agent, repositories.made())
                run = await found.runner.run(judgement.run_id)
                (used,) = re.findall(r"used (\d+) (\d+)", await found.said(run))
                steps = await found.steps(run.id)
    assert [int(step.get("tokens", 0)) for step in steps] == [int(used[0]), 0, int(used[1])]
    assert run.usage is not None
    assert run.usage.model_calls == 4

"""Settings, the choice of a judge, the wire, and the RPCs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from firetrial.judge.v1 import judge_service_pb2 as pb
from firetrial.judge.v1 import judgement_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_judge.config import JudgeSettings
from firetrial_judge.judge import Convention, Judge, JudgeConfig, Mode
from firetrial_judge.judgement import judge_texts
from firetrial_judge.judges import Backend, Judges, Spec
from firetrial_judge.wire import config_to_domain, config_to_wire, judgement_to_wire, spec_to_domain
from firetrial_kit.asking import Price
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.settings import SettingsError
from firetrial_kit.testing import ManualClock
from unit.judge.world import CONCLUSION, TRUTH, WordJudge, World

SET_TWICE = plan_pb2.JudgeConfig(mode=plan_pb2.JudgeConfig.MODE_SET, judge_repeats=2)
BY_MODEL = plan_pb2.JudgeConfig(backend=plan_pb2.JudgeConfig.BACKEND_MODEL)


def test_settings_of_the_judge_win_over_those_of_all() -> None:
    environ = {
        "FIRETRIAL_MODEL_URL": "http://127.0.0.1:1/v1",
        "FIRETRIAL_MODEL_NAME": "any",
        "FIRETRIAL_JUDGE_MODEL_NAME": "big",
        "FIRETRIAL_JUDGE_MODEL_KEY": "sk-x",
    }
    settings = JudgeSettings.from_env(environ, "judge")
    endpoint = settings.endpoint("")
    assert (endpoint.model, endpoint.api_key) == ("big", "sk-x")
    assert settings.endpoint("other").model == "other"
    assert "sk-x" not in repr(settings)
    assert (endpoint.dialect, endpoint.at_once) == ("openai", 32)
    other = {**environ, "FIRETRIAL_JUDGE_MODEL_DIALECT": "anthropic", "FIRETRIAL_JUDGE_MODEL_AT_ONCE": "4"}
    endpoint = JudgeSettings.from_env(other, "judge").endpoint("")
    assert (endpoint.dialect, endpoint.at_once) == ("anthropic", 4)


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"FIRETRIAL_JUDGE_MODEL_URL": "ftp://x", "FIRETRIAL_JUDGE_MODEL_NAME": "m"}, "http://"),
        ({"FIRETRIAL_JUDGE_MODEL_URL": "http://x/v1"}, "go together"),
        ({"FIRETRIAL_JUDGE_MODEL_NAME": "m"}, "go together"),
        ({"FIRETRIAL_JUDGE_JUDGEMENTS_AT_ONCE": "0"}, "JUDGEMENTS_AT_ONCE"),
    ],
)
def test_bad_settings_are_told(environ: dict[str, str], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        JudgeSettings.from_env(environ, "judge")


@dataclass
class Models:
    made: list[str] = field(default_factory=list)

    def __call__(self, name: str) -> Judge:
        self.made.append(name)
        return WordJudge()


def test_the_default_is_the_model_where_there_is_one() -> None:
    offline, models = WordJudge(), Models()
    assert Judges(offline, None).pick(Backend.DEFAULT, "") is offline
    judges = Judges(offline, models)
    assert judges.pick(Backend.DEFAULT, "") is judges.pick(Backend.MODEL, "")
    assert judges.pick(Backend.OFFLINE, "") is offline
    assert judges.pick(Backend.MODEL, "other") is not judges.pick(Backend.MODEL, "")
    assert models.made == ["", "other"]


def test_models_without_end_are_refused() -> None:
    judges = Judges(WordJudge(), Models())
    for number in range(16):
        judges.pick(Backend.MODEL, f"m{number}")
    with pytest.raises(FiretrialError, match="at most 16"):
        judges.pick(Backend.MODEL, "m16")
    judges.pick(Backend.MODEL, "m0")


def test_a_configuration_names_all_its_faults() -> None:
    bad = plan_pb2.JudgeConfig(backend=9, mode=9)  # type: ignore[arg-type]
    with pytest.raises(FiretrialError) as caught:
        config_to_domain(bad)
    assert [f.field for f in caught.value.faults] == ["judge.backend", "judge.mode"]
    with pytest.raises(FiretrialError, match="asks no model"):
        config_to_domain(plan_pb2.JudgeConfig(backend=plan_pb2.JudgeConfig.BACKEND_OFFLINE, model="m"))
    assert config_to_domain(plan_pb2.JudgeConfig()) == (Backend.DEFAULT, "")


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"convention": 9, "judge_repeats": 10}, ["judge.convention", "judge.judge_repeats"]),
        ({"judge_repeats": -1}, ["judge.judge_repeats"]),
        ({"max_cost_usd": 0.0}, ["judge.max_cost_usd"]),
        ({"max_cost_usd": float("nan")}, ["judge.max_cost_usd"]),
        ({"model": "m", "panel": ["n", "m", ""]}, ["judge.panel[1]", "judge.panel[2]"]),
        ({"panel": [f"m{n}" for n in range(9)]}, ["judge.panel"]),
        (
            {"backend": plan_pb2.JudgeConfig.BACKEND_OFFLINE, "panel": ["n"], "core_idea": True},
            ["judge.panel", "judge.core_idea"],
        ),
    ],
)
def test_each_fault_of_a_configuration_is_named(given: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(FiretrialError) as caught:
        spec_to_domain(plan_pb2.JudgeConfig(**given))
    assert [f.field for f in caught.value.faults] == fields


def test_a_whole_configuration_becomes_a_specification_and_comes_back() -> None:
    given = plan_pb2.JudgeConfig(
        backend=plan_pb2.JudgeConfig.BACKEND_MODEL,
        model="m",
        mode=plan_pb2.JudgeConfig.MODE_SET,
        core_idea=True,
        panel=["n"],
        judge_repeats=3,
        convention=plan_pb2.JudgeConfig.CONVENTION_RAGCHECKER,
        max_cost_usd=2.5,
    )
    spec = spec_to_domain(given)
    assert spec == Spec(Backend.MODEL, "m", Mode.SET, True, ("n",), 3, Convention.RAGCHECKER, 2.5)
    applied = JudgeConfig("model", "m", "1", "", Mode.SET, True, ("n",), 3, Convention.RAGCHECKER)
    given.ClearField("max_cost_usd")
    assert config_to_wire(applied) == given


def test_what_changes_a_verdict_changes_the_hash_and_the_convention_does_not() -> None:
    plain = JudgeConfig("model", "m", "1")
    others = [
        replace(plain, mode=Mode.SET),
        replace(plain, core_idea=True),
        replace(plain, panel=("n",)),
        replace(plain, repeats=2),
    ]
    assert len({config.hash for config in [plain, *others]}) == 5
    assert replace(plain, convention=Convention.RAGCHECKER).hash == plain.hash


def test_the_offline_judge_sits_alone() -> None:
    judges = Judges(WordJudge(), None)
    for spec in (Spec(panel=("m",)), Spec(core_idea=True)):
        with pytest.raises(FiretrialError, match="needs a model"):
            judges.seat(spec)
    assert judges.seat(Spec(repeats=3, mode=Mode.SET)).config.repeats == 3


def test_prices_come_from_the_environment_and_bad_ones_are_told() -> None:
    environ = {"FIRETRIAL_JUDGE_PRICES": '{"m": {"prompt": 2, "completion": 8}}'}
    assert JudgeSettings.from_env(environ, "judge").price_table() == {"m": Price(2.0, 8.0, 2.0)}
    assert JudgeSettings.from_env({}, "judge").price_table() == {}
    for bad in ('{"m": {"prompt": -1, "completion": 8}}', '{"m": {"prompt": 1}}', "{", '{"m": 3}'):
        with pytest.raises(SettingsError, match="FIRETRIAL_JUDGE_PRICES"):
            JudgeSettings.from_env({"FIRETRIAL_JUDGE_PRICES": bad}, "judge")


async def test_what_is_undefined_is_unset_on_the_wire() -> None:
    judgement = await judge_texts(WordJudge(), run_id="r", conclusion="All done.", truth=TRUTH)
    wired = judgement_to_wire(
        judgement,
        run_id="r",
        task_id="t",
        conclusion="All done.",
        truth=TRUTH,
        quality="q",
        at=ManualClock().now(),
    )
    assert not wired.scores.HasField("precision")
    assert not wired.scores.HasField("f1")
    assert wired.scores.HasField("recall")
    assert wired.scores.false_negatives == 2
    assert (wired.id, wired.config_hash) == (judgement.id, judgement.config.hash)


async def test_a_passage_of_any_length_is_cut_on_the_wire() -> None:
    sentence = "Accuracy falls as label noise increases, " + "really " * 1000 + "always."
    world = World()
    given = await world.servicer.ScoreText(
        pb.ScoreTextRequest(conclusion=sentence, ground_truth=sentence), None
    )
    assert all(len(c.evidence) <= 1000 for c in given.judgement.agent_claims)


async def test_two_texts_are_judged_and_nothing_is_kept() -> None:
    world = World()
    request = pb.ScoreTextRequest(conclusion=CONCLUSION, ground_truth=TRUTH)
    judgement = (await world.servicer.ScoreText(request, None)).judgement
    assert [c.verdict for c in judgement.agent_claims] == [
        judgement_pb2.VERDICT_ENTAILED,
        judgement_pb2.VERDICT_NEUTRAL,
    ]
    assert judgement.quality == "for tests"
    assert (world.objects.puts, world.bus.published, await world.judgements.ids()) == (0, [], [])


async def test_empty_texts_are_refused_both_at_once() -> None:
    with pytest.raises(FiretrialError) as caught:
        await World().servicer.ScoreText(pb.ScoreTextRequest(conclusion=" "), None)
    assert caught.value.reason is Reason.INVALID
    assert [f.field for f in caught.value.faults] == ["conclusion", "ground_truth"]


async def test_judgements_are_listed_by_pages_and_found_by_id() -> None:
    world = World()
    await world.task()
    for number in range(3):
        await world.finish(await world.run(f"r-{number}"))
    await world.deliver()
    first = await world.servicer.ListJudgements(pb.ListJudgementsRequest(page_size=2), None)
    last = await world.servicer.ListJudgements(
        pb.ListJudgementsRequest(page_size=2, page_token=first.next_page_token), None
    )
    found = [*first.judgements, *last.judgements]
    assert sorted(j.run_id for j in found) == ["r-0", "r-1", "r-2"]
    assert last.next_page_token == ""
    one = await world.servicer.GetJudgement(pb.GetJudgementRequest(id=found[0].id), None)
    assert one.judgement == found[0]


async def test_a_run_is_judged_again_in_another_way_and_its_own_judgement_stays() -> None:
    world = World()
    await world.task()
    run = await world.run()
    await world.finish(run)
    await world.deliver()
    own = (await world.servicer.GetJudgement(pb.GetJudgementRequest(run_id="r-1"), None)).judgement
    told = len(world.bus.published)
    request = pb.JudgeRunRequest(run_id="r-1", config=SET_TWICE)
    other = (await world.servicer.JudgeRun(request, None)).judgement
    assert other.id != own.id
    assert (other.run_id, other.task_id, other.config.mode) == ("r-1", "noise-1", 2)
    assert [len(c.votes) for c in other.agent_claims] == [2, 2]
    assert [(p.agent_claim_id, p.truth_claim_id) for p in other.pairs] == [("a1", "t1")]
    assert (await world.servicer.GetJudgement(pb.GetJudgementRequest(run_id="r-1"), None)).judgement == own
    asked = len(world.judge.rulings)
    assert (await world.servicer.JudgeRun(request, None)).judgement == other
    assert (len(world.judge.rulings), len(world.bus.published)) == (asked, told)
    assert sorted(await world.judgements.ids()) == sorted([own.id, other.id])


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (pb.JudgeRunRequest(), Reason.INVALID),
        (pb.JudgeRunRequest(run_id="../r"), Reason.INVALID),
        (pb.JudgeRunRequest(run_id="r-none"), Reason.NOT_FOUND),
        (pb.JudgeRunRequest(run_id="r-1", config=plan_pb2.JudgeConfig(judge_repeats=99)), Reason.INVALID),
        (pb.JudgeRunRequest(run_id="r-1", config=BY_MODEL), Reason.PRECONDITION),
    ],
)
async def test_a_run_that_cannot_be_judged_again_is_told(
    request_: pb.JudgeRunRequest, reason: Reason
) -> None:
    world = World()
    await world.task()
    await world.run()
    with pytest.raises(FiretrialError) as caught:
        await world.servicer.JudgeRun(request_, None)
    assert caught.value.reason is reason


async def watched(world: World, experiment_id: str, number: int) -> list[str]:
    """The runs of the next judgements that a watch gives."""
    request = pb.WatchJudgementsRequest(experiment_id=experiment_id)
    found = []
    async for told in world.servicer.WatchJudgements(request, None):
        found.append(told.judgement.run_id)
        if len(found) == number:
            break
    return found


async def test_a_watch_of_an_experiment_begins_with_what_there_is_and_one_of_all_does_not() -> None:
    world = World()
    await world.task()
    foreign = await world.run("r-9")
    foreign.experiment_id = "e-9"
    for run in (await world.run("r-1"), foreign):
        await world.finish(run)
    await world.deliver()
    mine = asyncio.create_task(watched(world, "e-1", 2))
    everything = asyncio.create_task(watched(world, "", 1))
    await asyncio.sleep(0.01)
    await world.finish(await world.run("r-2"))
    await world.deliver()
    assert await asyncio.wait_for(mine, 5) == ["r-1", "r-2"]
    assert await asyncio.wait_for(everything, 5) == ["r-2"]


async def test_a_judgement_names_its_judge_s_calibration_and_tells_its_drift() -> None:
    async def standing(config: JudgeConfig) -> tuple[str, str]:
        return ("c-1", "") if config.mode is Mode.TEXT else ("", "another mode was calibrated")

    world = World()
    world.start(standing=standing)
    request = pb.ScoreTextRequest(conclusion=CONCLUSION, ground_truth=TRUTH)
    calibrated = (await world.servicer.ScoreText(request, None)).judgement
    assert (calibrated.calibration_id, list(calibrated.flags)) == ("c-1", [])
    request.config.CopyFrom(SET_TWICE)
    drifted = (await world.servicer.ScoreText(request, None)).judgement
    assert (drifted.calibration_id, list(drifted.flags)) == ("", ["judge_drift"])
    assert list(drifted.notes) == ["another mode was calibrated"]


async def test_a_side_without_claims_is_undefined_or_zero_by_convention() -> None:
    world = World()
    request = pb.ScoreTextRequest(conclusion="All done.", ground_truth=TRUTH)
    undefined = (await world.servicer.ScoreText(request, None)).judgement
    assert (undefined.scores.HasField("precision"), undefined.scores.HasField("f1")) == (False, False)
    assert list(undefined.flags) == ["no_claims"]
    request.config.convention = plan_pb2.JudgeConfig.CONVENTION_RAGCHECKER
    zero = (await world.servicer.ScoreText(request, None)).judgement
    assert (zero.scores.HasField("precision"), zero.scores.HasField("f1")) == (True, True)
    assert (zero.scores.precision, zero.scores.recall, zero.scores.f1) == (0.0, 0.0, 0.0)
    assert (zero.config_hash, zero.id != undefined.id) == (undefined.config_hash, True)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (pb.GetJudgementRequest(), Reason.INVALID),
        (pb.GetJudgementRequest(id="j-none"), Reason.NOT_FOUND),
        (pb.GetJudgementRequest(run_id="r-none"), Reason.NOT_FOUND),
    ],
)
async def test_what_is_not_there_is_told(request_: pb.GetJudgementRequest, reason: Reason) -> None:
    with pytest.raises(FiretrialError) as caught:
        await World().servicer.GetJudgement(request_, None)
    assert caught.value.reason is reason

"""Settings, the choice of a judge, the wire, and the RPCs."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from firetrial.judge.v1 import judge_service_pb2 as pb
from firetrial.judge.v1 import judgement_pb2
from firetrial.plan.v1 import plan_pb2
from firetrial_judge.config import JudgeSettings
from firetrial_judge.judgement import Judge, judge_texts
from firetrial_judge.judges import Backend, Judges
from firetrial_judge.wire import config_to_domain, judgement_to_wire
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.settings import SettingsError
from firetrial_kit.testing import ManualClock
from unit.judge.world import CONCLUSION, TRUTH, WordJudge, World


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

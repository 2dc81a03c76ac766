"""Calibrations are made once, kept, announced, and tell when the judge is no longer what was calibrated."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from firetrial.judge.v1 import calibration_pb2, events_pb2, judgement_pb2
from firetrial.judge.v1 import judge_service_pb2 as pb
from firetrial.plan.v1 import plan_pb2
from firetrial_judge.calibration.calibrating import Calibrating, CalibrationMetrics
from firetrial_judge.calibration.drift import CalibrationRecord
from firetrial_judge.calibration_rpcs import CalibrationRpcs
from firetrial_judge.claims import Claim
from firetrial_judge.instructions import load_prompts
from firetrial_judge.judge import Judge, JudgeConfig
from firetrial_judge.judges import Judges
from firetrial_judge.model_judge import clients, model_judges
from firetrial_judge.verdict import Ruling
from firetrial_kit.asking import Spent
from firetrial_kit.cache import NoCache
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.models import Endpoint
from firetrial_kit.objects import GRANTS
from firetrial_kit.records import Records
from firetrial_kit.testing import InMemoryBus, InMemoryObjects, InMemoryState, ManualClock
from unit.judge.world import WordJudge, World

LABELS = "\n".join(
    json.dumps({"id": n, "reference": "Accuracy falls with noise.", "claim": claim, "label": label})
    for n, (claim, label) in enumerate(
        [
            ("Accuracy falls with noise.", "entailed"),
            ("Accuracy falls", "entailed"),
            ("Noise lowers accuracy.", "entailed"),
            ("Accuracy rises with noise.", "contradicted"),
        ]
    )
).encode()


class Deafening(WordJudge):
    """A judge that finds nothing once it is deaf."""

    deaf = False

    async def rule(self, claims: Sequence[Claim], reference: str) -> tuple[Sequence[Ruling], Spent]:
        return await super().rule(claims, "" if self.deaf else reference)


class Here:
    """A judge's calibrations on the kit's fakes."""

    def __init__(self, model: Callable[[str], Judge] | None = None) -> None:
        self.bus = InMemoryBus()
        self.judge = Deafening(config=JudgeConfig("offline", "words", "1"))
        self.registry = CollectorRegistry()
        self.objects = InMemoryObjects(GRANTS["judge"])
        self.clock = ManualClock()
        self.work = Calibrating(
            judges=Judges(self.judge, model),
            objects=self.objects,
            records=Records(InMemoryState(), "calibration", CalibrationRecord),
            bus=self.bus,
            clock=self.clock,
            metrics=CalibrationMetrics(self.registry),
        )

    async def calibrate(self, labels: bytes = LABELS) -> calibration_pb2.Calibration:
        return await self.work.calibrate(labels, plan_pb2.JudgeConfig())

    def told(self) -> list[events_pb2.JudgeCalibrated]:
        return [events_pb2.JudgeCalibrated.FromString(m.data) for m in self.bus.published]

    def change(self, **to: str) -> None:
        self.judge.config = replace(self.judge.config, **to)  # type: ignore[arg-type]

    def drift(self) -> float | None:
        return self.registry.get_sample_value("firetrial_judge_drift", {"backend": "offline"})


@pytest.fixture
def here() -> Here:
    return Here()


async def test_a_calibration_is_measured_kept_and_announced(here: Here) -> None:
    made = await here.calibrate()
    assert made.items == 4
    assert made.accuracy.value == pytest.approx(0.75)
    assert made.precision.value == 1.0
    assert made.base_rates["ENTAILED"] == 0.75
    assert made.config.backend == plan_pb2.JudgeConfig.BACKEND_OFFLINE
    assert await here.work.get(made.id) == made
    (told,) = here.told()
    assert (told.calibration_id, told.config_hash, told.drift) == (made.id, here.judge.config.hash, "")
    assert here.drift() == 0


async def test_the_same_labels_are_judged_once(here: Here) -> None:
    made = await here.calibrate()
    asked = len(here.judge.rulings)
    assert await here.calibrate() == made
    assert len(here.judge.rulings) == asked
    assert len(here.told()) == 1  # announced again under the same id, which the bus drops


async def test_another_model_or_prompt_drifts(here: Here) -> None:
    first = await here.calibrate()
    assert await here.work.standing(here.judge.config) == (first.id, "")
    here.change(prompts="2", model="other")
    id_, drift = await here.work.standing(here.judge.config)
    assert id_ == ""
    assert first.id in drift
    assert "model words → other, prompts 1 → 2" in drift
    assert here.drift() == 1
    here.clock.advance(60)
    second = await here.calibrate()
    assert second.id != first.id
    assert "prompts 1 → 2" in here.told()[-1].drift
    assert here.drift() == 0, "to calibrate it is what the alert asks for"
    assert await here.work.standing(here.judge.config) == (second.id, "")
    assert here.drift() == 0


async def test_a_judge_that_was_never_calibrated_has_not_drifted(here: Here) -> None:
    assert await here.work.standing(here.judge.config) == ("", "")


async def test_a_judge_that_became_worse_on_the_same_labels_is_told(here: Here) -> None:
    rows = [{"id": n, "reference": "A holds.", "claim": "A holds.", "label": "entailed"} for n in range(40)]
    labels = "\n".join(map(json.dumps, rows)).encode()
    await here.calibrate(labels)
    here.change(prompts="2")
    here.clock.advance(60)
    here.judge.deaf = True
    made = await here.calibrate(labels)
    assert made.accuracy.value == 0.0
    assert "below the interval" in here.told()[-1].drift


async def test_bad_labels_are_refused_before_anything_is_kept(here: Here) -> None:
    with pytest.raises(FiretrialError) as refused:
        await here.calibrate(b"{}")
    assert refused.value.reason is Reason.INVALID
    assert not here.bus.published


async def test_the_rpcs(here: Here) -> None:
    class Servicer(CalibrationRpcs):
        def __init__(self) -> None:
            self._calibrating = here.work

    rpcs = Servicer()  # type: ignore[abstract]
    made = (await rpcs.Calibrate(pb.CalibrateRequest(labels=LABELS), None)).calibration
    assert (await rpcs.GetCalibration(pb.GetCalibrationRequest(id=made.id), None)).calibration == made
    listed = await rpcs.ListCalibrations(pb.ListCalibrationsRequest(), None)
    assert [c.id for c in listed.calibrations] == [made.id]
    described = await rpcs.DescribeJudge(pb.DescribeJudgeRequest(), None)
    assert (described.config_hash, described.calibration_id) == (here.judge.config.hash, made.id)
    assert (described.config, described.drift) == (made.config, "")
    assert (described.prompts, described.prompts_sha256, described.quality) == ("1", "", here.judge.quality)
    for labels in (b"", b"x" * (3 * 1024 * 1024 + 1)):
        with pytest.raises(FiretrialError) as refused:
            await rpcs.Calibrate(pb.CalibrateRequest(labels=labels), None)
        assert refused.value.faults[0].field == "labels"
    with pytest.raises(FiretrialError) as missing:
        await rpcs.GetCalibration(pb.GetCalibrationRequest(id="c-0"), None)
    assert missing.value.reason is Reason.NOT_FOUND


async def test_what_describes_a_judge_is_what_its_judgements_say(here: Here) -> None:
    world = World()
    world.start(here.judge, standing=here.work.standing)
    await world.task()
    run = await world.run()
    again = pb.JudgeRunRequest(run_id=run.id)

    async def both() -> tuple[pb.DescribeJudgeResponse, judgement_pb2.Judgement]:
        described = await here.work.describe(plan_pb2.JudgeConfig())
        return described, (await world.servicer.JudgeRun(again, None)).judgement

    described, before = await both()
    assert (described.calibration_id, before.calibration_id, list(before.flags)) == ("", "", [])
    made = await here.calibrate()
    described, kept = await both()
    assert described.calibration_id == made.id
    assert kept == before  # a judgement says what was known when it was made
    here.change(prompts="2")
    described, drifted = await both()
    assert described.config_hash == drifted.config_hash != before.config_hash
    assert described.calibration_id == drifted.calibration_id == ""
    assert list(drifted.flags) == ["judge_drift"]
    assert described.drift in drifted.notes
    here.clock.advance(60)
    newer = await here.calibrate()
    another = await world.servicer.JudgeRun(pb.JudgeRunRequest(run_id=(await world.run("r-2")).id), None)
    assert another.judgement.calibration_id == newer.id != made.id
    assert list(another.judgement.flags) == []
    here.change(prompts="1")  # the judge of the first calibration is back: that one speaks for it again
    assert (await here.work.describe(plan_pb2.JudgeConfig())).calibration_id == made.id


async def test_a_model_s_prompts_are_described_by_their_hash() -> None:
    prompts = load_prompts()
    async with AsyncExitStack() as stack:
        client = clients(lambda name: Endpoint("http://127.0.0.1:9/v1", name or "m"), stack)
        here = Here(model_judges(client, NoCache(), {}))
        asked = plan_pb2.JudgeConfig(backend=plan_pb2.JudgeConfig.BACKEND_MODEL, panel=["n"], judge_repeats=2)
        described = await here.work.describe(asked)
        with pytest.raises(FiretrialError, match="at most 8"):
            await here.work.describe(plan_pb2.JudgeConfig(panel=[f"m{n}" for n in range(9)]))
    assert (described.prompts, described.prompts_sha256) == (prompts.version, prompts.sha256)
    assert (described.config.model, list(described.config.panel), described.config.judge_repeats) == (
        "m",
        ["n"],
        2,
    )
    with pytest.raises(FiretrialError, match="has no model"):
        await Here().work.describe(asked)

"""Calibrations made, kept, announced and looked up."""

from __future__ import annotations

import hashlib

from google.protobuf.json_format import MessageToJson, Parse, ParseError
from prometheus_client import CollectorRegistry, Gauge

from firetrial.judge.v1 import calibration_pb2, events_pb2
from firetrial.judge.v1 import judge_service_pb2 as pb
from firetrial.plan.v1 import plan_pb2
from firetrial_judge import wire
from firetrial_judge.calibration.drift import CalibrationRecord, drifted, latest, moved
from firetrial_judge.calibration.labels import read_labels
from firetrial_judge.calibration.measuring import measured
from firetrial_judge.calibration.wire import to_wire
from firetrial_judge.judge import JudgeConfig
from firetrial_judge.judges import Judges
from firetrial_kit import events
from firetrial_kit.bus import Bus
from firetrial_kit.clock import Clock
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import digest
from firetrial_kit.labels import Bounded
from firetrial_kit.objects import ObjectRef, Objects
from firetrial_kit.records import Records

_SERVICE = "judge"
_JSON = "application/json"


class CalibrationMetrics:
    """Registered once per process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._models = Bounded()
        self._accuracy = Gauge(
            "firetrial_judge_calibration_accuracy",
            "Entailed against the rest, measured against people, of the newest calibration.",
            ["backend", "model"],
            registry=registry,
        )
        self.drift = Gauge(
            "firetrial_judge_drift",
            "1 where the judge is not the one that was calibrated last.",
            ["backend"],
            registry=registry,
        )

    def calibrated(self, backend: str, model: str, accuracy: float) -> None:
        """From now on this is the judge that was calibrated last."""
        (model,) = self._models.of(model)
        self._accuracy.labels(backend, model).set(accuracy)
        self.drift.labels(backend).set(0)


class Calibrating:
    """The judge's work on its own calibration."""

    def __init__(
        self,
        *,
        judges: Judges,
        objects: Objects,
        records: Records[CalibrationRecord],
        bus: Bus,
        clock: Clock,
        metrics: CalibrationMetrics,
    ) -> None:
        self._judges = judges
        self._objects = objects
        self._records = records
        self._bus = bus
        self._clock = clock
        self._metrics = metrics

    async def calibrate(self, labels: bytes, asked: plan_pb2.JudgeConfig) -> calibration_pb2.Calibration:
        """Measure a judge against labels: put, record, announce. Done before, it is only announced again.

        Raises INVALID for labels or a configuration that cannot be, and what the judge and the store raise.
        """
        items = read_labels(labels)
        judge = self._judges.seat(wire.spec_to_domain(asked))
        sha256 = hashlib.sha256(labels).hexdigest()
        id_ = calibration_id(sha256, judge.config)
        record = await self._records.find(id_)
        if record is not None:
            calibration = await self._read(record)
            await self._announce(record, judge.config)
            return calibration
        calibration = to_wire(id_, judge.config, sha256, await measured(judge, items), self._clock.now())
        data = MessageToJson(calibration, preserving_proto_field_name=True).encode()
        ref = await self._objects.put("results", f"calibrations/{id_}.json", data, _JSON)
        record = _record(calibration, judge.config, ref)
        await self._announce(record, judge.config)
        await self._records.create(id_, record)
        return calibration

    async def get(self, id_: str) -> calibration_pb2.Calibration:
        """Raises NOT_FOUND."""
        return await self._read(await self._records.get(id_))

    async def page(self, size: int, token: str) -> tuple[list[calibration_pb2.Calibration], str]:
        """A page of calibrations and the token of the next."""
        records, following = await self._records.page(size, token)
        return [await self._read(record) for record in records], following

    async def standing(self, config: JudgeConfig) -> tuple[str, str]:
        """The id of the newest calibration that speaks for a configuration, and how it drifted from the last.

        Both are empty for a judge that was never calibrated. The metric follows.
        """
        records = await self._records.all()
        fitting = latest([r for r in records if r.config_hash == config.hash], config.backend)
        drift = "" if fitting else drifted(latest(records, config.backend), config)
        self._metrics.drift.labels(config.backend).set(bool(drift))
        return (fitting.id if fitting else ""), drift

    async def describe(self, asked: plan_pb2.JudgeConfig) -> pb.DescribeJudgeResponse:
        """What a configuration comes to here. Raises INVALID, and PRECONDITION where its model is missing."""
        judge = self._judges.seat(wire.spec_to_domain(asked))
        calibration_id, drift = await self.standing(judge.config)
        return pb.DescribeJudgeResponse(
            config=wire.config_to_wire(judge.config),
            config_hash=judge.config.hash,
            calibration_id=calibration_id,
            prompts=judge.config.prompts,
            prompts_sha256=judge.prompts_sha256,
            quality=judge.quality,
            drift=drift,
        )

    async def _announce(self, record: CalibrationRecord, config: JudgeConfig) -> None:
        before = latest(await self._records.all(), record.backend, but=record.id)
        told = [text for text in (drifted(before, config), moved(before, record)) if text]
        self._metrics.calibrated(record.backend, record.model, record.accuracy or 0.0)
        payload = events_pb2.JudgeCalibrated(
            calibration_id=record.id, config_hash=record.config_hash, drift="; ".join(told)
        )
        await self._bus.publish(events.fact(_SERVICE, record.id, payload, clock=self._clock))

    async def _read(self, record: CalibrationRecord) -> calibration_pb2.Calibration:
        data = await self._objects.get(record.ref.uri, sha256=record.ref.sha256)
        try:
            return Parse(data, calibration_pb2.Calibration(), ignore_unknown_fields=True)
        except (ParseError, UnicodeDecodeError) as error:
            raise FiretrialError(Reason.CORRUPT, f"calibration {record.id} is unreadable: {error}") from error


def calibration_id(labels_sha256: str, config: JudgeConfig) -> str:
    """The same labels and configuration give the same id."""
    return "c-" + digest(labels_sha256, config.hash, length=32)


def _record(
    calibration: calibration_pb2.Calibration, config: JudgeConfig, ref: ObjectRef
) -> CalibrationRecord:
    return CalibrationRecord(
        id=calibration.id,
        backend=config.backend,
        model=config.model,
        prompts=config.prompts,
        config_hash=config.hash,
        labels_sha256=calibration.labels_sha256,
        at=calibration.calibrated_at.ToJsonString(),
        accuracy=_value(calibration.accuracy, "value"),
        accuracy_low=_value(calibration.accuracy, "low"),
        kappa=_value(calibration.kappa, "value"),
        ref=ref,
    )


def _value(estimate: calibration_pb2.Estimate, bound: str) -> float | None:
    return getattr(estimate, bound) if estimate.HasField(bound) else None  # type: ignore[arg-type]

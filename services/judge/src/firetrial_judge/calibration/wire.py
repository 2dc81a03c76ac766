"""Calibrations as protobuf."""

from __future__ import annotations

from datetime import datetime

from firetrial.judge.v1 import calibration_pb2
from firetrial_judge.calibration.agreement import Agreement
from firetrial_judge.calibration.report import FIGURES
from firetrial_judge.estimate import Estimate
from firetrial_judge.judge import JudgeConfig
from firetrial_judge.wire import config_to_wire


def to_wire(
    id_: str, config: JudgeConfig, labels_sha256: str, found: Agreement, at: datetime
) -> calibration_pb2.Calibration:
    """The calibration as it is kept; undefined figures stay unset."""
    wired = calibration_pb2.Calibration(
        id=id_,
        config=config_to_wire(config),
        config_hash=config.hash,
        labels_sha256=labels_sha256,
        items=found.items,
        base_rates={label.value: share for label, share in found.base_rates.items()},
        confusion=[
            calibration_pb2.Confusion(kind=kind, label=label.value, verdict=verdict.value, count=count)
            for (kind, label, verdict), count in found.confusion.items()
        ],
    )
    for name in FIGURES:
        getattr(wired, name).CopyFrom(_estimate(getattr(found, name)))
    wired.calibrated_at.FromDatetime(at)
    return wired


def _estimate(estimate: Estimate) -> calibration_pb2.Estimate:
    return calibration_pb2.Estimate(value=estimate.value, low=estimate.low, high=estimate.high)

"""What the runners of a pool have told, and what is said of a run that waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from firetrial_runner.gpus.device import GIB, Demand, Gpu
from firetrial_runner.gpus.offers import Offers

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ONE = [Gpu("GPU-a", 0, "NVIDIA A10", 24 * GIB, nodes=("/dev/nvidia0",))]
ALIKE = [Gpu("GPU-b", 0, "NVIDIA A10", 24 * GIB)]
TWO = [Gpu(f"GPU-{at}", at, "NVIDIA H200", 140 * GIB) for at in range(2)]


def with_all(*machines: list[Gpu], now: datetime = NOW) -> Offers:
    offers = Offers()
    for machine in machines:
        offers = offers.with_mine(machine, now) or offers
    return offers


def test_nobody_has_them() -> None:
    have = "1 × NVIDIA A10 of 24 GiB on a runner; none on a runner"
    told = with_all([], ONE, []).waiting_for(Demand(2, 80 * GIB), "gpu")
    assert told == (f"2 GPUs of 80 GiB: no runner of pool gpu has them ({have})", False)
    assert not with_all(ONE, ONE).waiting_for(Demand(2), "gpu")[1]  # one run has one machine


def test_somebody_has_them() -> None:
    assert with_all([], TWO).waiting_for(Demand(2, 80 * GIB), "gpu") == (
        "2 GPUs of 80 GiB to be free in pool gpu",
        True,
    )


def test_what_is_known_is_not_written_again_and_what_is_old_goes() -> None:
    offers = with_all(ONE)
    assert offers.with_mine(ALIKE, NOW + timedelta(minutes=4)) is None
    later = offers.with_mine(TWO, NOW + timedelta(minutes=10))
    assert later is not None
    assert len(later.by_kind) == 2
    last = later.with_mine(TWO, NOW + timedelta(minutes=20))
    assert last is not None
    assert list(last.by_kind) == ["2 × NVIDIA H200 of 140 GiB"]

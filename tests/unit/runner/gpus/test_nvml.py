"""The driver's inventory, against a scripted driver and against this machine's own, which may be none."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pynvml as nvml  # type: ignore[import-untyped]
import pytest

from firetrial_runner.gpus.device import GIB, Gpu
from firetrial_runner.gpus.inventory import FakeInventory, Inventory, Reading
from firetrial_runner.gpus.nvml import Nvml

ERROR = nvml.NVMLError


class Driver:
    """Stands in for libnvidia-ml: two GPUs, the second one partitioned. A handle is a name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fault: int | None = None
        self.lost: set[str] = set()
        self.inits = self.shutdowns = 0
        for name in dir(self):
            if name.startswith("nvml"):
                monkeypatch.setattr(nvml, name, getattr(self, name))

    def nvmlInit(self) -> None:  # noqa: N802 -- the library's names
        if self.fault is not None:
            raise ERROR(self.fault)
        self.inits += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.shutdowns += 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        if self.fault is not None:
            raise ERROR(self.fault)
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        if f"gpu{index}" in self.lost:
            raise ERROR(nvml.NVML_ERROR_GPU_IS_LOST)
        return f"gpu{index}"

    def nvmlDeviceGetMinorNumber(self, handle: str) -> int:  # noqa: N802
        return {"gpu0": 4, "gpu1": 5}[handle]

    def nvmlDeviceGetMigMode(self, handle: str) -> list[int]:  # noqa: N802
        if handle == "gpu0":
            raise ERROR(nvml.NVML_ERROR_NOT_SUPPORTED)
        return [nvml.NVML_DEVICE_MIG_ENABLE, nvml.NVML_DEVICE_MIG_ENABLE]

    def nvmlDeviceGetMaxMigDeviceCount(self, _: str) -> int:  # noqa: N802
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, _: str, place: int) -> str:  # noqa: N802
        if place != 2:
            raise ERROR(nvml.NVML_ERROR_NOT_FOUND)
        return "slice"

    def nvmlDeviceGetGpuInstanceId(self, _: str) -> int:  # noqa: N802
        return 3

    def nvmlDeviceGetComputeInstanceId(self, _: str) -> int:  # noqa: N802
        return 0

    def nvmlDeviceGetUUID(self, handle: str) -> str:  # noqa: N802
        return f"UUID-{handle}"

    def nvmlDeviceGetName(self, handle: str) -> str:  # noqa: N802
        return f"NVIDIA {handle}"

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:  # noqa: N802
        return SimpleNamespace(total=(16 if handle == "slice" else 80) * GIB, used=GIB)

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:  # noqa: N802
        if handle == "slice":
            raise ERROR(nvml.NVML_ERROR_NOT_SUPPORTED)
        return SimpleNamespace(gpu=37)


WHOLE = Gpu("UUID-gpu0", 0, "NVIDIA gpu0", 80 * GIB, nodes=("/dev/nvidia4",))


def test_whole_devices_and_slices_with_what_leads_to_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Driver(monkeypatch)
    for place, minor in (("gi3", 30), ("gi3/ci0", 31)):
        access = tmp_path / "capabilities/gpu5/mig" / place / "access"
        access.parent.mkdir(parents=True, exist_ok=True)
        access.write_text(f"DeviceFileMinor: {minor}\nDeviceFileMode: 292\n")
    nodes = ("/dev/nvidia5", "/dev/nvidia-caps/nvidia-cap30", "/dev/nvidia-caps/nvidia-cap31")
    found = Nvml(tmp_path).look()
    assert found.why_none == ""
    assert found.gpus == {
        WHOLE: Reading(0.37, GIB),
        Gpu("UUID-slice", 1, "NVIDIA slice", 16 * GIB, is_slice=True, nodes=nodes): Reading(None, GIB),
    }


def test_a_driver_that_dies_and_comes_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    driver = Driver(monkeypatch)
    inventory = Nvml(tmp_path)
    assert len(inventory.look().gpus) == len(inventory.look().gpus) == 2
    assert driver.inits == 1
    driver.fault = nvml.NVML_ERROR_UNKNOWN
    for _ in range(2):
        dead = inventory.look()
        assert (dead.gpus, "does not answer" in dead.why_none) == ({}, True)
    assert driver.shutdowns == 1
    driver.fault = None
    driver.lost = {"gpu1"}
    assert list(inventory.look().gpus) == [WHOLE]
    assert driver.inits == 2


@pytest.mark.parametrize("fault", [nvml.NVML_ERROR_LIBRARY_NOT_FOUND, nvml.NVML_ERROR_DRIVER_NOT_LOADED])
def test_a_machine_without_a_driver_says_so(monkeypatch: pytest.MonkeyPatch, fault: int) -> None:
    Driver(monkeypatch).fault = fault
    assert Nvml().look().why_none == "no NVIDIA driver on this machine"


@pytest.mark.parametrize("inventory", [FakeInventory(), FakeInventory(WHOLE), Nvml()])
def test_either_there_are_some_or_it_is_said_why_not(inventory: Inventory) -> None:
    sight = inventory.look()
    assert bool(sight.gpus) != bool(sight.why_none)
    for gpu, reading in sight.gpus.items():
        assert gpu.uuid
        assert gpu.memory_bytes > 0
        assert reading.utilisation is None or 0 <= reading.utilisation <= 1

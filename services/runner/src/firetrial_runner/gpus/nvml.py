"""The inventory of NVIDIA's driver, by its management library (NVML)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pynvml as nvml  # type: ignore[import-untyped]

from firetrial_runner.gpus.device import Gpu
from firetrial_runner.gpus.inventory import Reading, Sight

_ABSENT = (nvml.NVML_ERROR_LIBRARY_NOT_FOUND, nvml.NVML_ERROR_DRIVER_NOT_LOADED)
_MINOR = re.compile(r"DeviceFileMinor:\s*(\d+)")


class Nvml:
    """See the module. `proc` is where the driver tells which device file leads to a slice."""

    def __init__(self, proc: Path = Path("/proc/driver/nvidia")) -> None:
        self._proc = proc
        self._open = False

    def look(self) -> Sight:
        try:
            if not self._open:
                nvml.nvmlInit()
                self._open = True
            found = dict(self._all())
        except nvml.NVMLError as error:
            self._close()  # a driver that was restarted is found again at the next look
            if error.value in _ABSENT:
                return Sight(why_none="no NVIDIA driver on this machine")
            return Sight(why_none=f"the NVIDIA driver does not answer: {error}")
        return Sight(found, "" if found else "the NVIDIA driver finds no GPU")

    def _close(self) -> None:
        if self._open:
            self._open = False
            with suppress(nvml.NVMLError):
                nvml.nvmlShutdown()

    def _all(self) -> Iterator[tuple[Gpu, Reading]]:
        for index in range(nvml.nvmlDeviceGetCount()):
            # One that has fallen off its bus does not hide the others.
            with suppress(nvml.NVMLError_GpuIsLost, nvml.NVMLError_NotFound, nvml.NVMLError_NoPermission):
                handle = nvml.nvmlDeviceGetHandleByIndex(index)
                yield from self._of(handle, index)

    def _of(self, handle: Any, index: int) -> list[tuple[Gpu, Reading]]:
        minor = nvml.nvmlDeviceGetMinorNumber(handle)
        node = f"/dev/nvidia{minor}"
        slices = _slices(handle)
        if slices is None:
            return [(_gpu(handle, index, (node,)), _reading(handle))]
        return [
            (_gpu(each, index, (node, *self._caps(each, minor)), is_slice=True), _reading(each))
            for each in slices
        ]

    def _caps(self, handle: Any, minor: int) -> Iterator[str]:
        """What a slice is opened by beside its GPU's own file: its GPU instance's and compute instance's."""
        instance = f"gi{nvml.nvmlDeviceGetGpuInstanceId(handle)}"
        compute = f"{instance}/ci{nvml.nvmlDeviceGetComputeInstanceId(handle)}"
        for place in (instance, compute):
            access = self._proc / f"capabilities/gpu{minor}/mig/{place}/access"
            with suppress(OSError):
                if found := _MINOR.search(access.read_text()):
                    yield f"/dev/nvidia-caps/nvidia-cap{found.group(1)}"


def _slices(handle: Any) -> list[Any] | None:
    """The slices of a partitioned GPU, which cannot be given whole; None for any other."""
    mode = _known(nvml.nvmlDeviceGetMigMode, handle)
    if mode is None or mode[0] != nvml.NVML_DEVICE_MIG_ENABLE:
        return None
    places = range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle))
    found = (_known(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, place) for place in places)
    return [each for each in found if each is not None]


def _gpu(handle: Any, index: int, nodes: tuple[str, ...], *, is_slice: bool = False) -> Gpu:
    total = int(nvml.nvmlDeviceGetMemoryInfo(handle).total)
    uuid, model = nvml.nvmlDeviceGetUUID(handle), nvml.nvmlDeviceGetName(handle)
    return Gpu(str(uuid), index, str(model), total, is_slice, nodes)


def _reading(handle: Any) -> Reading:
    """A driver tells no utilisation of slices."""
    rates = _known(nvml.nvmlDeviceGetUtilizationRates, handle)
    memory = _known(nvml.nvmlDeviceGetMemoryInfo, handle)
    return Reading(rates.gpu / 100 if rates else None, int(memory.used) if memory else None)


def _known(ask: Callable[..., Any], *of: Any) -> Any:
    """The answer, None where this device or driver has none."""
    try:
        return ask(*of)
    except (nvml.NVMLError_NotSupported, nvml.NVMLError_NotFound, nvml.NVMLError_InvalidArgument):
        return None

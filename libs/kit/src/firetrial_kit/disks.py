"""How full the folders are that a service writes to, read when it is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

_FREE = "firetrial_disk_free_bytes", "Room that is left where a service writes, to one without privileges."
_BY = ("service", "path")
_SIZE = "firetrial_disk_size_bytes", "Size of the disk where a service writes."


class Disks(Collector):
    """By service and by what a folder is for. One that is not there has no sample."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._folders: dict[tuple[str, str], Path] = {}
        registry.register(self)

    def watch(self, service: str, path: str, folder: Path) -> None:
        """Tell of the disk under `folder`, which the service uses as its `path`: work, objects, cache."""
        self._folders[service, path] = folder

    def describe(self) -> Iterator[GaugeMetricFamily]:
        yield from (GaugeMetricFamily(*told, labels=_BY) for told in (_FREE, _SIZE))

    def collect(self) -> Iterator[GaugeMetricFamily]:
        free, size = (GaugeMetricFamily(*told, labels=_BY) for told in (_FREE, _SIZE))
        for labels, folder in self._folders.items():
            with suppress(OSError):
                disk = os.statvfs(folder)
                free.add_metric(labels, disk.f_bavail * disk.f_frsize)
                size.add_metric(labels, disk.f_blocks * disk.f_frsize)
        yield from (free, size)

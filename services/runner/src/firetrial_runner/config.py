"""The runner's own settings, read from FIRETRIAL_RUNNER_<FIELD> or FIRETRIAL_<FIELD>."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator

from firetrial_runner.allowance import DEFAULT, MOST, Allowance
from firetrial_runner.egress import egress
from firetrial_runner.egress.egress import BYTES, Caps
from firetrial_runner.egress.policy import Most
from firetrial_runner.egress.ways import Ways
from firetrial_runner.flood import Flow, open_files
from firetrial_runner.gateway.doors import Doors
from firetrial_runner.gateway.faults import EXPERIMENT, RUN, TENANT
from firetrial_runner.gateway.gateway import FLOW
from firetrial_runner.gpus.claims import Claims
from firetrial_runner.gpus.gpus import Gpus, See
from firetrial_runner.gpus.lent import LentGpus
from firetrial_runner.gpus.nvml import Nvml
from firetrial_runner.metrics import EgressMetrics
from firetrial_runner.needs import Needs
from firetrial_runner.pilots.stay import Stay
from firetrial_runner.presence import Presence
from firetrial_runner.programs import Shelf
from firetrial_runner.records import Books
from firetrial_runner.sandbox import Sandbox, named
from firetrial_runner.sandbox.absent import AbsentSandbox
from firetrial_runner.sandbox.jobs.settings import JobSettings

if TYPE_CHECKING:
    from firetrial_kit.service import Parts

_OWN_FILES = 256
"""Open files that are for the runner itself."""
_LEAST = 16
"""Connections that a run may have to its gateway, however few open files there are."""


class RunnerSettings(JobSettings):
    # The pool whose runs this runner takes, and how many at a time. One that takes none, and no tests, needs
    # no sandbox: it answers calls and follows events while others come and go, and speaks for none.
    pool: str = Field(default="default", pattern=r"^[a-z0-9-]{1,32}$")
    slots: int = Field(default=2, ge=0, le=256)
    # Workspaces of runs; each goes when its run is over.
    work_dir: Path = Path(".firetrial/work")
    # "auto" is bubblewrap where it works, else Docker. "job" is a job of a scheduler. "host" is no sandbox
    # and needs unsafe_host too.
    sandbox: Literal["auto", "bubblewrap", "docker", "apptainer", "job", "host"] = "auto"
    unsafe_host: bool = False
    docker_host: str = "unix:///var/run/docker.sock"
    # What agents run in under Docker; never pulled.
    docker_image: str = "python:3.12-slim-bookworm"
    # Images that agents may name instead, with commas between; * is any text. Empty: none.
    agent_images: str = ""
    # The file (SIF) that agents run in under Apptainer, with python3 in it.
    apptainer_image: str = ""
    # Where `firetrial programs install` puts agent programs, and those that the image brings: codex@0.171.0,…
    programs: Path = Path("~/.cache/firetrial/programs")
    programs_in_image: str = ""
    # Data that tasks name and an operator provides, below this folder. Unset: there is none.
    data: Path | None = None
    # Environments that repository tasks name: folders below this, each with a bin/ (a venv, or conda's).
    environments: Path | None = None
    # Sealed tests of repository runs at a time, beside the runs; 0 leaves them to other runners of the pool.
    tests: int = Field(default=1, ge=0, le=256)
    # The model gateway's file of settings (docs/gateway.md). Unset: agents reach no model.
    gateway: Path | None = None
    # What tasks may reach of the network at most (docs/network.md): none, hosts with commas between, or open.
    network: str = "none"
    # Bytes that a run may send and receive there.
    network_bytes: int = Field(default=BYTES, gt=0)
    # Seconds without work after which the runner ends, and those that it has in all, from its start: for one
    # that is a scheduler's job (docs/integrate/schedulers.md). 0: it stays.
    idle: float = Field(default=0, ge=0)
    wall_time: float = Field(default=0, ge=0)
    # GPUs that runs may be given: all, none, or indices and UUIDs with commas between. Unset: those that
    # CUDA_VISIBLE_DEVICES names, as a scheduler does, or all.
    gpus: str = ""
    # The most that a run may be given; 0 is what the machine has. Seconds, bytes, cores.
    max_wall_s: float = Field(default=MOST.wall_s, gt=0)
    max_memory_bytes: int = Field(default=0, ge=0)
    max_cpus: float = Field(default=0, ge=0)
    max_disk_bytes: int = Field(default=MOST.disk_bytes, gt=0)

    @field_validator("network")
    @classmethod
    def _known(cls, value: str) -> str:
        Most.told(value)
        return value

    @property
    def takes(self) -> bool:
        """Whether anything runs here."""
        return bool(self.slots or self.tests)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of the work of its pool, what it takes."""
        return (*(["run"] if self.slots else []), *(["test"] if self.tests else []))

    def shelf(self) -> Shelf:
        """Where agent programs are."""
        told = (name.strip() for name in self.programs_in_image.split(","))
        return Shelf(self.programs.expanduser().absolute(), frozenset(filter(None, told)))

    async def open_sandbox(self) -> Sandbox:
        """What runs are kept in. Raises SandboxError."""
        if not self.takes:
            return AbsentSandbox()
        if self.sandbox == "job":
            return await self.open_jobs(self.work_dir.absolute(), self.apptainer_image)
        return await named(
            self.sandbox,
            docker_host=self.docker_host,
            docker_image=self.docker_image,
            apptainer_image=self.apptainer_image,
            unsafe_host=self.unsafe_host,
        )

    def open_gpus(self, environ: Mapping[str, str], presence: Presence, see: See) -> Gpus:
        """The GPUs that runs may be given: of this machine, or of the scheduler. See `Gpus`."""
        claims = Claims(self.work_dir / "gpus", presence)
        if self.sandbox == "job":
            return LentGpus(claims, self.job_gpus)
        return Gpus(Nvml(), claims, self.wanted_gpus(environ), see)

    def stay(self, parts: Parts) -> Stay:
        """How long this runner stays."""
        drain_s, default_s = parts.settings.drain, self.default().wall_s
        return Stay(parts.clock, parts.log, self.idle, self.wall_time, drain_s, default_s)

    def wanted_gpus(self, environ: Mapping[str, str]) -> str | None:
        """Which of them. See `visible`."""
        return self.gpus or environ.get("CUDA_VISIBLE_DEVICES")

    def flow(self) -> Flow:
        """Of one run's connections to the gateway, so that all runs together find open files for them."""
        files = 3 if self.sandbox == "job" else 1  # of a connection: one that is relayed has two ends more
        share = (open_files() - _OWN_FILES) // max(1, self.slots) - (files + 1) * egress.FLOW.at_once
        return replace(FLOW, at_once=max(_LEAST, min(FLOW.at_once, share // files)))

    def open_doors(
        self, parts: Parts, books: Books, quota_refused: Callable[[str, str], None]
    ) -> AbstractAsyncContextManager[Doors | None]:
        """The way to the model gateway of the settings; None where they name none. Raises SettingsError."""
        over_budget = parts.metrics.models.over_budget(parts.service, RUN, EXPERIMENT, TENANT)
        environ, clock, registry = parts.environ, parts.clock, parts.registry
        return Doors.by(
            self.gateway,
            environ,
            books,
            clock,
            registry,
            flow=self.flow(),
            over_budget=over_budget,
            quota_refused=quota_refused,
        )

    def needs(
        self, sandbox: Sandbox, doors: Doors | None, books: Books, gpus: Gpus, metrics: EgressMetrics
    ) -> Needs:
        """What there is for runs. Only Docker runs agents in images of their own."""
        data = self.data.absolute() if self.data else None
        ways = Ways(books, metrics, Most.told(self.network), Caps(self.network_bytes))
        environments = self.environments.absolute() if self.environments else None
        images = tuple(filter(None, map(str.strip, self.agent_images.split(","))))
        images = images if sandbox.name == "docker" else ()
        pool = self.pool if self.slots else ""
        return Needs(pool, self.shelf(), doors, data, ways, gpus, environments, images)

    def most(self) -> Allowance:
        """What a run may be given at most. Where nothing runs, this machine sets no bound."""
        memory, cpus = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), os.cpu_count() or 1
        if not self.takes:
            memory, cpus = 2**50, 2**16
        return Allowance(
            wall_s=self.max_wall_s,
            memory_bytes=self.max_memory_bytes or memory,
            cpus=self.max_cpus or float(cpus),
            processes=MOST.processes,
            output_bytes=MOST.output_bytes,
            disk_bytes=self.max_disk_bytes,
        )

    def default(self) -> Allowance:
        """What a run is given that asks for nothing."""
        most = self.most()
        return Allowance(
            wall_s=min(DEFAULT.wall_s, most.wall_s),
            memory_bytes=min(DEFAULT.memory_bytes, most.memory_bytes),
            cpus=min(DEFAULT.cpus, most.cpus),
            processes=DEFAULT.processes,
            output_bytes=DEFAULT.output_bytes,
            disk_bytes=min(DEFAULT.disk_bytes, most.disk_bytes),
        )

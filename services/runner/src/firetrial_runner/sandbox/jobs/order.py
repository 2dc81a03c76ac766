"""What a job is told, in a file that only its user may read: neither a command line nor the job's own
environment, which a scheduler shows to others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from firetrial_runner.gpus.device import Demand, Gpu
from firetrial_runner.sandbox.port import EGRESS_PORT, GATEWAY_PORT, Gateway, Limits, SandboxSpec

NAME = "order.json"


@dataclass(frozen=True, slots=True)
class Caller:
    """Where a job finds its runner, and what it shows to be believed.

    fingerprint: SHA-256 of the only certificate that it trusts. Without one both are on one machine, and
    nothing is encrypted.
    """

    host: str
    port: int
    secret: str
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Inner:
    """The sandbox that keeps a command in its job: by its name, with the image where it is Apptainer."""

    name: str
    image: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """A command (see SandboxSpec), what it is kept in, and who wants it.

    `env` says also of the ways out on `ports` what they say of themselves.
    """

    run_key: str
    lease: str
    argv: tuple[str, ...]
    workspace: Path
    env: Mapping[str, str]
    read_only: Mapping[str, Path]
    limits: Limits
    ports: tuple[int, ...]
    demand: Demand
    inner: Inner
    caller: Caller

    @classmethod
    def of(cls, spec: SandboxSpec, inner: Inner, caller: Caller) -> Order:
        return cls(
            run_key=spec.run_key,
            lease=spec.lease,
            argv=spec.argv,
            workspace=spec.workspace,
            env=spec.environment(),
            read_only=spec.read_only,
            limits=spec.limits,
            ports=tuple(spec.ways),
            demand=spec.demand,
            inner=inner,
            caller=caller,
        )

    def spec(self, ways: Mapping[int, Gateway], gpus: tuple[Gpu, ...]) -> SandboxSpec:
        """The command for the sandbox in the job. Raises INVALID, for example where a folder is not there."""
        return SandboxSpec(
            run_key=self.run_key,
            lease=self.lease,
            argv=self.argv,
            workspace=self.workspace,
            env=self.env,
            read_only=self.read_only,
            limits=self.limits,
            gateway=ways.get(GATEWAY_PORT),
            egress=ways.get(EGRESS_PORT),
            gpus=gpus,
        )

    def lay(self, folder: Path) -> None:
        """Write it into a job's folder."""
        handle = os.open(folder / NAME, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(self), file, default=str)


def take(folder: Path) -> Order:
    """Read it, and leave nothing of it: a job that a scheduler starts again finds none.

    Raises FileNotFoundError.
    """
    path = folder / NAME
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    return Order(
        **told
        | {
            "argv": tuple(told["argv"]),
            "workspace": Path(told["workspace"]),
            "read_only": {to: Path(at) for to, at in told["read_only"].items()},
            "limits": Limits(**told["limits"]),
            "ports": tuple(told["ports"]),
            "demand": Demand(**told["demand"]),
            "inner": Inner(**told["inner"]),
            "caller": Caller(**told["caller"]),
        }
    )

"""Apptainer: the sandbox of clusters where nobody is root and there is no Docker.

The image is one file (SIF) for all runs. It needs python3, which starts the launcher. The process that is
started outside lives as long as the command and is the parent of all: when it dies, so does the container.
"""

import asyncio
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from firetrial_runner.sandbox import apptainer_view as view
from firetrial_runner.sandbox import listener, seccomp
from firetrial_runner.sandbox.cgroup import Cgroups
from firetrial_runner.sandbox.jail import LocalJail, LocalSandbox
from firetrial_runner.sandbox.port import SandboxError, SandboxSpec
from firetrial_runner.sandbox.proctree import kill_below, kill_marked
from firetrial_runner.sandbox.supervise import returncode_of

_NAME = "apptainer"
_PROBE = "probe"
_GATE = 'read -r go; exec "$@" < /dev/null'
"""Waits until it is under limits."""


class ApptainerSandbox(LocalSandbox):
    """`program` and `cgroups` are found by `create` on this machine."""

    def __init__(self, program: Path, image: Path, cgroups: Cgroups | None) -> None:
        super().__init__(cgroups)
        self._program = program
        self._image = image
        self._limiting = cgroups is None  # by Apptainer itself, until the probe shows that it cannot

    @classmethod
    def create(cls, image: str) -> "ApptainerSandbox":
        """Raises SandboxError where the program or the image is missing."""
        program = shutil.which(_NAME)
        if program is None:
            cure = "Install Apptainer 1.1 or newer, or name another by FIRETRIAL_RUNNER_SANDBOX"
            raise SandboxError(_NAME, f"no program {_NAME!r} was found", cure)
        if not image or not Path(image).exists():
            why = f"no image at {image!r}" if image else "no image is named"
            cure = (
                "Build one with python3 in it, and name it by FIRETRIAL_RUNNER_APPTAINER_IMAGE: "
                "apptainer build agents.sif docker://python:3.12-slim-bookworm"
            )
            raise SandboxError(_NAME, why, cure)
        return cls(Path(program), Path(image).absolute(), Cgroups.working())

    @property
    def name(self) -> str:
        return _NAME

    def enforcement(self) -> Mapping[str, str]:
        group = f"cgroup v{self._cgroups.version}" if self._cgroups else None
        watcher = "watcher of resident memory, 10 times a second"
        if self._limiting:
            group = "Apptainer's cgroup"
            watcher = f"{watcher}, and {group} above it"
        return {
            "wall_s": "timer",
            "cpus": group or "affinity to whole cores",
            "memory_bytes": f"cgroup v{self._cgroups.version}" if self._cgroups else watcher,
            "processes": group or "rlimit, per user namespace",
            "file_bytes": "rlimit",
            "open_files": "rlimit",
            "output_bytes": "counted",
            "disk_bytes": "watcher, at most twice a second",
            "tmp_bytes": "all together by `sessiondir max size` of apptainer.conf",
            "seccomp": "deny-list",
            "gpus": "CUDA_VISIBLE_DEVICES alone: the device files of all are there",
        }

    async def probe(self) -> None:
        """Also finds out whether Apptainer can hold limits here."""
        end = await self._try()
        if end and self._limiting:
            self._limiting = False
            end = await self._try()
        if end:
            cure = "See the image, and `user namespaces` and `allow net networks` in Apptainer's admin guide"
            raise SandboxError(_NAME, end, cure)

    async def _try(self) -> str:
        """Run a first command; why that failed, or ""."""
        try:
            return await self._first(wall_s=60)
        except SandboxError as error:
            return error.why

    def _jail(self, spec: SandboxSpec, uid: int | None) -> "_Jail":
        places = view.Places.beside(spec.workspace)
        limiting = view.limiting(spec.limits) if self._limiting else []
        held = self._cgroups is not None or self._limiting
        options = [*view.options(spec, places, uid), *limiting, str(self._image)]
        argv = [str(self._program), *options, *view.launch(spec, held=held)]
        places.profile.write_text(seccomp.docker_profile(watched=not held))
        return _Jail(argv, spec, self._cgroups, places)


class _Jail(LocalJail):
    """One Apptainer."""

    def __init__(
        self, argv: list[str], spec: SandboxSpec, cgroups: Cgroups | None, places: view.Places
    ) -> None:
        super().__init__(spec, cgroups)
        self._argv, self._places = argv, places

    async def open(self) -> None:
        """Start it under limits, and wait for the launcher's call from inside."""
        with listener.meeting_point(self._places.meeting) as meeting:
            self._spawn()
            self._hold(self.popen.pid)
            gate, self.popen.stdin = self.popen.stdin, None
            assert gate is not None  # noqa: S101 -- a pipe
            with gate:
                gate.write(b"\n")
            await self._join(meeting)

    def _spawn(self) -> None:
        self._popen = subprocess.Popen(
            ["/bin/sh", "-c", _GATE, "sh", *self._argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=view.environment(self.spec),
            cwd="/",
            start_new_session=True,
        )

    def _hold(self, pid: int) -> None:
        try:
            self.limit(pid)
        except OSError as e:
            why = f"the control group cannot be used: {e}"
            raise SandboxError(_NAME, why, "See which limits hold: firetrial sandbox") from e

    async def _join(self, meeting: socket.socket) -> None:
        """Let those who are the ways out answer inside. Raises SandboxError where nothing came up there."""
        found = await listener.called_by(meeting, max(1, len(self.spec.ways)), returncode_of(self.popen))
        if not found:
            why = await asyncio.to_thread(self._last_words)
            raise SandboxError(_NAME, why, "The image needs python3; `apptainer --debug` tells more")
        for way, listening in zip(self.spec.ways.values(), found, strict=False):
            way.serve(listening)
        if not self.spec.ways:
            found[0].close()

    def _last_words(self) -> str:
        """What Apptainer said before it gave up."""
        self.kill()
        _, stderr = self.popen.communicate()
        return stderr.decode(errors="replace").strip()[-2000:] or f"ended with {self.popen.returncode}"

    def kill(self) -> None:
        if self._cgroup is not None:
            self._cgroup.kill()
        if self.popen.poll() is None:
            kill_below(self.popen.pid)
        kill_marked({self.spec.lease}, self.spec.run_key)

    def status(self, returncode: int, stderr_head: bytes) -> int | str:  # noqa: ARG002 -- the port's signature
        if returncode < 0:
            return f"the sandbox was ended from outside by {signal.Signals(-returncode).name}"
        return returncode

    def cleanup(self) -> None:
        self._places.profile.unlink(missing_ok=True)
        super().cleanup()

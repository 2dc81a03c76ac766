"""A real Slurm of one node for tests: Debian's slurm-wlm and munge, as root, without systemd.

Each has its own munge key and socket, its own ports on the loopback and its own folders, so that several run
beside each other. The node's CPUs, memory and GPUs are what the test says, not what the machine has.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support import servers

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
"""What a test with a Slurm needs: `pytest.mark.needs(*slurm.PROGRAMS)`."""

# The paths below are Debian's; services are found there without being on everybody's PATH.
_SBIN = "/usr/sbin:/sbin"
_CONF = """\
ClusterName={name}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={sockets}/munge
CryptoType=crypto/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={sockets}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2,batch_sched_delay=0
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/completed.txt
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait={kill_wait}
MinJobAge={min_job_age}
DefMemPerCPU=256
{gres_types}
NodeName=node NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory_mb} {gres} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES PriorityTier=1 GraceTime={grace} State=UP
PartitionName=urgent Nodes=ALL PriorityTier=2 PreemptMode=OFF State=UP
"""


@dataclass(frozen=True, slots=True)
class Slurm:
    """A running Slurm. `environ` is what a process needs to speak to it, beside its own environment.

    Its partitions are `main` (the default, whose jobs `urgent` preempts by requeue) and `urgent`.
    """

    folder: Path
    environ: dict[str, str]
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def run(self, *argv: str) -> str:
        """What a Slurm command prints. Raises RuntimeError with what it said where it fails."""
        done = subprocess.run(argv, env=self.environ_of(), capture_output=True, text=True, timeout=30)
        if done.returncode:
            raise RuntimeError(f"{argv} exited {done.returncode}: {done.stderr}")
        return done.stdout

    def environ_of(self, **more: str) -> dict[str, str]:
        """This process's environment with what leads to this Slurm, and `more`."""
        return {**os.environ, **self.environ, **more}

    def jobs(self) -> list[dict[str, Any]]:
        """All jobs that slurmctld knows, as `squeue --json` tells them."""
        found: list[dict[str, Any]] = json.loads(self.run("squeue", "--json", "--states=all"))["jobs"]
        return found

    def log(self, daemon: str) -> str:
        """What munged, slurmctld or slurmd has said."""
        return (self.folder / f"{daemon}.log").read_text(errors="replace")


@contextmanager
def slurm(
    folder: Path,
    *,
    cpus: int = 8,
    memory_mb: int = 8192,
    gpus: int = 0,
    kill_wait: int = 5,
    grace: int = 5,
    min_job_age: int = 300,
) -> Iterator[Slurm]:
    """A Slurm under `folder`; up in about 2 s. At its end all jobs are cancelled, and all daemons ended.

    `kill_wait` and `grace` are the seconds between SIGTERM and SIGKILL at the end of a job's time and when it
    is preempted; `min_job_age` those for which slurmctld remembers a job that is over.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        # Paths of sockets have at most 107 bytes, which a test's own folder may leave no room for.
        sockets = Path(tempfile.mkdtemp(prefix="slurm-"))
        stack.callback(shutil.rmtree, sockets, ignore_errors=True)
        seconds = {"kill_wait": kill_wait, "grace": grace, "min_job_age": min_job_age}
        _configure(folder, sockets, cpus=cpus, memory_mb=memory_mb, gpus=gpus, **seconds)
        found = Slurm(folder, {"SLURM_CONF": str(folder / "slurm.conf")})
        _begin(found, stack, "munged", *_munge(folder, sockets))
        servers.wait_for((sockets / "munge").exists, "munged")
        _begin(found, stack, "slurmctld", "-D", "-f", str(folder / "slurm.conf"))
        _begin(found, stack, "slurmd", "-D", "-f", str(folder / "slurm.conf"))
        servers.wait_for(lambda: _idle(found), "Slurm's node", 60)
        stack.callback(_cancel_all, found)
        yield found


@contextmanager
def leading(folder: Path, **how: int) -> Iterator[Slurm]:
    """The same; its commands lead this process, too."""
    with slurm(folder, **how) as found, pytest.MonkeyPatch.context() as patch:
        for name, value in found.environ.items():
            patch.setenv(name, value)
        yield found


def outward() -> str:
    """Of this machine, as another one would name it: so that it is called over TLS; else the loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def _configure(folder: Path, sockets: Path, *, cpus: int, memory_mb: int, gpus: int, **seconds: int) -> None:
    for name in (folder / "state", sockets / "spool"):
        name.mkdir(exist_ok=True)
    devices = [folder / f"gpu{index}" for index in range(gpus)]
    for device in devices:  # to Slurm a GPU is a device file: these are as /dev/null is
        os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    (folder / "gres.conf").write_text("".join(f"Name=gpu File={device}\n" for device in devices))
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    conf = _CONF.format(
        name=f"t{os.getpid()}{servers.free_port()}",
        host=socket.gethostname().partition(".")[0],
        ctld_port=servers.free_port(),
        slurmd_port=servers.free_port(),
        folder=folder,
        sockets=sockets,
        gres_types="GresTypes=gpu" if gpus else "",
        gres=f"Gres=gpu:{gpus}" if gpus else "",
        cpus=cpus,
        memory_mb=memory_mb,
        **seconds,
    )
    (folder / "slurm.conf").write_text(conf)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)


def _munge(folder: Path, sockets: Path) -> list[str]:
    """Options of munged. It is forced, for it does not like that a test's folder is its owner's alone."""
    return [
        "--foreground",
        "--force",
        f"--socket={sockets}/munge",
        f"--key-file={folder}/munge.key",
        f"--pid-file={folder}/munged.pid",
        f"--seed-file={folder}/munged.seed",
        f"--log-file={folder}/munged.log",
    ]


def _begin(found: Slurm, stack: ExitStack, name: str, *options: str) -> None:
    program = shutil.which(name, path=f"{os.environ['PATH']}:{_SBIN}")
    assert program, f"there is no {name}"
    said = stack.enter_context((found.folder / f"{name}.out").open("wb"))
    process = subprocess.Popen(
        [program, *options], stdout=said, stderr=said, env=found.environ_of(), cwd=found.folder
    )
    found.daemons[name] = process
    stack.callback(servers.end, process)


def _idle(found: Slurm) -> bool:
    for name, process in found.daemons.items():
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended: {(found.folder / f'{name}.out').read_text()[-2000:]}")
    try:
        return set(found.run("sinfo", "-h", "-o", "%T").split()) == {"idle"}
    except RuntimeError:
        return False


def _cancel_all(found: Slurm) -> None:
    """No job outlives its Slurm: slurmd leaves what runs alone when it ends."""
    found.run("scancel", "--full", "--user=root")
    found.run("scancel", "--user=root")

    def over() -> bool:
        return not found.run("squeue", "-h", "-o", "%i").split()

    try:
        servers.wait_for(over, "the end of all jobs", 15)
    except TimeoutError:
        found.run("scancel", "--signal=KILL", "--full", "--user=root")
        servers.wait_for(over, "the end of all jobs", 15)

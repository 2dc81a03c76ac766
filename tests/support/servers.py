"""Real servers for tests: started on free ports of the loopback, stopped by process id."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

BIN = Path(sys.executable).parent


def free_port() -> int:
    """A port that was free a moment ago, and that nobody is given who connects to somewhere meanwhile."""
    least = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.sample(range(least // 2, least), 100):
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"a hundred ports below {least} were taken")


def wait_for(ready: object, what: str, seconds: float = 20.0) -> None:
    """Poll the callable `ready` until it is true. Raises TimeoutError naming `what`."""
    assert callable(ready)
    until = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > until:
            raise TimeoutError(f"{what} did not come within {seconds} s")
        time.sleep(0.02)


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM, seconds: float = 20.0) -> None:
    """Signal a process of ours and wait for its end; SIGKILL where it will not."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


@contextmanager
def nats_server(folder: Path, port: int = -1) -> Iterator[str]:
    """A nats-server with JetStream under `folder`; gives its URL."""
    folder.mkdir(parents=True, exist_ok=True)
    log = (folder / "nats.log").open("wb")
    argv = [str(BIN / "nats-server"), "-js", "-sd", str(folder / "js"), "-a", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen([*argv, "--ports_file_dir", str(folder)], stdout=log, stderr=log)
    ports = folder / f"nats-server_{process.pid}.ports"

    def announced() -> bool:
        return ports.exists() and ports.stat().st_size > 0

    try:
        wait_for(announced, "nats-server")
        yield json.loads(ports.read_text())["nats"][0]
    finally:
        end(process)
        log.close()


@dataclass(frozen=True, slots=True)
class S3:
    """A real S3 server: its URL and the keys (access, secret) of each identity."""

    url: str
    keys: Mapping[str, tuple[str, str]]


def _identity(name: str, key: tuple[str, str], actions: list[str]) -> dict[str, object]:
    credentials = [{"accessKey": key[0], "secretKey": key[1]}]
    return {"name": name, "credentials": credentials, "actions": actions}


@contextmanager
def seaweedfs(folder: Path, grants: Mapping[str, tuple[frozenset[str], frozenset[str]]]) -> Iterator[S3]:
    """SeaweedFS standing in for MinIO: one identity for each entry of `grants` (read, write), and `admin`."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = {name: (f"AK{name}", f"secret-of-{name}") for name in [*grants, "admin"]}
    identities = [_identity("admin", keys["admin"], ["Admin", "Read", "Write", "List", "Tagging"])]
    for name, (read, write) in grants.items():
        actions = [f"{verb}:{bucket}" for bucket in sorted(read) for verb in ("Read", "List")]
        actions += [f"Write:{bucket}" for bucket in sorted(write)]
        identities.append(_identity(name, keys[name], actions))
    (folder / "ids.json").write_text(json.dumps({"identities": identities}))
    ports = {name: free_port() for name in ("s3", "master", "volume", "filer")}
    argv = [str(BIN / "weed"), "mini", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
    argv += ["-s3.config=ids.json", "-admin.ui=false", "-webdav=false", "-s3.port.iceberg=0"]
    argv += ["-s3.port.lance=0", "-master.telemetry=false"]
    argv += [f"-{name}.port={port}" for name, port in ports.items()]
    log = (folder / "weed.log").open("wb")
    environ = {**os.environ, "TMPDIR": str(folder)}
    process = subprocess.Popen(argv, cwd=folder, stdout=log, stderr=log, env=environ)
    url = f"http://127.0.0.1:{ports['s3']}"

    def answers() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"weed ended: {(folder / 'weed.log').read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(url, timeout=1):
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    try:
        wait_for(answers, "SeaweedFS", 60)
        yield S3(url, keys)
    finally:
        end(process)
        log.close()

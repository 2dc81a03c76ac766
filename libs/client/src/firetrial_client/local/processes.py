"""The processes of one machine's Firetrial: what each is started with, and how one that died comes back."""

from __future__ import annotations

import ctypes
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from firetrial_client.local.home import Home

SERVICES = ("parser", "runner", "judge", "analyzer")
_PR_SET_PDEATHSIG = 1
_BACKOFF = (0.2, 1.0, 3.0, 10.0)
# Linux connects from ports above it, unless it was told otherwise.
_PORTS = 32768


class StartError(Exception):
    """Something that the system needs did not start; the text says what, and what to do."""


@dataclass(slots=True)
class Process:
    """One process to keep running. `restarts` counts how often it came back."""

    name: str
    argv: list[str]
    environ: Mapping[str, str]
    log: Path
    cwd: Path
    running: subprocess.Popen[bytes] | None = None
    restarts: int = 0
    started: float = 0.0
    not_before: float = field(default=0.0)

    def start(self) -> None:
        """Start it, bound to this process's life."""
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                self.argv,
                env=dict(self.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.cwd,
                # Ctrl-C reaches the supervisor alone, which ends the others in order.
                process_group=0,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - one call into libc, no thread has started
            )
        self.started = time.monotonic()

    def alive(self) -> bool:
        return self.running is not None and self.running.poll() is None

    def revive(self) -> bool:
        """Start it again where it died and its pause is over; whether it died since the last look."""
        if self.alive():
            return False
        if self.not_before == 0.0:
            quick = time.monotonic() - self.started < 30
            self.restarts = self.restarts + 1 if quick else 1
            self.not_before = time.monotonic() + _BACKOFF[min(self.restarts, len(_BACKOFF)) - 1]
            return True
        if time.monotonic() >= self.not_before:
            self.not_before = 0.0
            self.start()
        return False

    def stop(self, seconds: float) -> None:
        """End it in good order within `seconds`, else at once."""
        if self.running is None or not self.alive():
            return
        self.running.send_signal(signal.SIGTERM)
        try:
            self.running.wait(seconds)
        except subprocess.TimeoutExpired:
            self.running.kill()
            self.running.wait()

    def said(self, lines: int = 12) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def _die_with_parent() -> None:
    """Have the kernel kill this process when the supervisor dies, however it dies."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def program(name: str) -> str:
    """The path of a program beside this Python, else on PATH. Raises StartError."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise StartError(f"{name} is not installed; `make setup` brings it (or put it on PATH)")
    return found


def free_port() -> int:
    """A port of the loopback that is free, and stays so until its server listens: none of those that the
    machine gives to whoever connects to somewhere. Raises StartError.
    """
    for port in random.sample(range(_PORTS // 2, _PORTS), 100):
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise StartError(f"a hundred ports below {_PORTS} are taken: end what listens there")


@dataclass(frozen=True, slots=True)
class Broker:
    """The nats-server of this machine: its process, where it is, and the password that opens it."""

    process: Process
    url: str
    password: str


def broker(home: Home) -> Broker:
    """A nats-server on a free port of the loopback, which syncs each message to disk and knows one user."""
    port, password, folder = free_port(), secrets.token_urlsafe(24), home.path / "nats"
    folder.mkdir(mode=0o700, exist_ok=True)
    config = home.run / "nats.conf"
    config.touch(mode=0o600)
    config.write_text(
        f'listen: "127.0.0.1:{port}"\nserver_name: firetrial\n'
        f"jetstream {{ store_dir: {json.dumps(str(folder))}, sync_interval: always }}\n"
        f"authorization {{ user: firetrial, password: {json.dumps(password)} }}\n"
    )
    argv = [program("nats-server"), "-c", str(config)]
    process = Process("nats-server", argv, os.environ, home.logs / "nats-server.log", home.path)
    return Broker(process, f"nats://127.0.0.1:{port}", password)


@dataclass(frozen=True, slots=True)
class Store:
    """An S3 server of this machine: its process, its address, and each service's keys."""

    process: Process
    url: str
    keys: Mapping[str, tuple[str, str]]


def s3_store(home: Home) -> Store:
    """SeaweedFS on free ports of the loopback, with keys and rights of their own for each service."""
    weed, folder = program("weed"), home.path / "s3"
    folder.mkdir(mode=0o700, exist_ok=True)
    asked = subprocess.run(
        [sys.executable, "-m", "firetrial_kit.buckets", "grants"], capture_output=True, check=True
    )
    grants: dict[str, dict[str, list[str]]] = json.loads(asked.stdout)
    keys = {name: (f"ft-{name}", secrets.token_urlsafe(24)) for name in [*grants, "admin"]}
    rights = {name: _rights(grant) for name, grant in grants.items()}
    rights["admin"] = ["Admin", "Read", "Write", "List"]
    identities = [
        {"name": name, "credentials": [{"accessKey": key, "secretKey": secret}], "actions": rights[name]}
        for name, (key, secret) in keys.items()
    ]
    (folder / "ids.json").touch(mode=0o600)
    (folder / "ids.json").write_text(json.dumps({"identities": identities}))
    # Without signing keys the filer's own port would serve every object to every user of the machine.
    signing = "".join(
        f'[jwt.{kind}]\nkey = "{secrets.token_urlsafe(24)}"\n'
        for kind in ("signing", "signing.read", "filer_signing", "filer_signing.read")
    )
    (folder / "security.toml").touch(mode=0o600)
    (folder / "security.toml").write_text(signing)
    ports = {name: free_port() for name in ("s3", "master", "volume", "filer")}
    argv = [weed, "mini", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3.config=ids.json",
            "-admin.ui=false", "-webdav=false", "-s3.port.iceberg=0", "-s3.port.lance=0",
            "-master.telemetry=false", *(f"-{name}.port={port}" for name, port in ports.items())]  # fmt: skip
    environ = {**os.environ, "TMPDIR": str(home.run)}
    process = Process("weed", argv, environ, home.logs / "weed.log", folder)
    return Store(process, f"http://127.0.0.1:{ports['s3']}", keys)


def _rights(grant: Mapping[str, list[str]]) -> list[str]:
    """A grant in SeaweedFS's words."""
    read = [f"{verb}:{bucket}" for bucket in grant["read"] for verb in ("Read", "List")]
    return read + [f"Write:{bucket}" for bucket in grant["write"]]


def operator(home: Home, nats: Broker, store: Store | None) -> dict[str, str]:
    """The environment of those who operate this machine's Firetrial."""
    told = {
        "FIRETRIAL_NATS_URL": nats.url,
        "FIRETRIAL_NATS_USER": "firetrial",
        "FIRETRIAL_NATS_PASSWORD": nats.password,
        "FIRETRIAL_OBJECTS_URL": store.url if store else f"file://{home.objects}",
    }
    if store:
        told["FIRETRIAL_S3_ACCESS_KEY"], told["FIRETRIAL_S3_SECRET_KEY"] = store.keys["operator"]
    return told


def services(
    home: Home, nats: Broker, store: Store | None, *, split: bool, address: str
) -> dict[str, Process]:
    """The service processes by name: one that hosts all four, or each its own."""
    own_keys = ("FIRETRIAL_S3_ACCESS_KEY", "FIRETRIAL_S3_SECRET_KEY")
    common = {
        **os.environ,
        **{name: told for name, told in operator(home, nats, store).items() if name not in own_keys},
        "FIRETRIAL_RUNNER_WORK_DIR": str(home.path / "work"),
    }
    keys = {name: store.keys[name] for name in SERVICES} if store else {}
    for name, (key, secret) in keys.items():
        common[f"FIRETRIAL_{name.upper()}_S3_ACCESS_KEY"] = key
        common[f"FIRETRIAL_{name.upper()}_S3_SECRET_KEY"] = secret
    found = {}
    groups = {name: [name] for name in SERVICES} if split else {"host": list(SERVICES)}
    addresses = {name: _fixed(address) for name in groups}
    if "FIRETRIAL_TLS_CERT" not in os.environ:  # with TLS the operator says how each is known
        common.setdefault("FIRETRIAL_PARSER_JUDGE_ADDRESS", addresses.get("judge") or addresses["host"])
        common.setdefault("FIRETRIAL_JUDGE_ANALYZER_ADDRESS", addresses.get("analyzer") or addresses["host"])
    for name, members in groups.items():
        ports = home.run / f"{name}.json"
        ports.unlink(missing_ok=True)
        environ = {**common, "FIRETRIAL_PORTS_FILE": str(ports), "FIRETRIAL_RPC_ADDRESS": addresses[name]}
        argv = [sys.executable, "-m", "firetrial_kit.host", *members]
        found[name] = Process(name, argv, environ, home.logs / f"{name}.log", home.path)
    return found


def _fixed(address: str) -> str:
    """`address` with a free port for port 0, so that a service which comes back is where clients know it."""
    host, _, port = address.rpartition(":")
    return f"{host}:{free_port()}" if port == "0" else address

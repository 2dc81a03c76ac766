"""The compose file, as Compose itself reads it: who is published, who holds what, and what holds whom."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from firetrial_operate import contracts
from firetrial_operate.webhooks import config
from firetrial_runner.sandbox import seccomp
from support import compose
from support.alertmanager import CHANNELS
from support.tls import DEPLOY

pytestmark = pytest.mark.needs("compose")
FOLDER = DEPLOY / "compose"
SERVICES = ("parser", "runner", "judge", "analyzer")
ONCE = {"secrets", "setup", "operate"}


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """The file with all profiles and defaults filled in."""
    options = ["--profile", "*", "config", "--format", "json"]
    read = subprocess.run(compose.argv(FOLDER / "compose.yaml", *options), capture_output=True, text=True)
    assert read.returncode == 0, read.stderr
    assert not read.stderr, read.stderr  # a warning is a variable that nobody sets
    return dict(json.loads(read.stdout))


def mounts(service: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By where they come from: a folder of the installation's, or a volume."""
    found = {}
    for mount in service.get("volumes", []):
        source = Path(mount["source"])
        name = str(source.relative_to(FOLDER)) if source.is_relative_to(FOLDER) else source.name
        found[name] = mount
    return found


def test_envoy_alone_is_published(told: dict[str, Any]) -> None:
    assert [name for name, service in told["services"].items() if service.get("ports")] == ["envoy"]
    published = {port["target"]: port.get("host_ip") for port in told["services"]["envoy"]["ports"]}
    assert published == {8443: "0.0.0.0", 8444: "127.0.0.1"}


def test_nothing_has_more_rights_than_it_needs(told: dict[str, Any]) -> None:
    for name, service in told["services"].items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["read_only"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert not service.get("privileged"), name
        assert bool(service.get("cap_add")) == (name == "secrets"), name
        assert not any("docker.sock" in source for source in mounts(service)), name
        assert service["mem_limit"], name
        assert service["pids_limit"], name
        assert name in ONCE or service["restart"] == "unless-stopped", name


def test_a_large_machine_is_not_too_large_and_a_small_one_not_too_small(told: dict[str, Any]) -> None:
    """Threads are counted, of which many programs start some for each core."""
    for name, service in told["services"].items():
        if name not in ONCE:
            assert service["pids_limit"] >= 1024, name
        assert float(service.get("cpus", 0)) <= 2, name
    assert told["services"]["envoy"]["command"][-2:] == ["--concurrency", "2"]


def test_each_part_is_shown_its_own_secrets_alone(told: dict[str, Any]) -> None:
    for name, service in told["services"].items():
        shown = {source for source in mounts(service) if source == "secrets" or source.startswith("secrets/")}
        own = {"secrets": "secrets", "operate": "secrets/operator"}.get(
            name, f"secrets/{name.removesuffix('-2').removesuffix('-3')}"
        )
        assert shown <= {own}, name
        if name != "secrets":
            assert all(mounts(service)[source]["read_only"] for source in shown), name


def test_no_service_reaches_who_is_told_of_its_failures(told: dict[str, Any]) -> None:
    """Alertmanager and Grafana are told apart from services, and reach no more than they need."""
    networks = {name: set(service.get("networks") or {}) for name, service in told["services"].items()}
    assert networks["alertmanager"] == {"watching", "telling"}
    assert networks["grafana"] == {"watching"}
    for name in (*SERVICES, "webhooks", "operate", "nats", "objects", "setup"):
        assert not networks[name] & {"watching", "telling"}, name
    internal = {name for name, network in told["networks"].items() if network.get("internal")}
    assert internal == {"inside", "watching"}


def test_what_is_not_wanted_does_not_start(told: dict[str, Any]) -> None:
    """And `operate`, which may do everything, is none that comes with others, nor has it a way out."""
    profiles = {
        name: service["profiles"] for name, service in told["services"].items() if service.get("profiles")
    }
    assert profiles == {
        "nats-2": ["cluster"],
        "nats-3": ["cluster"],
        "webhooks": ["webhooks"],
        "operate": ["operate"],
    }
    assert set(told["services"]["operate"]["networks"]) == {"inside"}
    assert told["services"]["operate"]["restart"] == "no"


def test_whoever_watches_reads_what_the_repository_has(told: dict[str, Any]) -> None:
    """Which rules and dashboards link to, by the places that they know."""
    for name, place, there in (
        ("grafana", "/usr/share/grafana/public/runbook", "ServiceDown.md"),
        ("prometheus", "/etc/prometheus/pilots", ".gitignore"),
        ("prometheus", "/etc/prometheus/beside", ".gitignore"),
    ):
        (mount,) = (one for one in told["services"][name]["volumes"] if one["target"] == place)
        assert mount["read_only"], place
        assert (Path(mount["source"]) / there).is_file(), place


def test_the_endpoints_of_the_example_are_ones(tmp_path: Path) -> None:
    example = (FOLDER / "webhooks.example.yaml").read_text().replace("/run/secrets", str(tmp_path))
    (tmp_path / "webhooks.yaml").write_text(example)
    (tmp_path / "lab").write_bytes(base64.b64encode(bytes(32)))
    (endpoint,) = config.load(tmp_path / "webhooks.yaml", {}, contracts.facts())
    assert endpoint.consumer == "webhook-lab"


def test_no_environment_holds_a_secret(told: dict[str, Any]) -> None:
    for name, service in told["services"].items():
        for variable in service.get("environment") or {}:
            words = set(variable.removesuffix("_ACCESS_KEY").lower().split("_"))
            secret = words & {"password", "secret", "token", "key"}
            assert not secret or variable.endswith(("_FILE", "_TLS_KEY")), (name, variable)


def test_what_drains_is_given_the_time(told: dict[str, Any]) -> None:
    for name in SERVICES:
        service = told["services"][name]
        assert _seconds(service["stop_grace_period"]) > float(service["environment"]["FIRETRIAL_DRAIN"]) + 5


def _seconds(text: str) -> float:
    minutes, _, seconds = text.rpartition("m")
    return 60 * float(minutes or 0) + float(seconds.removesuffix("s"))


def test_services_start_when_what_they_need_was_made(told: dict[str, Any]) -> None:
    for name in SERVICES:
        assert told["services"][name]["depends_on"]["setup"]["condition"] == "service_completed_successfully"
    waited = told["services"]["setup"]["depends_on"]
    assert {name: each["condition"] for name, each in waited.items()} == {
        "nats": "service_healthy",
        "objects": "service_healthy",
    }


def test_upstreams_images_are_held_to_a_digest_and_can_be_held_to_another(told: dict[str, Any]) -> None:
    example = (FOLDER / ".env.example").read_text()
    for name, service in told["services"].items():
        image = service["image"]
        if not image.startswith("firetrial-"):
            assert re.fullmatch(r"[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image), name
            assert f"_IMAGE={image}\n" in example, name


def test_whoever_starts_an_image_without_a_digest_is_told(tmp_path: Path) -> None:
    program = tmp_path / "compose"
    program.write_text(
        "#!/bin/sh\ncase \"$*\" in *--images) printf 'firetrial-judge:1\\nnats:2\\na@sha256:c\\n';; esac\n"
    )
    program.chmod(0o755)
    argv = ["make", "--no-print-directory", "up", f"DOCKER_COMPOSE={program}"]
    made = subprocess.run(argv, cwd=DEPLOY.parent, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert made.stderr == "held to no digest (make pins): nats:2\n"


def test_the_runners_filter_lets_sandboxes_be_made_and_is_the_sandboxes_own_otherwise() -> None:
    """bubblewrap unshares and mounts; it brings the whole filter for what it starts."""
    made = {"mount", "pivot_root", "umount2", "unshare"}
    rules = [
        {**rule, "names": [name for name in rule["names"] if name not in made]}
        for rule in json.loads(seccomp.docker_profile())["syscalls"]
        if rule["names"] != ["clone"]
    ]
    committed = json.loads((FOLDER / "runner-seccomp.json").read_text())
    assert committed == {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules}


def test_what_is_made_once_is_kept_out_of_git() -> None:
    """Where the compose file puts it, and where docs/deploy-kubernetes.md does."""
    for name in ("secrets/client/token", ".env", "webhooks.yaml", "../../secrets/authority/ca.key"):
        ignored = subprocess.run(["git", "check-ignore", "-q", str((FOLDER / name).resolve())], cwd=FOLDER)
        assert ignored.returncode == 0, name


def test_secrets_are_made_once_and_only_ends_of_certificates_make_them_anew(tmp_path: Path) -> None:
    def run(*hosts: str) -> dict[Path, bytes]:
        argv = ["sh", str(FOLDER / "secrets.sh"), str(tmp_path), *hosts]
        subprocess.run(argv, check=True, capture_output=True, env={**os.environ, "OWNER": "0:0"})
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    first = run()
    assert {oct(path.stat().st_mode & 0o777) for path in first} == {"0o600"}
    assert run() == first
    second = run("firetrial.example.org", "192.0.2.7")
    changed = {str(path.relative_to(tmp_path)) for path in first if first[path] != second[path]}
    assert changed == {"envoy/endpoint.pem", "envoy/endpoint.key"}
    _sign_elsewhere(tmp_path / "envoy")
    third = run("firetrial.example.org")
    assert {path for path in third if third[path] != second.get(path)} == {
        tmp_path / "envoy" / "endpoint.pem",
        tmp_path / "envoy" / "endpoint.key",
    }
    assert run("firetrial.example.org", "198.51.100.7") == third
    alerts = {path.name for path in first if path.parent.name == "alertmanager"}
    assert alerts == {f"alerts_{channel}_url" for channel in CHANNELS}
    values = [path.read_bytes() for path in first if path.name in ("nats-password", "token", "root-password")]
    assert all(len(value) >= 40 for value in values)


def _sign_elsewhere(folder: Path) -> None:
    """A certificate for the endpoint that ends soon, and is for other names, of nobody's authority here."""
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    argv += ["-keyout", str(folder / "endpoint.key"), "-out", str(folder / "endpoint.pem"), "-days", "9"]
    subprocess.run([*argv, "-subj", "/CN=firetrial.example.org"], check=True, capture_output=True)


def test_a_tag_is_said_in_one_place(tmp_path: Path) -> None:
    """make lets .env say it: else `make up` would start other images than `docker compose up`."""
    program = tmp_path / "compose"
    program.write_text('#!/bin/sh\necho "${TAG-unset}"\n')
    program.chmod(0o755)

    def started(*options: str) -> str:
        argv = ["make", "--no-print-directory", "logs", f"DOCKER_COMPOSE={program}", *options]
        environ = {key: value for key, value in os.environ.items() if key not in {"TAG", "MAKEFLAGS"}}
        return subprocess.run(
            argv, cwd=DEPLOY.parent, env=environ, check=True, capture_output=True, text=True
        ).stdout

    assert started() == "unset\n"
    assert started("TAG=0.1.0") == "0.1.0\n"

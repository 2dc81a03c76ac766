"""A run as a Kubernetes Job: what holds it, and that an API server would know every field."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest
from click.testing import CliRunner

from firetrial_kit.errors import FiretrialError
from firetrial_runner.gpus.device import GIB, Demand
from firetrial_runner.kubernetes_cli import kubernetes_job
from firetrial_runner.sandbox.kubernetes import Cluster, Job, render
from firetrial_runner.sandbox.port import MIB, Limits

LIMITS = Limits(
    wall_s=90.5, cpus=1.5, memory_bytes=GIB, disk_bytes=4 * GIB, tmp_bytes=64 * MIB, file_bytes=MIB
)
PLAIN = Job("r-1", "l-1", "python:3.12", ("python3", "go.py"), {"OPENAI_API_KEY": "tk-1"}, LIMITS)
WITH_GPUS = Job("r-2", "l-1", "cuda:12", ("train",), limits=LIMITS, gpus=Demand(2, 80 * GIB))
GVISOR = Cluster(namespace="lab", runtime_class="gvisor", runners={"app": "runner"})


def parts(job: Job, cluster: Cluster = GVISOR) -> dict[str, Any]:
    return {item["kind"]: item for item in render(job, cluster)["items"]}


def pod(job: Job, cluster: Cluster = GVISOR) -> Any:
    return parts(job, cluster)["Job"]["spec"]["template"]["spec"]


def test_it_is_run_once_and_found_by_its_labels() -> None:
    made = parts(PLAIN)
    labels = {"app.kubernetes.io/name": "firetrial-run", "firetrial.run": "r-1", "firetrial.lease": "l-1"}
    for item in made.values():
        assert item["metadata"] == {"name": "firetrial-r-1", "namespace": "lab", "labels": labels}
    spec = made["Job"]["spec"]
    assert spec["template"]["metadata"]["labels"] == labels
    assert (spec["backoffLimit"], spec["completions"], spec["ttlSecondsAfterFinished"]) == (0, 1, 3600)
    assert pod(PLAIN)["restartPolicy"] == "Never"


def test_it_has_no_rights() -> None:
    made = pod(PLAIN)
    (agent,) = made["containers"]
    assert made["securityContext"]["runAsNonRoot"] is True
    assert made["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert (made["automountServiceAccountToken"], made["enableServiceLinks"]) == (False, False)
    assert made["runtimeClassName"] == "gvisor"
    assert agent["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(made)
    assert all(set(volume) == {"name", "emptyDir"} for volume in made["volumes"])
    assert "runtimeClassName" not in pod(PLAIN, Cluster())


def test_it_reaches_the_gateway_and_nothing_else() -> None:
    policy = parts(PLAIN)["NetworkPolicy"]["spec"]
    assert policy == {
        "podSelector": {"matchLabels": {"firetrial.run": "r-1"}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [],
        "egress": [
            {
                "to": [{"podSelector": {"matchLabels": {"app": "runner"}}}],
                "ports": [{"protocol": "TCP", "port": 8462}],
            }
        ],
    }
    assert pod(PLAIN)["dnsPolicy"] == "None"
    kinds = [item["kind"] for item in render(PLAIN, GVISOR)["items"]]
    assert kinds.index("NetworkPolicy") < kinds.index("Job")


def test_it_is_held_to_its_limits() -> None:
    made = pod(PLAIN)
    (agent,) = made["containers"]
    assert made["activeDeadlineSeconds"] == 91
    assert made["terminationGracePeriodSeconds"] == 0
    storage = str(4 * GIB + 2 * 64 * MIB + LIMITS.output_bytes)
    wanted = {"cpu": "1500m", "memory": str(GIB), "ephemeral-storage": storage}
    assert agent["resources"] == {"limits": wanted, "requests": wanted}
    sizes = {volume["name"]: volume["emptyDir"]["sizeLimit"] for volume in made["volumes"]}
    assert sizes == {"workspace": str(4 * GIB), **dict.fromkeys(("tmp", "home", "shm"), str(64 * MIB))}
    assert agent["command"][3:] == ["sh", "python3", "go.py"]
    assert "ulimit -n 1024 && ulimit -f 2048 " in agent["command"][2]


def test_its_token_is_in_the_secret_alone() -> None:
    made = parts(PLAIN)
    assert made["Secret"]["stringData"] == {"OPENAI_API_KEY": "tk-1"}
    assert "tk-1" not in json.dumps([made["Job"], made["NetworkPolicy"]])
    assert pod(PLAIN)["containers"][0]["envFrom"] == [{"secretRef": {"name": "firetrial-r-1"}}]


def test_gpus_and_nodes_that_have_them() -> None:
    made = pod(WITH_GPUS)
    assert made["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert '"nvidia.com/gpu.memory", "operator": "Gt", "values": ["81919"]' in json.dumps(made["affinity"])
    assert "affinity" not in pod(PLAIN)
    assert "nvidia.com/gpu" not in pod(PLAIN)["containers"][0]["resources"]["limits"]


def test_every_fault_at_once() -> None:
    bad = Job("r" * 54, "L_1", "", (), limits=Limits(wall_s=0), gpus=Demand(99))
    with pytest.raises(FiretrialError) as caught:
        render(bad, Cluster(namespace="Lab", runtime_class="g/v", runners={}, keep_s=-1))
    assert [fault.field for fault in caught.value.faults] == [
        "run_key",
        "lease",
        "image",
        "argv",
        "limits.wall_s",
        "gpus.gpus",
        "cluster.namespace",
        "cluster.runtime_class",
        "cluster.runners",
        "cluster.keep_s",
    ]


@pytest.mark.needs("kubernetes_validate")
@pytest.mark.parametrize("version", ["1.30", "1.33", "latest"])
@pytest.mark.parametrize("job", [PLAIN, WITH_GPUS])
def test_the_official_schema_knows_every_field(job: Job, version: str) -> None:
    validator = importlib.import_module("kubernetes_validate")
    wanted = validator.latest_version() if version == "latest" else version
    for cluster in (GVISOR, Cluster()):
        for item in render(job, cluster)["items"]:
            assert wanted.startswith(validator.validate(item, wanted, strict=True))
    item = parts(job)["Job"]
    item["spec"]["template"]["spec"]["readOnlyRootFilesystem"] = True
    with pytest.raises(validator.ValidationError):
        validator.validate(item, wanted, strict=True)


def test_as_a_command() -> None:
    asked = ["--run", "r-1", "--image", "python:3.12", "--gpus", "1", "--wall", "60", "--", "python3", "-V"]
    answer = CliRunner().invoke(kubernetes_job, asked)
    assert answer.exit_code == 0, answer.output
    job = json.loads(answer.output)["items"][2]["spec"]["template"]["spec"]
    assert job["containers"][0]["command"][-2:] == ["python3", "-V"]
    assert job["activeDeadlineSeconds"] == 60
    answer = CliRunner().invoke(kubernetes_job, ["--run", "R", "--image", "i", "true"])
    assert (answer.exit_code, "run_key" in answer.output) == (2, True)

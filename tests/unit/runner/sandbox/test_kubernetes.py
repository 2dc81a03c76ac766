"""A run as a Kubernetes Job: what holds it, and that an API server would know every field."""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import fields, replace
from typing import Any

import pytest
from click.testing import CliRunner

from firetrial_kit.errors import FiretrialError
from firetrial_runner.gpus.device import GIB, Demand
from firetrial_runner.kubernetes_cli import kubernetes_job
from firetrial_runner.sandbox.kubernetes import ENFORCEMENT, LACKING, Cluster, Job, render
from firetrial_runner.sandbox.port import MIB, Limits, SandboxSpec

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
        told = {name: value for name, value in item["metadata"].items() if name != "annotations"}
        assert told == {"name": "firetrial-r-1", "namespace": "lab", "labels": labels}
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


def test_it_reaches_the_ways_that_it_has() -> None:
    def ports(*ways: int) -> list[int]:
        policy = parts(replace(PLAIN, ways=ways))["NetworkPolicy"]["spec"]
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        return [port["port"] for rule in policy["egress"] for port in rule["ports"]]

    assert ports(8462, 8463) == [8462, 8463]
    assert ports() == []


def test_nothing_of_the_port_is_dropped_in_silence() -> None:
    """Each limit is held by a field or named as one that is not, and so is all else that a spec has."""
    limits = {field.name for field in fields(Limits)}
    assert set(ENFORCEMENT) | (limits & set(LACKING)) == limits
    assert not set(ENFORCEMENT) & set(LACKING)
    elsewhere = {
        "gateway": "ways",
        "egress": "ways",
        "demand": "gpus",
    }  # ways: their ports, at the runner's pod
    rendered = {field.name for field in fields(Job)} | {
        "waits"
    }  # for a queue: who drives it reads the events
    for field in fields(SandboxSpec):
        assert elsewhere.get(field.name, field.name) in rendered | set(LACKING), field.name
    assert parts(PLAIN)["Job"]["metadata"]["annotations"] == {
        "firetrial.not-held": "processes, output_bytes, workspace, read_only"
    }


def numbers(made: Any) -> set[str]:
    """Every number in a manifest, as text; those in texts too."""
    return set(re.findall(r"\d+", json.dumps(made)))


@pytest.mark.parametrize("limit", sorted(ENFORCEMENT))
def test_a_limit_that_is_held_changes_the_job(limit: str) -> None:
    """What is held is rendered: another value is another manifest, with the value in it."""
    value = 7 * 512 * 1021
    asked = replace(PLAIN, limits=replace(LIMITS, **{limit: value}))
    assert parts(asked)["Job"] != parts(PLAIN)["Job"]
    known = {str(value), str(1000 * value), str(value // 512)}
    assert known & numbers(parts(asked)["Job"]), limit


@pytest.mark.parametrize("limit", sorted({field.name for field in fields(Limits)} - set(ENFORCEMENT)))
def test_a_limit_that_is_not_held_is_not_said_to_be(limit: str) -> None:
    asked = replace(PLAIN, limits=replace(LIMITS, **{limit: 7 * 512 * 1021}))
    spec = parts(asked)["Job"]["spec"]
    del spec["template"]["spec"]["containers"][0]["resources"]  # output takes room on the node's disk
    told = parts(PLAIN)["Job"]["spec"]
    del told["template"]["spec"]["containers"][0]["resources"]
    assert spec == told
    assert limit in LACKING


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
    bad = Job("r" * 54, "L_1", "", (), limits=Limits(wall_s=0), gpus=Demand(99), ways=(0,))
    with pytest.raises(FiretrialError) as caught:
        render(bad, Cluster(namespace="Lab", runtime_class="g/v", runners={}, keep_s=-1))
    assert [fault.field for fault in caught.value.faults] == [
        "run_key",
        "lease",
        "image",
        "argv",
        "ways",
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
    assert [line.split(": ")[1] for line in answer.stderr.splitlines()] == list(LACKING)
    assert answer.stderr.startswith("not held: processes: only the kubelet's podPidsLimit")
    job = json.loads(answer.stdout)["items"][2]["spec"]["template"]["spec"]
    assert job["containers"][0]["command"][-2:] == ["python3", "-V"]
    assert job["activeDeadlineSeconds"] == 60
    answer = CliRunner().invoke(kubernetes_job, ["--run", "R", "--image", "i", "true"])
    assert (answer.exit_code, "run_key" in answer.output) == (2, True)

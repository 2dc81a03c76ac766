"""Manifests in which one thing is wrong: the check names it. Each is a change of what is right."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import kubernetes_objects
import kubernetes_rules
import kubernetes_schemas
import kubernetes_settings
import pytest
from kubernetes_objects import FOLDER, Manifests, Object, named

pytestmark = pytest.mark.needs("kubectl", "openssl")
GONE = object()
JUDGE, FRONT = "Deployment firetrial/judge", "Deployment firetrial/runner"
WORKER, SCALER = "Deployment firetrial-runners/runner-default", "ScaledObject firetrial-runners/runner-gpu"
ROLE, POLICY = "Role firetrial-sandboxes/sandboxes", "NetworkPolicy firetrial"
POD, OWN = "spec template spec", "spec template spec containers service"
NAME = "app.kubernetes.io/name"


@dataclass(frozen=True, slots=True)
class Wrong:
    """`value` at `path` of an object, or GONE; a step is a key, a place in a list, or a name in it.

    Without a path the object itself goes. `said` is part of a fault.
    """

    object: str
    path: str
    value: Any
    said: str

    def of(self, made: Manifests) -> Manifests:
        objects = copy.deepcopy(made.objects)
        (found,) = (one for one in objects if named(one).startswith(self.object))
        *steps, last = self.path.split() or [""]
        at: Any = found
        for step in steps:
            at = _step(at, step)
        if not self.path:
            objects.remove(found)
        elif self.value is GONE:
            del at[int(last) if isinstance(at, list) else last]
        elif last == "+":
            at.append(self.value)
        else:
            at[int(last) if isinstance(at, list) else last] = self.value
        return Manifests(objects, made.secrets)


def _step(at: Any, step: str) -> Any:
    if isinstance(at, list):
        return at[int(step)] if step.isdigit() else next(one for one in at if one.get("name") == step)
    return at.setdefault(step, {})


def variable(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


DOCKER = {"name": "s", "hostPath": {"path": "/var/run/docker.sock"}}
ADDED = {"drop": ["ALL"], "add": ["SYS_ADMIN"]}
KEYED = '[upstreams.a]\nurl = "https://a/v1"\ndialect = "openai"\nkey_file = "/k"\nmodels = ["*"]'
WRONG = {
    # ---- pods ----
    "no limit": Wrong(JUDGE, f"{OWN} resources limits memory", GONE, f"{JUDGE} service: no limits of memory"),
    "no request": Wrong(JUDGE, f"{OWN} resources requests", GONE, "no requests of cpu, memory"),
    "no probe": Wrong(JUDGE, f"{OWN} livenessProbe", GONE, f"{JUDGE} service: no livenessProbe"),
    "a probe's port": Wrong(
        JUDGE, f"{OWN} readinessProbe httpGet port", "http", "asks port http, which it has"
    ),
    "root": Wrong(JUDGE, f"{POD} securityContext runAsUser", 0, f"{JUDGE}: runs as root"),
    "may be root": Wrong(JUDGE, f"{POD} securityContext runAsNonRoot", GONE, f"{JUDGE}: runs as root"),
    "capabilities": Wrong(JUDGE, f"{OWN} securityContext capabilities", ADDED, "has capabilities"),
    "privileged": Wrong(WORKER, f"{OWN} securityContext privileged", True, f"{WORKER} service: has capab"),
    "setuid": Wrong(JUDGE, f"{OWN} securityContext allowPrivilegeEscalation", GONE, "may gain privileges"),
    "writable": Wrong(JUDGE, f"{OWN} securityContext readOnlyRootFilesystem", False, "can be written"),
    "unfiltered": Wrong(WORKER, f"{POD} securityContext seccompProfile", GONE, "no system call is denied"),
    "a token": Wrong(FRONT, f"{POD} automountServiceAccountToken", GONE, f"{FRONT}: is shown a token"),
    "the node's network": Wrong(JUDGE, f"{POD} hostNetwork", True, f"{JUDGE}: hostNetwork"),
    "the node's files": Wrong(WORKER, f"{POD} volumes +", DOCKER, f"{WORKER}: sees /var/run/docker.sock"),
    "no limit of disk": Wrong(
        JUDGE, f"{POD} volumes tmp emptyDir sizeLimit", GONE, "volume tmp has no limit"
    ),
    "latest": Wrong(JUDGE, f"{OWN} image", "firetrial-judge:latest", "is held to no version"),
    "no tag": Wrong(JUDGE, f"{OWN} image", "host:5000/firetrial-judge", "is held to no version"),
    "no digest": Wrong(
        "Deployment firetrial/envoy",
        f"{POD} containers envoy image",
        "envoyproxy/envoy:v1",
        "held to no digest",
    ),
    "two versions": Wrong(FRONT, f"{OWN} image", "firetrial-runner:0.2.0", "elsewhere firetrial-runner:0."),
    "a lax namespace": Wrong(
        "Namespace firetrial-runners", "metadata labels", {}, "enforces no pod security"
    ),
    "a strict one": Wrong(
        JUDGE, f"{OWN} securityContext procMount", "Unmasked", "procMount is refused by the"
    ),
    "no user namespace": Wrong(WORKER, f"{POD} hostUsers", GONE, f"{WORKER}: appArmor, procMount without a"),
    # ---- what belongs together ----
    "a service's pods": Wrong(
        "Service firetrial/judge", f"spec selector {NAME}", "x", "judge: selects no pod"
    ),
    "a service's port": Wrong("Service firetrial/judge", "spec ports 0 targetPort", "x", "has no port x"),
    "a secret": Wrong(JUDGE, f"{POD} volumes secrets secret secretName", "x", "nobody makes the Secret x"),
    "a config": Wrong(JUDGE, f"{OWN} envFrom 0 configMapRef name", "x", f"{JUDGE}: there is no ConfigMap x"),
    "an account": Wrong(JUDGE, f"{POD} serviceAccountName", "x", "there is no ServiceAccount x"),
    "a key": Wrong(
        "Deployment firetrial/envoy",
        f"{POD} volumes envoy projected sources 1 secret items 0 key",
        "x",
        "the Secret firetrial-envoy has no x",
    ),
    "a file": Wrong(JUDGE, f"{OWN} env FIRETRIAL_JUDGE_MODEL_KEY_FILE value", "/run/secrets/x", "not shown"),
    "a committed secret": Wrong("ServiceAccount firetrial/setup", "kind", "Secret", "are not committed"),
    "a budget": Wrong(
        "PodDisruptionBudget firetrial/judge", "spec minAvailable", 2, "lets no node be emptied"
    ),
    "no budget": Wrong("PodDisruptionBudget firetrial/judge", "", GONE, f"{JUDGE}: 0 PodDisruptionBudgets"),
    "a selector of two": Wrong(
        JUDGE,
        "spec selector matchLabels",
        {"app.kubernetes.io/component": "service"},
        f"{JUDGE}: selects Depl",
    ),
    # ---- rights ----
    "secrets read": Wrong(ROLE, "rules 2 verbs +", "list", f"{ROLE}: reads secrets"),
    "everything": Wrong(ROLE, "rules 0 verbs", ["*"], "grants everything of something"),
    "a whole cluster": Wrong(ROLE, "kind", "ClusterRole", "nothing here needs rights in the whole cluster"),
    "nobody": Wrong("RoleBinding", "subjects 0 name", "x", "no ServiceAccount firetrial-runners/x"),
    # ---- the network ----
    "open": Wrong(f"{POLICY}-runners/nothing", "", GONE, "Namespace firetrial-runners: no NetworkPolicy"),
    "half open": Wrong(f"{POLICY}/nothing", "spec policyTypes", ["Ingress"], "Namespace firetrial: no Netw"),
    "a policy of nobody": Wrong(
        f"{POLICY}/models", "spec podSelector", {"matchLabels": {"a": "b"}}, "selects no"
    ),
    "not let in": Wrong(
        f"{POLICY}/analyzer-answers-judge", "", GONE, "firetrial/analyzer:50051, which does not let it in"
    ),
    "not let out": Wrong(
        f"{POLICY}/parser-asks-judge", "", GONE, "lets firetrial/parser in, which may not go out to it"
    ),
    "all ports": Wrong(f"{POLICY}/models", "spec egress 0 ports", GONE, "a rule without ports opens all"),
    # ---- addresses ----
    "nobody there": Wrong(
        JUDGE, f"{OWN} env FIRETRIAL_JUDGE_ANALYZER_ADDRESS value", "analyser:50051", "nothing answers"
    ),
    "another port's": Wrong(
        JUDGE, f"{OWN} env FIRETRIAL_JUDGE_ANALYZER_ADDRESS value", "analyzer:443", "nothing answers"
    ),
    "out of reach": Wrong(
        JUDGE, f"{OWN} env FIRETRIAL_JUDGE_ANALYZER_ADDRESS value", "parser:50051", "may not reach"
    ),
    "a scaler that asks nobody": Wrong(
        SCALER,
        "spec triggers 0 metadata natsServerMonitoringEndpoint",
        "nats.firetrial.svc:8222",
        "answers at nats",
    ),
    # ---- settings ----
    "a name": Wrong(
        WORKER, f"{OWN} env +", variable("FIRETRIAL_RUNNER_SLOT", "1"), "SLOT is no setting of runner"
    ),
    "another's": Wrong(
        JUDGE, f"{OWN} env +", variable("FIRETRIAL_RUNNER_POOL", "x"), "is no setting of judge"
    ),
    "a value": Wrong(WORKER, f"{OWN} env FIRETRIAL_RUNNER_SANDBOX value", "gvisor", "found 'gvisor'"),
    "in the open": Wrong(
        JUDGE, f"{OWN} env +", variable("FIRETRIAL_NATS_PASSWORD", "x"), "would hold a secret"
    ),
    "no certificate": Wrong(
        "ConfigMap firetrial/answering", "data FIRETRIAL_TLS_CERT", GONE, "FIRETRIAL_TLS_KEY go"
    ),
    "a gateway": Wrong(
        "ConfigMap firetrial-runners/gateway", "data gateway.toml", "[upstreams.a]", "upstreams.a.url"
    ),
    "a gateway's key": Wrong(
        "ConfigMap firetrial-runners/gateway", "data gateway.toml", KEYED, "/k is not shown"
    ),
    # ---- runners ----
    "a short grace": Wrong(WORKER, f"{POD} terminationGracePeriodSeconds", 60, "it has drained (22205 s)"),
    "a long drain": Wrong("ConfigMap firetrial/answering", "data FIRETRIAL_DRAIN", "60", "drained (70 s)"),
    "runs cut": Wrong(WORKER, f"{OWN} env FIRETRIAL_DRAIN value", "600", "drain is shorter than the longest"),
    "runs without time": Wrong(
        FRONT, f"{OWN} env FIRETRIAL_RUNNER_MAX_WALL_S value", "90000", "_WALL_S differs"
    ),
    "no room": Wrong(WORKER, f"{OWN} env FIRETRIAL_RUNNER_SLOTS value", "8", "9 at a time with MAX_MEMORY"),
    "a pool's label": Wrong(WORKER, "spec template metadata labels firetrial.pool", "x", "says another pool"),
    "no consumers": Wrong(
        "Job firetrial/setup", f"{POD} containers pools args", ["default"], "consumers for gpu"
    ),
    "two count": Wrong(WORKER, "spec replicas", 3, f"{WORKER}: says how many there are"),
    "a threshold": Wrong(SCALER, "spec triggers 0 metadata lagThreshold", "10", f"{SCALER}: looks at"),
    "a consumer": Wrong(SCALER, "spec triggers 0 metadata consumer", "runner-default", f"{SCALER}: looks at"),
    "tests that wait": Wrong(SCALER, "spec triggers 1", GONE, f"{SCALER}: looks at"),
    "a stream": Wrong(
        SCALER, "spec triggers 0 metadata stream", "FT_EVT", "asks for nats-jetstream FIRETRIAL/FT_E"
    ),
    "activation": Wrong(SCALER, "spec triggers 0 metadata activationLagThreshold", "5", "waits to nobody"),
    "never none": Wrong(SCALER, "spec minReplicaCount", 1, f"{SCALER}: is never scaled to none"),
    "no scaler": Wrong(SCALER, "", GONE, "Deployment firetrial-runners/runner-gpu: 0 ScaledObjects"),
    "nobody to scale": Wrong(SCALER, "spec scaleTargetRef name", "x", f"{SCALER}: there is no x to scale"),
}


@pytest.fixture(scope="module")
def right() -> Manifests:
    return Manifests(
        kubernetes_objects.render(FOLDER / "overlays" / "external"), kubernetes_objects.secrets()
    )


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named(what: str, right: Manifests) -> None:
    made = WRONG[what].of(right)
    found = [*kubernetes_rules.faults(made), *kubernetes_settings.faults(made)]
    assert any(WRONG[what].said in fault for fault in found), found


# ---- schemas ----


@pytest.mark.needs("kubernetes_validate")
@pytest.mark.parametrize("version", kubernetes_schemas.VERSIONS)
def test_an_api_server_would_take_everything(version: str, right: Manifests) -> None:
    assert list(kubernetes_schemas.faults(right.objects, (version,))) == []


UNKNOWN = [
    (Wrong(JUDGE, f"{OWN} readinesProbe", {}, ""), "readinesProbe"),
    (Wrong(JUDGE, "spec replicas", "two", ""), "spec.replicas"),
    (Wrong(f"{POLICY}/models", "spec egress 0 to 0 ipBlock except", "10.0.0.0/8", ""), "except"),
]


@pytest.mark.needs("kubernetes_validate")
@pytest.mark.parametrize(("wrong", "said"), UNKNOWN)
def test_what_an_api_server_would_refuse_is_named(wrong: Wrong, said: str, right: Manifests) -> None:
    (found,) = (one for one in wrong.of(right).objects if named(one).startswith(wrong.object))
    (fault,) = kubernetes_schemas.faults([found], ("1.33",))
    assert said in fault


PODS, RULE = "PodMonitor firetrial/services", "PrometheusRule firetrial/fleet"
CUSTOM = [
    Wrong(SCALER, "spec minReplicaCuont", 0, "minReplicaCuont"),
    Wrong(SCALER, "spec maxReplicaCount", "four", "maxReplicaCount"),
    Wrong(SCALER, "spec triggers 0 metadata lagThreshold", 1, "lagThreshold"),
    Wrong(SCALER, "spec scaleTargetRef", GONE, "scaleTargetRef"),
    Wrong(PODS, "spec podMetricsEndpoints 0 intervall", "15s", "intervall"),
    Wrong(PODS, "spec podMetricsEndpoints 0 interval", "15 seconds", "interval"),
    Wrong(RULE, "spec groups 0 rules 0 anotations", {}, "anotations"),
    Wrong(RULE, "spec groups 0 rules 0 for", "a while", "for"),
]


@pytest.mark.needs("npm")
def test_operators_would_take_what_is_theirs_and_what_they_would_not_is_named(right: Manifests) -> None:
    changed: list[Object] = []
    for number, wrong in enumerate(CUSTOM):
        (found,) = (one for one in wrong.of(right).objects if named(one).startswith(wrong.object))
        found["metadata"]["name"] = f"wrong-{number}"
        changed.append(found)
    faults = list(kubernetes_schemas.custom([*right.objects, *changed]))
    assert [fault for fault in faults if "/wrong-" not in fault] == []
    for number, wrong in enumerate(CUSTOM):
        about = [fault for fault in faults if f"/wrong-{number}:" in fault]
        assert any(wrong.said in fault for fault in about), (wrong, faults)

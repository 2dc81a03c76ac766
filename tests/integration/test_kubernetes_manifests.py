"""The manifests, as Kustomize renders them: nothing is wrong with them, and what would be is named."""

from __future__ import annotations

import json
import os
import re
from itertools import pairwise
from pathlib import Path

import kubernetes_alerts
import kubernetes_network
import kubernetes_objects
import kubernetes_pods
import kubernetes_rules
import kubernetes_runners
import kubernetes_settings
import pytest
import yaml  # type: ignore[import-untyped]
from kubernetes_objects import FOLDER, OVERLAYS, Manifests, Secrets, workloads

from firetrial_kit.buckets import policy
from firetrial_runner.gpus.device import Demand
from firetrial_runner.sandbox.kubernetes import Cluster, Job, render
from firetrial_runner.sandbox.port import EGRESS_PORT, GATEWAY_PORT, Limits
from support.tls import DEPLOY

pytestmark = pytest.mark.needs("kubectl", "openssl")
Rendered = dict[str, Manifests]


@pytest.fixture(scope="module")
def secrets() -> Secrets:
    return kubernetes_objects.secrets()


@pytest.fixture(scope="module")
def rendered(secrets: Secrets) -> Rendered:
    folders = {name: FOLDER / "overlays" / name for name in OVERLAYS}
    return {name: Manifests(kubernetes_objects.render(at), secrets) for name, at in folders.items()}


def also(folder: Path, secrets: Secrets, base: str, *components: str) -> Manifests:
    """An overlay with components beside its own."""
    folder.mkdir()
    near = os.path.relpath(FOLDER, folder)
    told = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [f"{near}/overlays/{base}"],
        "components": [f"{near}/components/{name}" for name in components],
    }
    (folder / "kustomization.yaml").write_text(json.dumps(told))
    return Manifests(kubernetes_objects.render(folder), secrets)


def data(made: Manifests, name: str) -> dict[str, str]:
    """Of the one ConfigMap of that name; what tells its content from others' is left out."""
    found = (one for one in made.of("ConfigMap") if one["metadata"]["name"].rpartition("-")[0] == name)
    return dict(next(found)["data"])


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_nothing_is_wrong(overlay: str, rendered: Rendered) -> None:
    made = rendered[overlay]
    assert [*kubernetes_rules.faults(made), *kubernetes_settings.faults(made)] == []


def test_three_brokers_know_each_other_by_the_names_of_their_certificates(
    tmp_path: Path, secrets: Secrets
) -> None:
    made = also(tmp_path / "o", secrets, "demo", "nats-cluster")
    assert kubernetes_rules.faults(made) == []
    routes = set(re.findall(r"nats://(nats-\d):6222", (DEPLOY / "nats" / "cluster.conf").read_text()))
    spec = made.named("StatefulSet", "firetrial")["nats"]["spec"]
    assert {f"nats-{spec['ordinals']['start'] + n}" for n in range(spec["replicas"])} == routes
    assert routes <= made.named("Service", "firetrial").keys()
    (streams,) = (c for pods in made.pods for c in pods.containers if c["name"] == "streams")
    assert streams["command"][-2:] == ["--replicas", "3"]
    assert "include cluster.conf" in data(made, "nats-watched")["kubernetes.conf"]


def test_who_reaches_whom(rendered: Rendered) -> None:
    """All connections within the installation; whatever is not here is refused at both ends or at one."""
    services, workers = ("parser", "runner", "judge", "analyzer"), "firetrial-runners/runner-default"
    wanted = {("firetrial/envoy", f"firetrial/{name}", 50051) for name in services}
    wanted |= {
        (f"firetrial/{a}", f"firetrial/{b}", 50051) for a, b in pairwise(("parser", "judge", "analyzer"))
    }
    for name, port in (("nats", 4222), ("objects", 9000)):
        wanted |= {(f"firetrial/{one}", f"firetrial/{name}", port) for one in (*services, "setup", "operate")}
        wanted.add((workers, f"firetrial/{name}", port))
    wanted.add(("firetrial/operate", "firetrial/envoy", 8443))
    assert kubernetes_network.ways(rendered["demo"]) == wanted


def test_what_runs_agents_cannot_read_ground_truths(rendered: Rendered, secrets: Secrets) -> None:
    """By its credentials: it is shown those of the user `runner` and no others, and that user's policy."""
    assert "truth" not in json.dumps(policy("runner"))
    for made in rendered.values():
        for pods in (one for one in made.pods if one.namespace == "firetrial-runners"):
            assert [v["secret"]["secretName"] for v in pods.spec["volumes"] if "secret" in v] == [
                "firetrial-runner"
            ]
            told = made.environment(pods, *pods.containers)
            assert (told["FIRETRIAL_S3_ACCESS_KEY"], told["FIRETRIAL_NATS_USER"]) == ("runner", "runner")
    keys = {"ca.pem", "nats-password", "s3-secret-key", "model-key"}
    assert secrets["firetrial-runners", "firetrial-runner"] == keys


def test_operators_are_told_what_compose_tells_them_and_are_not_there_by_themselves(
    rendered: Rendered,
) -> None:
    services = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())["services"]
    wanted = {key: value for key, value in services["operate"]["environment"].items() if "${" not in value}
    for made in rendered.values():
        (pods,) = (one for one in made.pods if one.name == "operate")
        assert (
            wanted.items() - {("FIRETRIAL_OBJECTS_URL", "https://objects:9000")}
            <= made.environment(pods, *pods.containers).items()
        )
        assert made.named("StatefulSet", "firetrial")["operate"]["spec"]["replicas"] == 0
        holders = [one.name for one in made.pods if "firetrial-operator" in json.dumps(one.spec)]
        assert holders == ["operate"]


def test_the_broker_and_the_endpoint_have_the_files_that_are_tested_elsewhere(rendered: Rendered) -> None:
    for name in ("nats.conf", "cluster.conf"):
        assert data(rendered["demo"], "nats")[name] == (DEPLOY / "nats" / name).read_text()
    assert data(rendered["demo"], "envoy")["envoy.yaml"] == (DEPLOY / "envoy" / "envoy.yaml").read_text()
    filtered = (DEPLOY / "compose" / "runner-seccomp.json").read_text()
    assert data(rendered["demo"], "seccomp")["runner.json"] == filtered


def test_the_endpoint_finds_every_service_by_the_name_in_its_certificate(rendered: Rendered) -> None:
    clusters = yaml.safe_load((DEPLOY / "envoy" / "envoy.yaml").read_text())["static_resources"]["clusters"]
    services, found = rendered["demo"].named("Service", "firetrial"), set()
    for cluster in clusters:
        for ends in cluster["load_assignment"]["endpoints"]:
            for end in ends["lb_endpoints"]:
                at = end["endpoint"]["address"]["socket_address"]
                if (
                    cluster["type"] == "STRICT_DNS" and at["address"] != "grafana"
                ):  # which is not published here
                    assert at["port_value"] in {
                        port["port"] for port in services[at["address"]]["spec"]["ports"]
                    }
                    found.add(at["address"])
    assert found == {"parser", "runner", "judge", "analyzer"}


def test_services_are_told_what_compose_tells_them_of_the_same_images(rendered: Rendered) -> None:
    """But for what an operator sets, which is empty there: models, above all."""
    services = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())["services"]
    made = rendered["demo"]
    told = {one.name: made.environment(one, one.containers[0]) for one in made.pods if one.serves}
    for name in ("parser", "judge", "analyzer"):
        wanted = {key: value for key, value in services[name]["environment"].items() if "${" not in value}
        plain = {"FIRETRIAL_NATS_URL": "tls://nats:4222", "FIRETRIAL_LOG_LEVEL": "info"}
        assert told[name] == wanted | plain
    example = (DEPLOY / "compose" / ".env.example").read_text()
    pinned = set(re.findall(r"^#[A-Z]+_IMAGE=(.+)$", example, re.MULTILINE))
    images = {container["image"] for pods in made.pods for container in pods.containers}
    assert {image for image in images if not image.startswith("firetrial-")} <= pinned


def test_users_of_the_broker_are_those_that_it_knows(rendered: Rendered) -> None:
    known = set(re.findall(r"user: (\w+), password", (DEPLOY / "nats" / "nats.conf").read_text()))
    variables = (v for pods in rendered["demo"].pods for c in pods.containers for v in c.get("env", []))
    told = {each["value"] for each in variables if each["name"] == "FIRETRIAL_NATS_USER"}
    assert told == {"parser", "runner", "judge", "analyzer", "operator"} < known


def test_alerts_and_dashboards_are_those_of_prometheus_and_grafana(rendered: Rendered) -> None:
    made = rendered["external"]
    assert kubernetes_alerts.MADE.read_text() == kubernetes_alerts.rendered()
    rules = {one["metadata"]["name"]: one["spec"] for one in made.of("PrometheusRule")}
    assert rules == {one["metadata"]["name"]: one["spec"] for one in kubernetes_alerts.rules()}
    labelled = (
        one for one in made.of("ConfigMap") if "grafana_dashboard" in one["metadata"].get("labels", {})
    )
    shown = {name: text for one in labelled for name, text in one["data"].items()}
    assert shown == {
        path.name: path.read_text() for path in (DEPLOY / "grafana" / "dashboards").glob("*.json")
    }
    # What `kubectl apply` keeps of an object in an annotation may have 256 KiB.
    assert max(len(text) for text in shown.values()) < 200_000


def test_jobs_have_the_names_that_rules_go_by(rendered: Rendered) -> None:
    made, found = rendered["external"], set()
    for monitor in made.of("PodMonitor"):
        spec = monitor["spec"]
        spaces = spec.get("namespaceSelector", {"matchNames": [monitor["metadata"]["namespace"]]})[
            "matchNames"
        ]
        for pods in made.pods:
            if pods.namespace in spaces and kubernetes_network.selects(spec["selector"], pods.labels):
                assert spec["podMetricsEndpoints"][0]["port"] in pods.ports
                found.add(pods.labels[spec["jobLabel"]])
    assert found == {f"firetrial-{name}" for name in ("parser", "runner", "judge", "analyzer", "envoy")}


# ---- sandboxes that are Jobs: rendered by the runner, into a namespace that is made for them ----

WAYS = (GATEWAY_PORT, EGRESS_PORT)
RUN = Job("r-1", "l-1", "python:3.12", ("python3",), {"OPENAI_API_KEY": "tk"}, Limits(), Demand(1), WAYS)
SANDBOXES = Cluster("firetrial-sandboxes", {"app.kubernetes.io/name": "firetrial-runner"}, "gvisor")


def test_a_sandbox_fits_where_sandboxes_go(rendered: Rendered) -> None:
    made, items = rendered["external"], render(RUN, SANDBOXES)["items"]
    (pods,) = workloads(items)
    assert [*kubernetes_pods.pod(pods), *kubernetes_pods.widened(pods)] == []
    assert pods.spec["runtimeClassName"] in {one["metadata"]["name"] for one in made.of("RuntimeClass")}
    (limits,) = made.of("LimitRange")
    (most,) = (each["max"] for each in limits["spec"]["limits"] if each["type"] == "Pod")
    asked = pods.containers[0]["resources"]["limits"]
    assert all(
        kubernetes_runners.quantity(asked[name]) <= kubernetes_runners.quantity(most[name]) for name in most
    )
    (role,) = made.of("Role")
    may = {resource for rule in role["rules"] if "create" in rule["verbs"] for resource in rule["resources"]}
    kinds = {"Job": "jobs", "Secret": "secrets", "NetworkPolicy": "networkpolicies"}
    assert may == {kinds[item["kind"]] for item in items}


def test_a_sandbox_reaches_the_gateways_of_runners_and_nothing_else(
    rendered: Rendered, secrets: Secrets
) -> None:
    made = Manifests([*rendered["external"].objects, *render(RUN, SANDBOXES)["items"]], secrets)
    sandbox, workers = "firetrial-sandboxes/firetrial-r-1", ("runner-default", "runner-gpu")
    out = {way for way in kubernetes_network.allowed(made, "Egress") if way[0] == sandbox}
    assert out == {(sandbox, f"firetrial-runners/{name}", port) for name in workers for port in WAYS}
    into = kubernetes_network.allowed(made, "Ingress")
    assert out <= into
    assert [way for way in into if way[1] == sandbox] == []

"""What must hold of rendered manifests and no schema knows: faults name the object and say what is wrong.

Rules see all objects of an overlay and the Secrets that are made beside them, so that what belongs together
is checked together: what is asked for is there, and what is there is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

import kubernetes_addresses
import kubernetes_network
import kubernetes_pods
import kubernetes_runners
from kubernetes_network import selects
from kubernetes_objects import Manifests, Object, Pods, named, sources

_SHOWN = ("/run/secrets/", "/etc/firetrial/")
_BY_POD = "statefulset.kubernetes.io/pod-name"


def faults(made: Manifests) -> list[str]:
    """Everything that is wrong, in order of the rules."""
    return [
        *(f"{named(one)}: secrets are not committed" for one in made.of("Secret")),
        *kubernetes_pods.faults(made),
        *(fault for one in made.pods for fault in _references(one, made)),
        *(fault for one in made.pods for fault in _files(one, made)),
        *(fault for service in made.of("Service") for fault in _service(service, made)),
        *_disruption(made),
        *_selectors(made),
        *_rights(made),
        *kubernetes_network.faults(made),
        *kubernetes_addresses.faults(made),
        *kubernetes_runners.faults(made),
    ]


def _references(one: Pods, made: Manifests) -> Iterator[str]:
    """What pods name is there."""
    account = one.spec.get("serviceAccountName", "default")
    if account not in made.named("ServiceAccount", one.namespace):
        yield f"{one}: there is no ServiceAccount {account}"
    shown = [source for volume in one.spec.get("volumes", []) for source in sources(volume)]
    maps = {source["configMap"]["name"] for source in shown if "configMap" in source}
    maps |= {source["configMapRef"]["name"] for c in one.containers for source in c.get("envFrom", [])}
    for name in sorted(maps - made.named("ConfigMap", one.namespace).keys()):
        yield f"{one}: there is no ConfigMap {name}"
    for secret in (source["secret"] for source in shown if "secret" in source):
        name = secret.get("secretName") or secret["name"]
        keys = made.secrets.get((one.namespace, name))
        if keys is None:
            yield f"{one}: nobody makes the Secret {name}"
        for item in secret.get("items", []):
            if item["key"] not in (keys or frozenset()):
                yield f"{one}: the Secret {name} has no {item['key']}"


def _files(one: Pods, made: Manifests) -> Iterator[str]:
    """What an environment names of files is shown."""
    for container in one.containers:
        there = made.shown(one, container)
        for variable, value in made.environment(one, container).items():
            if value.startswith(_SHOWN) and value not in there:
                yield f"{one} {container['name']}: {variable} names {value}, which it is not shown"


def _meant(selector: Object, namespace: str, made: Manifests) -> list[Pods]:
    """The pods that a selector means; one of a StatefulSet by the name that it will have, too."""
    told = selector.get("matchLabels", {})
    labels = {key: value for key, value in told.items() if key != _BY_POD}
    owner = told[_BY_POD].rpartition("-")[0] if _BY_POD in told else None
    return [
        one
        for one in made.pods
        if one.namespace == namespace
        and selects({**selector, "matchLabels": labels}, one.labels)
        and owner in {None, one.name}
    ]


def _service(service: Object, made: Manifests) -> Iterator[str]:
    spec, namespace = service["spec"], service["metadata"]["namespace"]
    if spec.get("type") == "ExternalName":
        name, place = spec["externalName"].split(".")[:2]
        if name not in made.named("Service", place):
            yield f"{named(service)}: there is no Service {place}/{name}"
        return
    found = _meant({"matchLabels": spec["selector"]}, namespace, made)
    if not found:
        yield f"{named(service)}: selects no pod"
    for one in found:
        for port in spec["ports"]:
            if port["targetPort"] not in one.ports:
                yield f"{named(service)}: {one} has no port {port['targetPort']}"


def _disruption(made: Manifests) -> Iterator[str]:
    """Nodes can be emptied, and not of all of something at once."""
    budgets = made.of("PodDisruptionBudget")
    held: dict[str, list[Object]] = {}
    for budget in budgets:
        found = _meant(budget["spec"]["selector"], budget["metadata"]["namespace"], made)
        if not found:
            yield f"{named(budget)}: selects no pod"
        for one in found:
            held.setdefault(str(one), []).append(budget["spec"])
    for owner in made.of("Deployment"):
        own = held.get(named(owner), [])
        if len(own) != 1:
            yield f"{named(owner)}: {len(own)} PodDisruptionBudgets, not one"
        elif "minAvailable" in own[0] and own[0]["minAvailable"] >= owner["spec"].get("replicas", 1):
            yield f"{named(owner)}: its PodDisruptionBudget lets no node be emptied"


def _selectors(made: Manifests) -> Iterator[str]:
    for owner in made.of("Deployment", "StatefulSet", "DaemonSet"):
        found = [str(one) for one in _meant(owner["spec"]["selector"], owner["metadata"]["namespace"], made)]
        if found != [named(owner)]:
            yield f"{named(owner)}: selects {', '.join(found) or 'nobody'}"


def _rights(made: Manifests) -> Iterator[str]:
    for one in made.of("ClusterRole", "ClusterRoleBinding"):
        yield f"{named(one)}: nothing here needs rights in the whole cluster"
    for role in made.of("Role"):
        for rule in role["rules"]:
            if "*" in {*rule["verbs"], *rule["resources"], *rule["apiGroups"]}:
                yield f"{named(role)}: grants everything of something"
            if "secrets" in rule["resources"] and {"get", "list", "watch"} & {*rule["verbs"]}:
                yield f"{named(role)}: reads secrets"
    for binding in made.of("RoleBinding"):
        role = binding["roleRef"]["name"]
        if role not in made.named("Role", binding["metadata"]["namespace"]):
            yield f"{named(binding)}: there is no Role {role}"
        for subject in binding["subjects"]:
            if subject["name"] not in made.named("ServiceAccount", subject["namespace"]):
                yield f"{named(binding)}: there is no ServiceAccount {subject['namespace']}/{subject['name']}"

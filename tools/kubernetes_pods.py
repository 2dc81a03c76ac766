"""What every pod must keep: no rights, limits, probes, one version of each image, no secret in the open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubernetes_objects import Manifests, Object, Pods

_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_SECRET = frozenset({"password", "secret", "token", "key"})

EXEMPT: Mapping[str, frozenset[str]] = {
    "DaemonSet firetrial-nodes/seccomp": frozenset({"root", "hostPath"}),
}
"""Who may do what nobody else may: it writes one folder of the node, which is root's."""


def faults(made: Manifests) -> Iterator[str]:
    yield from _images(made)
    for pods in made.pods:
        yield from pod(pods)
        for container in pods.containers:
            yield from _container(pods, container)
    yield from _standards(made)


def pod(one: Pods) -> Iterator[str]:
    """Of one pod as a whole, and each of its containers' rights."""
    spec, exempt = one.spec, EXEMPT.get(str(one), frozenset())
    security = spec.get("securityContext", {})
    if (not security.get("runAsNonRoot") or not security.get("runAsUser")) and "root" not in exempt:
        yield f"{one}: runs as root"
    if security.get("seccompProfile", {}).get("type") not in {"RuntimeDefault", "Localhost"}:
        yield f"{one}: no system call is denied (seccompProfile)"
    if spec.get("automountServiceAccountToken") is not False:
        yield f"{one}: is shown a token of the API server's"
    if spec.get("enableServiceLinks") is not False:
        yield f"{one}: its environment tells of all services"
    yield from (f"{one}: {name}" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name))
    yield from _volumes(one, may_see_nodes="hostPath" in exempt)
    for container in one.containers:
        yield from _rights(f"{one} {container['name']}", container)


def _volumes(one: Pods, *, may_see_nodes: bool) -> Iterator[str]:
    for volume in one.spec.get("volumes", []):
        if "hostPath" in volume and not may_see_nodes:
            yield f"{one}: sees {volume['hostPath']['path']} of its node"
        if "emptyDir" in volume and "sizeLimit" not in volume["emptyDir"]:
            yield f"{one}: volume {volume['name']} has no limit"


def _rights(where: str, container: Object) -> Iterator[str]:
    security = container.get("securityContext", {})
    if security.get("allowPrivilegeEscalation") is not False:
        yield f"{where}: may gain privileges"
    if not security.get("readOnlyRootFilesystem"):
        yield f"{where}: its root file system can be written"
    if security.get("capabilities") != {"drop": ["ALL"]} or security.get("privileged"):
        yield f"{where}: has capabilities"
    for kind in ("requests", "limits"):
        told = container.get("resources", {}).get(kind, {})
        if lacking := [name for name in _RESOURCES if name not in told]:
            yield f"{where}: no {kind} of {', '.join(lacking)}"


def _container(one: Pods, container: Object) -> Iterator[str]:
    where, ports = f"{one} {container['name']}", {port["name"] for port in container.get("ports", [])}
    for name in _PROBES if one.kind != "Job" else ():
        probe = container.get(name)
        if probe is None:
            yield f"{where}: no {name}"
        elif "httpGet" in probe and probe["httpGet"]["port"] not in ports:
            yield f"{where}: {name} asks port {probe['httpGet']['port']}, which it has not"
    for variable in container.get("env", []):
        name, words = variable["name"], set(variable["name"].lower().split("_"))
        if _SECRET & words and "access" not in words and not name.endswith(("_FILE", "_TLS_KEY")):
            yield f"{where}: {name} would hold a secret: name a file by {name}_FILE"


def _images(made: Manifests) -> Iterator[str]:
    held: dict[str, str] = {}
    for one in made.pods:
        for container in one.containers:
            image, _, digest = container["image"].partition("@")
            name, _, tag = image.rpartition(":") if ":" in image.rsplit("/", 1)[-1] else (image, "", "")
            if not digest and tag in {"", "latest"}:
                yield f"{one}: image {container['image']} is held to no version"
            if not digest and not name.rpartition("/")[2].startswith("firetrial-"):
                yield f"{one}: image {container['image']} is upstream's, and held to no digest"
            if held.setdefault(name, container["image"]) != container["image"]:
                yield f"{one}: image {container['image']}, elsewhere {held[name]}"


def _standards(made: Manifests) -> Iterator[str]:
    """What the pod security standard of a namespace would refuse, and what no namespace makes up for."""
    label = "pod-security.kubernetes.io/enforce"
    levels = {one["metadata"]["name"]: one["metadata"]["labels"].get(label) for one in made.of("Namespace")}
    yield from (f"Namespace {name}: enforces no pod security standard" for name in levels if not levels[name])
    for one in made.pods:
        told = ", ".join(sorted(widened(one)))
        if one.namespace not in levels:
            yield f"{one}: nobody makes its namespace"
        if told and levels.get(one.namespace) == "restricted":
            yield f"{one}: {told} is refused by the standard of its namespace"
        if told and one.spec.get("hostUsers") is not False:
            yield f"{one}: {told} without a user namespace of its own (hostUsers: false)"


def widened(one: Pods) -> set[str]:
    """What a pod takes beyond the restricted standard, of what is left where it has no rights."""
    profile = one.spec.get("securityContext", {}).get("appArmorProfile", {}).get("type")
    unmasked = any(c.get("securityContext", {}).get("procMount") == "Unmasked" for c in one.containers)
    told = {"appArmor": profile == "Unconfined", "procMount": unmasked}
    return {name for name, wide in told.items() if wide}

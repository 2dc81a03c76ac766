"""Whether what pods are told to speak to is there, answers there, and may be reached from where they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

import kubernetes_network
from kubernetes_objects import Manifests, Object, Pods, named

_LISTENS = frozenset({"FIRETRIAL_RPC_ADDRESS", "FIRETRIAL_METRICS_ADDRESS"})
_ADDRESS = re.compile(r"(?:[a-z0-9+]+://)?([a-z0-9.-]+):(\d+)")


def faults(made: Manifests) -> Iterator[str]:
    """Of settings that name an address in this installation, and of what scalers ask. Others are outside."""
    ways = kubernetes_network.ways(made)
    for one in made.pods:
        for container in one.containers:
            for variable, value in made.environment(one, container).items():
                if variable.endswith(("_ADDRESS", "_URL")) and variable not in _LISTENS:
                    for host, port in _ADDRESS.findall(value):
                        where = f"{one} {container['name']}: {variable}"
                        yield from _reached(where, one, (host, int(port)), made, ways)
    for scaler in made.of("ScaledObject"):
        for trigger in scaler["spec"]["triggers"]:
            host, port = trigger["metadata"]["natsServerMonitoringEndpoint"].rsplit(":", 1)
            name, *space = host.removesuffix(".svc").split(".")
            if host.endswith(".svc") and not _pods(name, int(port), space[0], made):
                yield f"{named(scaler)}: nothing answers at {host}:{port}"


def _reached(
    where: str, one: Pods, address: tuple[str, int], made: Manifests, ways: set[kubernetes_network.Way]
) -> Iterator[str]:
    host, port = address
    if "." in host:
        return
    there = _pods(host, port, one.namespace, made)
    if not there:
        yield f"{where} names {host}:{port}, where nothing answers"
    for other, at in there:
        way = (f"{one.namespace}/{one.name}", f"{other.namespace}/{other.name}", at)
        if way not in ways:
            yield f"{where} names {host}:{port}, which it may not reach"


def _pods(name: str, port: int, namespace: str, made: Manifests) -> list[tuple[Pods, int]]:
    """The pods behind a port of a Service, each with its own port."""
    service: Object | None = made.named("Service", namespace).get(name)
    if service is None:
        return []
    if service["spec"].get("type") == "ExternalName":
        target, place = service["spec"]["externalName"].split(".")[:2]
        return _pods(target, port, place, made)
    selector = {"matchLabels": service["spec"]["selector"]}
    return [
        (one, one.ports[told["targetPort"]])
        for told in service["spec"]["ports"]
        for one in made.pods
        if told["port"] == port
        and one.namespace == namespace
        and kubernetes_network.selects(selector, one.labels)
        and told["targetPort"] in one.ports
    ]

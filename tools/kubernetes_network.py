"""Who reaches whom in rendered manifests, as their NetworkPolicies say: both ends must let it be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from kubernetes_objects import Manifests, Object, Pods, named

Way = tuple[str, str, int]
"""From pods, to pods, by a port; pods as namespace/workload."""
_NAME = "kubernetes.io/metadata.name"
_ENDS = {"Egress": ("egress", "to"), "Ingress": ("ingress", "from")}


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector means something with these labels. {} means everything."""
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    tests: dict[str, Callable[[str, list[str]], bool]] = {
        "In": lambda key, values: labels.get(key) in values,
        "NotIn": lambda key, values: labels.get(key) not in values,
        "Exists": lambda key, _: key in labels,
        "DoesNotExist": lambda key, _: key not in labels,
    }
    told = selector.get("matchExpressions", [])
    return all(tests[one["operator"]](one["key"], one.get("values", [])) for one in told)


def allowed(made: Manifests, direction: str) -> set[Way]:
    """What one direction of the policies, Egress or Ingress, allows between workloads."""
    rules, end = _ENDS[direction]
    found = set()
    for policy in made.of("NetworkPolicy"):
        own = _own(policy, made.pods)
        for rule in policy["spec"].get(rules, []):
            for mine, other, port in product(own, _peers(rule.get(end), policy, made), rule.get("ports", [])):
                a, b = (mine, other) if direction == "Egress" else (other, mine)
                found.add((f"{a.namespace}/{a.name}", f"{b.namespace}/{b.name}", port["port"]))
    return found


def _own(policy: Object, pods: list[Pods]) -> list[Pods]:
    """The pods that a policy is about."""
    place, selector = policy["metadata"]["namespace"], policy["spec"]["podSelector"]
    return [one for one in pods if one.namespace == place and selects(selector, one.labels)]


def _peers(peers: list[Object] | None, policy: Object, made: Manifests) -> list[Pods]:
    """The pods that a rule means; without peers, everybody."""
    if peers is None:
        return made.pods
    spaces = {
        one["metadata"]["name"]: {_NAME: one["metadata"]["name"], **one["metadata"]["labels"]}
        for one in made.of("Namespace")
    }

    def means(peer: Object, one: Pods) -> bool:
        if "ipBlock" in peer:
            return False
        space = peer.get("namespaceSelector")
        here = one.namespace == policy["metadata"]["namespace"]
        near = here if space is None else selects(space, spaces.get(one.namespace, {}))
        return near and selects(peer.get("podSelector", {}), one.labels)

    return [one for one in made.pods if any(means(peer, one) for peer in peers)]


def ways(made: Manifests) -> set[Way]:
    """Connections between workloads that both ends allow, to ports on which the second listens."""
    listens = {f"{one.namespace}/{one.name}": set(one.ports.values()) for one in made.pods}
    both = allowed(made, "Egress") & allowed(made, "Ingress")
    return {way for way in both if way[2] in listens[way[1]]}


def faults(made: Manifests) -> Iterator[str]:
    """Open namespaces, policies of nobody, open ports, connections that one end alone allows."""
    closed, published = set(), set()
    for policy in made.of("NetworkPolicy"):
        spec, place = policy["spec"], policy["metadata"]["namespace"]
        if spec["podSelector"] == {} and {*spec["policyTypes"]} == {*_ENDS}:
            closed.add(place)
        elif not _own(policy, made.pods):
            yield f"{named(policy)}: selects no pod"
        for rule in (*spec.get("ingress", []), *spec.get("egress", [])):
            if not rule.get("ports"):
                yield f"{named(policy)}: a rule without ports opens all of them"
        published |= {
            (f"{one.namespace}/{one.name}", port["port"])
            for rule in spec.get("ingress", [])
            for one, port in product(_own(policy, made.pods), rule.get("ports", []))
            if "from" not in rule
        }
    yield from (
        f"Namespace {one}: no NetworkPolicy closes it" for one in {p.namespace for p in made.pods} - closed
    )
    out, into = allowed(made, "Egress"), allowed(made, "Ingress")
    for a, b, port in sorted(out - into):
        yield f"{a} may go out to {b}:{port}, which does not let it in"
    for a, b, port in sorted(into - out):
        if (b, port) not in published:
            yield f"{b}:{port} lets {a} in, which may not go out to it"

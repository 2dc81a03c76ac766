"""What must hold of runners: nobody is ended in the middle, runs find room, and each pool's work is seen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kubernetes_objects import Manifests, Object, Pods, named

_UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_STOPPING_S = 5
"""Seconds that a service takes to end after its drain."""
_STORING_S = 300
"""Seconds to store what a run left, at the least."""
_WALL = "FIRETRIAL_RUNNER_MAX_WALL_S"
_WORK = ("nats-jetstream", "FIRETRIAL", "FT_WORK")


def faults(made: Manifests) -> Iterator[str]:
    told = [(one, made.environment(one, one.spec["containers"][0])) for one in made.pods if one.serves]
    for one, environ in told:
        yield from _draining(one, environ)
    walls = {str(one): environ[_WALL] for one, environ in told if _WALL in environ}
    if len(set(walls.values())) > 1:  # the front would take runs that no runner may give their time
        yield f"{_WALL} differs: {walls}"
    for one, environ in told:
        if one.works:
            yield from _room(one, environ)
            yield from _pool(one, environ, made)
    names = {one.name for one in made.pods if one.works}
    for scaler in made.of("ScaledObject"):
        if (target := scaler["spec"]["scaleTargetRef"]["name"]) not in names:
            yield f"{named(scaler)}: there is no {target} to scale"


def quantity(text: str) -> float:
    """A resource's amount, in cores or bytes. Raises ValueError."""
    match = re.fullmatch(r"([0-9.]+)(m|Ki|Mi|Gi|Ti|)", text)
    if match is None:
        raise ValueError(f"{text!r} is no quantity")
    return float(match[1]) / 1000 if match[2] == "m" else float(match[1]) * _UNITS[match[2]]


def _draining(one: Pods, environ: Mapping[str, str]) -> Iterator[str]:
    """Whoever is ended is given the time to end, and a runner that of its longest run."""
    stop = (
        one.spec["containers"][0].get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", [])
    )
    drain = float(environ.get("FIRETRIAL_DRAIN", "20"))
    least = (float(stop[1]) if stop[:1] == ["sleep"] else 0) + drain + _STOPPING_S
    if one.spec.get("terminationGracePeriodSeconds", 30) < least:
        yield f"{one}: is killed before it has drained ({least:g} s)"
    if one.works and drain < float(environ[_WALL]) + _STORING_S:
        yield f"{one}: its drain is shorter than the longest run (and {_STORING_S} s to store it)"


def _room(one: Pods, environ: Mapping[str, str]) -> Iterator[str]:
    """As many at a time as there may be, each with what it may take."""
    slots, tests = (int(environ[f"FIRETRIAL_RUNNER_{name}"]) for name in ("SLOTS", "TESTS"))
    limits = one.spec["containers"][0]["resources"]["limits"]
    home = next(each["emptyDir"]["sizeLimit"] for each in one.spec["volumes"] if each["name"] == "home")
    for name, at_once, room in (
        ("MAX_MEMORY_BYTES", slots + tests, limits["memory"]),
        ("MAX_DISK_BYTES", slots + tests, home),
        ("MAX_CPUS", slots, limits["cpu"]),
    ):
        if at_once * float(environ[f"FIRETRIAL_RUNNER_{name}"]) > quantity(room):
            yield f"{one}: {at_once} at a time with {name} each need more than {room}"
    if quantity(home) > quantity(limits["ephemeral-storage"]):
        yield f"{one}: its home is larger than its limit of ephemeral-storage"


def _pool(one: Pods, environ: Mapping[str, str], made: Manifests) -> Iterator[str]:
    """A pool has one scaler, which sees its work before there is a runner."""
    pool = environ["FIRETRIAL_RUNNER_POOL"]
    prepared = {
        arg for pods in made.pods for c in pods.containers if c["name"] == "pools" for arg in c["args"]
    }
    if one.labels.get("firetrial.pool") != pool:
        yield f"{one}: its label says another pool than its environment ({pool})"
    if pool not in prepared:
        yield f"{one}: the job `setup` makes no consumers for {pool}: KEDA would not see its work"
    if "replicas" in made.named(one.kind, one.namespace)[one.name]["spec"]:
        yield f"{one}: says how many there are, which KEDA does"
    scalers = made.named("ScaledObject", one.namespace).values()
    own = [scaler for scaler in scalers if scaler["spec"]["scaleTargetRef"]["name"] == one.name]
    if len(own) != 1:
        yield f"{one}: {len(own)} ScaledObjects, not one"
    for scaler in own:
        yield from _triggers(scaler, pool, environ)


def _triggers(scaler: Object, pool: str, environ: Mapping[str, str]) -> Iterator[str]:
    wanted = {
        f"runner-{pool}": environ["FIRETRIAL_RUNNER_SLOTS"],
        f"runner-test-{pool}": environ["FIRETRIAL_RUNNER_TESTS"],
    }
    asked = [trigger["metadata"] for trigger in scaler["spec"]["triggers"]]
    found = {each["consumer"]: each["lagThreshold"] for each in asked}
    if found != wanted:
        yield f"{named(scaler)}: looks at {found}, and the pool has {wanted}"
    for trigger, each in zip(scaler["spec"]["triggers"], asked, strict=True):
        if (trigger["type"], each["account"], each["stream"]) != _WORK:
            yield f"{named(scaler)}: asks for {trigger['type']} {each['account']}/{each['stream']}"
        if each.get("activationLagThreshold", "0") != "0" or trigger.get("metricType") != "AverageValue":
            yield f"{named(scaler)}: {each['consumer']} would leave work that waits to nobody"
    if scaler["spec"].get("minReplicaCount") != 0:
        yield f"{named(scaler)}: is never scaled to none"

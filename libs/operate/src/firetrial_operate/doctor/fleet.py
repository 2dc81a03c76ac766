"""What goes on: runners that are there, work that waits for none, readers that fell behind, dead letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version

from firetrial_kit.attendance import Attendant
from firetrial_kit.errors import FiretrialError
from firetrial_kit.events import WORK
from firetrial_kit.figures import BrokerFigures, WorkFigures
from firetrial_kit.jetstream import reach
from firetrial_kit.kv import JetStreamState
from firetrial_operate import printing
from firetrial_operate.admin import broker
from firetrial_operate.admin.runners import BUCKET, there
from firetrial_operate.doctor.checks import BrokenError, Check, Told
from firetrial_operate.doctor.connection import Connection
from firetrial_operate.doctor.sights import Sights

_PATIENCE_S = 60.0
"""Seconds that work may wait where there is no runner: one may be on its way."""
_BEHIND_S = 600.0
_SEE = "firetrial admin consumers and the service's log say more"


def checks(sights: Sights) -> Iterator[Check]:
    """By the operator's eyes alone: no service sees all of it."""
    if not sights.installation.first.is_operator:
        return
    for name, look in (("runners", _runners), ("consumers", _consumers), ("dead-letters", _dead)):
        yield Check(name, partial(look, sights), needs=("broker.streams",))
    yield Check("versions", partial(_versions, sights), later=("runners", "token"))


async def _runners(sights: Sights) -> Told:
    connection = sights.connections["operator"]
    try:
        bucket = await reach(BUCKET, connection.js.key_value(BUCKET))
        alive = await there(JetStreamState(connection.client, BUCKET, bucket), datetime.now(UTC))
        work = (await BrokerFigures(connection.client).read()).work
    except FiretrialError as error:
        raise BrokenError(error.message, "see the broker's log") from None
    sights.versions |= {f"runner {one.instance}": one.version for one in alive}
    return taken(alive, work)


def taken(alive: Sequence[Attendant], work: Sequence[WorkFigures]) -> Told:
    """Whether somebody is there for work that waits. Raises BrokenError where some has waited a minute."""
    pools = Counter(one.pool for one in alive if not one.draining)
    stuck = [one for one in work if one.waiting and one.kind == "run" and one.pool not in pools]
    slots = f"{sum(one.busy for one in alive)} of {sum(one.slots for one in alive)} slots taken"
    by_pool = ", ".join(f"{count} in {pool}" for pool, count in sorted(pools.items()))
    detail = f"{by_pool or 'all drain'}; {slots}" if alive else "none is there"
    waits = [f"{one.waiting} wait for pool {one.pool} since {printing.span(one.oldest_s)}" for one in stuck]
    told, cure = "; ".join([detail, *waits]), "start a runner of that pool (FIRETRIAL_RUNNER_POOL)"
    if any(one.oldest_s > _PATIENCE_S for one in stuck):
        raise BrokenError(told, cure)
    return Told(told, cure if stuck else "")


async def _consumers(sights: Sights) -> Told:
    """Warns of those that are not as the code would make them, and of messages that nobody settles."""
    connection = sights.connections["operator"]
    try:
        names = await _names(connection)
        found = [one for name in names for one in await broker.readers(connection.js, name)]
    except FiretrialError as error:
        raise BrokenError(error.message, "see the broker's log") from None
    drift = [f"{one.name}: {fault}" for one in found for fault in one.drift]
    behind = [
        f"{one.name}: the oldest of {one.pending + one.unsettled} has waited {printing.span(age)}"
        for one in found
        if one.durable and one.stream != WORK and (age := broker.age(one.oldest) or 0) > _BEHIND_S
    ]
    told = [*drift, *behind]
    return Told("; ".join(told[:5]), _SEE) if told else Told(f"{len(found)}, none behind")


async def _names(connection: Connection) -> list[str]:
    infos = await broker.stream_infos(connection.js)
    return [str(info.config.name) for info in infos]


async def _dead(sights: Sights) -> Told:
    connection = sights.connections["operator"]
    told = await connection.ask("STREAM.INFO.FT_DEAD", {"subjects_filter": ">"})
    subjects = told["state"].get("subjects") or {}
    if not subjects:
        return Told("none")
    most = sorted(subjects.items())[:5]
    by = ", ".join(f"{count} of {name.removeprefix('ft.dead.')}" for name, count in most)
    return Told(by, "firetrial admin dead list shows them; once mended, firetrial admin dead requeue")


async def _versions(sights: Sights) -> Told:
    """One, or two while an upgrade is under way."""
    known = {**sights.versions, "this program": version("firetrial-operate")}
    by_version = Counter(known.values())
    told = ", ".join(f"{number} ({count})" for number, count in sorted(by_version.items()))
    if len(by_version) > 1:
        cure = "end the upgrade: N speaks to N−1, and to nothing older (docs/compatibility.md)"
        return Told(f"mixed: {told}", cure)
    return Told(told)

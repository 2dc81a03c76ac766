"""Deleting an experiment, with proof.

Objects go before records: as long as the runner's record of the experiment stands, what is its own can be
listed anew, so that a deletion that was cut off is finished by the next one. What is about to go is noted
before the first object goes, and the proof is made of all notes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from firetrial_kit.dead import DEAD
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.events import EVENTS, token
from firetrial_kit.ids import digest
from firetrial_kit.jetstream import reach
from firetrial_kit.keeping import Belongings, Installation, Steward
from firetrial_kit.kv import encode
from firetrial_kit.objects import Objects
from firetrial_operate.access import Access
from firetrial_operate.admin.dead import told
from firetrial_operate.admin.services import SERVICES, installation, stewards
from firetrial_operate.admin.stored import messages, subjects

_FOLDER = "deletions"
_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Gone:
    """An object as it was before it went."""

    uri: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What goes of an experiment: objects, records by service, facts by subject, dead letters by their place;
    and what stays, with the reason.
    """

    experiment: str
    runs: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    records: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    subjects: Mapping[str, int] = field(default_factory=dict)
    letters: tuple[int, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    ended: datetime | None = None


class Deleting:
    """Deletes experiments of an installation."""

    def __init__(self, access: Access, known: Sequence[Steward], to: Mapping[str, Installation]) -> None:
        self._access, self._stewards, self._to = access, known, to

    @classmethod
    async def open(cls, access: Access) -> Deleting:
        """Raises PRECONDITION where a service is not installed here: it alone knows what is its own."""
        known = stewards(*SERVICES)
        return cls(access, known, {one.service: await installation(access, one.service) for one in known})

    async def experiments(self) -> list[str]:
        """All that the runner has a record of."""
        keys = await self._to["runner"].state.keys("experiment")
        return [key.partition(".")[2] for key in keys]

    async def plan(
        self, experiment: str, *, despite_release: bool = False, before: datetime | None = None
    ) -> Plan:
        """What would go; nothing where it did not end `before` then.

        Raises NOT_FOUND, and PRECONDITION for one that runs or that a release protects.
        """
        found = await self._belongings(experiment)
        own = {name: tuple(await self._there(name, one.records)) for name, one in found.items()}
        nothing = not any(own.values()) and not any(one.objects for one in found.values())
        if nothing and await self._noted(experiment):
            return Plan(experiment)  # all that was left to do is the proof
        if nothing:
            fault = Fault("experiment", experiment, "must be one that exists")
            raise FiretrialError(Reason.NOT_FOUND, f"there is no experiment {experiment!r}", faults=[fault])
        _check(found.values(), despite_release=despite_release)
        ended = max((one.ended for one in found.values() if one.ended), default=None)
        if before is not None and (ended is None or ended >= before):
            return Plan(experiment, ended=ended)
        copies = {
            f"{one.bucket}/{one.place(key)}" for one in self._stewards for key in found[one.service].records
        }
        runs = {id_ for one in found.values() for id_ in one.runs}
        return Plan(
            experiment,
            runs=tuple(sorted(runs)),
            objects=tuple(
                sorted({uri for one in found.values() for uri in one.objects} | await self._stored(copies))
            ),
            records=own,
            subjects=await self._subjects({token(id_) for id_ in (experiment, *runs)}),
            letters=tuple(await self._letters({experiment, *runs})),
            others=tuple(dict.fromkeys(other for one in found.values() for other in one.others)),
            ended=ended,
        )

    async def delete(self, plan: Plan) -> dict[str, Any]:
        """Take away all of a plan, and prove it. Raises INTERNAL where something is still there."""
        gone = [await self._measured(uri) for uri in plan.objects]
        note = {
            "experiment": plan.experiment,
            "noted_at": datetime.now(UTC).isoformat(),
            "objects": [asdict(one) for one in gone if one],
            "records": {name: list(keys) for name, keys in plan.records.items()},
            "facts": dict(plan.subjects),
            "dead_letters": list(plan.letters),
        }
        await self._put(f"{_FOLDER}/{plan.experiment}/notes/{digest(note, length=16)}.json", note)
        for subject in plan.subjects:
            await self._purge(EVENTS, subject)
        for place in plan.letters:
            await reach(DEAD, self._access.js.delete_msg(DEAD, place))
        for uri in plan.objects:
            await self._access.objects.delete(uri)
        # The experiment's own record goes last: by it the others are found again.
        for name in sorted(plan.records, key=lambda name: name == "runner"):
            for key in plan.records[name]:
                await self._purge(f"KV_ft_{name}", f"$KV.ft_{name}.{encode(key)}")
        return await self._prove(plan)

    async def _prove(self, plan: Plan) -> dict[str, Any]:
        """List everything again, and store what was found to be gone."""
        left = await self._left(plan)
        proof = {
            "experiment": plan.experiment,
            "proved_at": datetime.now(UTC).isoformat(),
            "removed": await self._notes(plan.experiment),
            "remains": [{"what": what, "why": why} for what, why in plan.others],
            "listed_again": {"found": left},
        }
        proof["sha256"] = digest(proof)
        await self._put(f"{_FOLDER}/{plan.experiment}/proof.json", proof)
        if left:
            raise FiretrialError(
                Reason.INTERNAL, f"{plan.experiment} is not gone, delete it again: {', '.join(left[:5])}"
            )
        return proof

    async def _left(self, plan: Plan) -> list[str]:
        """What of a plan is still there, and what came since it was made."""
        objects = self._access.objects
        left = sorted(
            await self._stored(plan.objects)
            | {
                f"{bucket}/{key}"
                for bucket, under in _folders(plan)
                for key in await objects.keys(bucket, under)
            }
        )
        for name, keys in plan.records.items():
            left += [f"{name}: {key}" for key in await self._there(name, keys)]
        return [*left, *await self._subjects({token(id_) for id_ in (plan.experiment, *plan.runs)})]

    async def _notes(self, experiment: str) -> dict[str, Any]:
        """All that went, over every attempt."""
        objects: dict[str, Any] = {}
        records: set[tuple[str, str]] = set()
        facts: dict[str, int] = {}
        letters: set[int] = set()
        for key in await self._noted(experiment):
            note = json.loads(await self._access.objects.get(f"results/{key}"))
            objects |= {one["uri"]: one for one in note["objects"]}
            records |= {(name, record) for name, keys in note["records"].items() for record in keys}
            facts = {**note["facts"], **facts}
            letters |= {*note["dead_letters"]}
        return {
            "objects": [objects[uri] for uri in sorted(objects)],
            "bytes": sum(one["size"] for one in objects.values()),
            "records": [f"{name}: {record}" for name, record in sorted(records)],
            "facts": facts,
            "dead_letters": sorted(letters),
        }

    async def _noted(self, experiment: str) -> list[str]:
        return await self._access.objects.keys("results", f"{_FOLDER}/{experiment}/notes/")

    async def _belongings(self, experiment: str) -> dict[str, Belongings]:
        """By service; the runner is asked first, for it knows the runs."""
        order = sorted(self._stewards, key=lambda one: one.service != "runner")
        found: dict[str, Belongings] = {}
        for one in order:
            runs = found["runner"].runs if "runner" in found else ()
            found[one.service] = await one.belongings(self._to[one.service], experiment, runs)
        return found

    async def _there(self, service: str, keys: Iterable[str]) -> list[str]:
        state = self._to[service].state
        return [key for key in keys if await state.get(key) is not None]

    async def _stored(self, uris: Iterable[str]) -> set[str]:
        return {uri for uri in uris if await self._access.objects.stat(uri) is not None}

    async def _subjects(self, tokens: set[str]) -> dict[str, int]:
        """Subjects of facts about these, and how many there are on each."""
        return {
            subject: count
            async for subject, count in subjects(self._access.client, EVENTS)
            if subject.rpartition(".")[2] in tokens
        }

    async def _letters(self, ids: set[str]) -> list[int]:
        return [
            message.sequence
            async for message in messages(self._access.js, DEAD, headers_only=True)
            if told(message).headers.get("ce-subject", "") in ids
        ]

    async def _measured(self, uri: str) -> Gone | None:
        ref = await measured(self._access.objects, uri)
        return ref and Gone(uri, *ref)

    async def _purge(self, stream: str, subject: str) -> None:
        await reach(subject, self._access.js.purge_stream(stream, subject=subject))

    async def _put(self, key: str, value: Any) -> None:
        data = json.dumps(value, sort_keys=True, default=str).encode()
        await self._access.objects.put("results", key, data, _JSON)


async def measured(objects: Objects, uri: str) -> tuple[str, int] | None:
    """sha256 and size of what lies there; None for nothing. Where the store knows no hash it is read."""
    ref = await objects.stat(uri)
    if ref is None:
        return None
    if ref.sha256:
        return ref.sha256, ref.size
    found, size = hashlib.sha256(), 0
    async for piece in objects.stream(uri):
        found.update(piece)
        size += len(piece)
    return found.hexdigest(), size


def _folders(plan: Plan) -> set[tuple[str, str]]:
    """(bucket, prefix) of the folders that are named for the experiment or one of its runs."""
    ids, found = {plan.experiment, *plan.runs}, set()
    for uri in plan.objects:
        bucket, *parts = uri.split("/")[:-1]
        if named := [place for place, part in enumerate(parts) if part in ids]:
            found.add((bucket, "/".join(parts[: named[0] + 1]) + "/"))
    return found


def _check(found: Iterable[Belongings], *, despite_release: bool) -> None:
    """Raises PRECONDITION."""
    for one in found:
        if one.running:
            raise FiretrialError(Reason.PRECONDITION, one.running)
        if one.protected and not despite_release:
            raise FiretrialError(
                Reason.PRECONDITION, f"it belongs to {one.protected}, whose scores rest on it"
            )

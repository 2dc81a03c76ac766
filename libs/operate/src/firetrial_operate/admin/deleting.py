"""Deleting an experiment, with proof.

Objects go before records: as long as the runner's record of the experiment stands, what is its own can be
listed anew, so that a deletion that was cut off is finished by the next one. What is about to go is noted
before the first object goes, and the proof is made of all notes.

A record goes by a mark in its place, which stays. A bucket forgets older values of a key without writing that
down: were the last one purged, a broker that is killed soon afterwards would come back with the one before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from firetrial_kit.dead import DEAD
from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.events import EVENTS, token
from firetrial_kit.ids import digest
from firetrial_kit.jetstream import reach
from firetrial_kit.keeping import Belongings, Installation, Steward
from firetrial_kit.objects import Objects
from firetrial_operate.access import Access
from firetrial_operate.admin.dead import told
from firetrial_operate.admin.services import SERVICES, installation, stewards
from firetrial_operate.admin.stored import messages, subjects

_FOLDER = "deletions"
_JSON = "application/json"
_AUDIT = ("facts call_audited, the stream FT_AUDIT", "who called what is kept for as long as it was set")


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

    @property
    def what(self) -> list[str]:
        """All that goes, by its names."""
        records = [f"{name}: {key}" for name, keys in self.records.items() for key in keys]
        return [*self.objects, *records, *self.subjects, *(f"dead letter {place}" for place in self.letters)]

    @property
    def short(self) -> str:
        """How much that is."""
        records, facts = sum(map(len, self.records.values())), sum(self.subjects.values())
        return f"{len(self.objects)} objects, {records} records, {facts} facts"


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
        return [key.partition(".")[2] for key in await self._there("runner", keys)]

    async def plan(
        self, experiment: str, *, despite_release: bool = False, before: datetime | None = None
    ) -> Plan:
        """What would go; nothing where it did not end `before` then.

        Raises NOT_FOUND, and PRECONDITION for one that runs or that a release protects.
        """
        found = await self._belongings(experiment)
        own = {name: tuple(await self._there(name, one.records)) for name, one in found.items()}
        if not any(own.values()) and not any(one.objects for one in found.values()):
            return await self._left(_noted(experiment, await self._notes(experiment)))
        if not await self._begun(experiment):
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
        if plan.what:
            await self._note(plan)
        for subject in plan.subjects:
            await self._purge(EVENTS, subject)
        for place in plan.letters:
            await reach(DEAD, self._access.js.delete_msg(DEAD, place))
        with self._access.progress.of("objects deleted", len(plan.objects)) as part:
            for uri in plan.objects:
                await part.after(self._access.objects.delete(uri))
        with self._access.progress.of("records deleted", sum(map(len, plan.records.values()))) as part:
            # The experiment's own record goes last: by it the others are found again.
            for name in sorted(plan.records, key=lambda name: name == "runner"):
                for key in plan.records[name]:
                    await part.after(self._to[name].state.delete(key))
        return await self._prove(plan.experiment)

    async def _note(self, plan: Plan) -> None:
        gone = []
        with self._access.progress.of("objects noted", len(plan.objects)) as part:
            for uri in plan.objects:
                gone.append(one := await self._measured(uri))
                part.step(size=one.size if one else 0)
        note = {
            "experiment": plan.experiment,
            "noted_at": datetime.now(UTC).isoformat(),
            "runs": list(plan.runs),
            "objects": [asdict(one) for one in gone if one],
            "records": {name: list(keys) for name, keys in plan.records.items()},
            "facts": dict(plan.subjects),
            "dead_letters": list(plan.letters),
            "remains": [list(one) for one in plan.others],
        }
        await self._put(f"{_FOLDER}/{plan.experiment}/notes/{digest(note, length=16)}.json", note)

    async def _prove(self, experiment: str) -> dict[str, Any]:
        """List everything again that was noted, and store what was found to be gone."""
        notes = await self._notes(experiment)
        noted = _noted(experiment, notes)
        left = await self._left(noted)
        proof = {
            "experiment": experiment,
            "proved_at": datetime.now(UTC).isoformat(),
            "removed": _removed(noted, notes),
            "remains": [{"what": what, "why": why} for what, why in (*noted.others, _AUDIT)],
            "listed_again": {"found": left.what},
        }
        proof["sha256"] = digest(proof)
        await self._put(f"{_FOLDER}/{experiment}/proof.json", proof)
        if left.what:
            raise FiretrialError(
                Reason.INTERNAL, f"{experiment} is not gone, delete it again: {', '.join(left.what[:5])}"
            )
        return proof

    async def _left(self, plan: Plan) -> Plan:
        """What of a plan is still there, and what came since it was made."""
        lying = {
            f"{bucket}/{key}"
            for bucket, under in _folders(plan)
            for key in await self._access.objects.keys(bucket, under)
        }
        ids = {plan.experiment, *plan.runs}
        return replace(
            plan,
            objects=tuple(sorted(lying | await self._stored(plan.objects))),
            records={name: tuple(await self._there(name, keys)) for name, keys in plan.records.items()},
            subjects=await self._subjects(set(map(token, ids))),
            letters=tuple(await self._letters(ids)),
        )

    async def _begun(self, experiment: str) -> bool:
        """Whether a deletion was cut off: records of some runs may be gone, as if these had not ended."""
        notes = await self._notes(experiment)
        uri = f"results/{_FOLDER}/{experiment}/proof.json"
        proof = await self._access.objects.get(uri) if await self._stored([uri]) else b'{"proved_at": ""}'
        return bool(notes) and str(notes[-1]["noted_at"]) > str(json.loads(proof)["proved_at"])

    async def _notes(self, experiment: str) -> list[dict[str, Any]]:
        """What every attempt noted, the first one first."""
        keys = await self._access.objects.keys("results", f"{_FOLDER}/{experiment}/notes/")
        found = [json.loads(await self._access.objects.get(f"results/{key}")) for key in keys]
        return sorted(found, key=lambda note: str(note["noted_at"]))

    async def _belongings(self, experiment: str) -> dict[str, Belongings]:
        """By service; the runner is asked first, for it knows the runs."""
        order = sorted(self._stewards, key=lambda one: one.service != "runner")
        found: dict[str, Belongings] = {}
        for one in order:
            runs = found["runner"].runs if "runner" in found else ()
            found[one.service] = await one.belongings(self._to[one.service], experiment, runs)
        return found

    async def _there(self, service: str, keys: Collection[str]) -> list[str]:
        state = self._to[service].state
        with self._access.progress.of(f"records of the {service} looked for", len(keys)) as part:
            return [key for key in keys if await part.after(state.get(key)) is not None]

    async def _stored(self, uris: Collection[str]) -> set[str]:
        with self._access.progress.of("objects looked for", len(uris)) as part:
            return {uri for uri in uris if await part.after(self._access.objects.stat(uri)) is not None}

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


def _noted(experiment: str, notes: Sequence[dict[str, Any]]) -> Plan:
    """All that was to go, over every attempt. Raises NOT_FOUND where there was none."""
    if not notes:
        fault = Fault("experiment", experiment, "must be one that `firetrial status` lists")
        message = f"there is no experiment {experiment!r}: `firetrial status` lists them"
        raise FiretrialError(Reason.NOT_FOUND, message, faults=[fault])
    return Plan(
        experiment,
        runs=_all(notes, "runs"),
        objects=tuple(sorted({one["uri"] for note in notes for one in note["objects"]})),
        records={
            name: tuple(sorted({key for note in notes for key in note["records"].get(name, ())}))
            for name in dict.fromkeys(name for note in notes for name in note["records"])
        },
        subjects={subject: count for note in reversed(notes) for subject, count in note["facts"].items()},
        letters=_all(notes, "dead_letters"),
        others=tuple(dict.fromkeys(tuple(one) for note in notes for one in note.get("remains", ()))),
    )


def _all(notes: Sequence[dict[str, Any]], name: str) -> tuple[Any, ...]:
    return tuple(sorted({one for note in notes for one in note.get(name, ())}))


def _removed(noted: Plan, notes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """For the proof: each object as it was noted last."""
    objects = {one["uri"]: one for note in notes for one in note["objects"]}
    return {
        "objects": [objects[uri] for uri in noted.objects],
        "bytes": sum(one["size"] for one in objects.values()),
        "records": [f"{name}: {key}" for name, keys in sorted(noted.records.items()) for key in keys],
        "facts": noted.subjects,
        "dead_letters": list(noted.letters),
    }


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

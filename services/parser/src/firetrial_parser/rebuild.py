"""What lasts of the parser's state: all of it."""

from __future__ import annotations

from collections.abc import Collection

from firetrial_kit.keeping import Belongings, Installation, Steward
from firetrial_kit.records import Records
from firetrial_parser.records import RequestRecord


async def belongings(to: Installation, experiment_id: str, _: Collection[str]) -> Belongings:
    """What callers' request ids came to, where that is the experiment. Papers and tasks are others' too."""
    requests = Records(to.state, "request", RequestRecord)
    known = {id_: await requests.find(id_) for id_ in await requests.ids()}
    mine = [id_ for id_, record in known.items() if record and record.experiment_id == experiment_id]
    return Belongings(records=tuple(f"request.{id_}" for id_ in mine))


STEWARD = Steward("parser", "papers", belongings=belongings)

"""Tables of rows as Parquet in the object store, named by their content."""

from __future__ import annotations

import asyncio
import io
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sys import intern

import polars as pl

from firetrial_analyzer.columns import COLUMNS, SCHEMA
from firetrial_analyzer.outcomes import Slot
from firetrial_analyzer.record import Part
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import sha256
from firetrial_kit.objects import Objects

MEDIA_TYPE = "application/vnd.apache.parquet"
# Rows that are kept in memory, some 500 bytes each.
_HELD = 400_000


@dataclass(frozen=True, slots=True)
class Index:
    """Run → its judgements, and the slots that have ended."""

    judgements: Mapping[str, Sequence[str]]
    ended: frozenset[Slot]


def index(rows: pl.DataFrame) -> Index:
    judgements: dict[str, list[str]] = defaultdict(list)
    for run_id, judgement_id in rows.select("run_id", "judgement_id").iter_rows():
        judgements[run_id].append(judgement_id)
    slots = rows.filter(~pl.col("superseded")).select("task", "agent", "repeat").iter_rows()
    return Index(judgements, frozenset(Slot(intern(task), intern(agent), n) for task, agent, n in slots))


class Parts:
    """Written once and never changed. Parts that no record names are left behind by races and merges.

    They cost space and nothing else: whoever reads begins at a record.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._held: OrderedDict[str, pl.DataFrame] = OrderedDict()
        self._indices: dict[str, Index] = {}

    async def put(self, experiment_id: str, rows: pl.DataFrame) -> Part:
        """Stores `rows`; the same rows twice are stored once."""
        data = await asyncio.to_thread(parquet, rows)
        key = f"tables/{experiment_id}/{sha256(data)[:32]}.parquet"
        ref = await self._objects.put("results", key, data, MEDIA_TYPE)
        self._keep(ref.uri, rows)
        return Part(ref, len(rows))

    async def index(self, part: Part) -> Index:
        """What `get` would find, for looking up single rows."""
        if part.ref.uri not in self._indices:
            self._indices[part.ref.uri] = index(await self.get(part))
        return self._indices[part.ref.uri]

    async def get(self, part: Part) -> pl.DataFrame:
        """The rows of a part. Raises NOT_FOUND, or CORRUPT for what is no table of COLUMNS."""
        if (held := self._held.get(part.ref.uri)) is not None:
            self._held.move_to_end(part.ref.uri)
            return held
        data = await self._objects.get(part.ref.uri, sha256=part.ref.sha256, max_size=part.ref.size)
        rows = await asyncio.to_thread(read, data)
        self._keep(part.ref.uri, rows)
        return rows

    def _keep(self, uri: str, rows: pl.DataFrame) -> None:
        self._held[uri] = rows
        while sum(map(len, self._held.values())) > _HELD and len(self._held) > 1:
            uri, _ = self._held.popitem(last=False)
            self._indices.pop(uri, None)


def parquet(rows: pl.DataFrame) -> bytes:
    """The same rows in the same order give the same bytes, with the same version of Polars."""
    out = io.BytesIO()
    rows.write_parquet(out, compression="zstd", metadata={"schema": SCHEMA})
    return out.getvalue()


def read(data: bytes) -> pl.DataFrame:
    """A table of COLUMNS; a column that it was written without is null. Raises CORRUPT."""
    try:
        rows = pl.read_parquet(io.BytesIO(data))
        missing = [
            pl.lit(None, type_).alias(name) for name, type_ in COLUMNS.items() if name not in rows.columns
        ]
        return rows.with_columns(missing).select(pl.col(name).cast(COLUMNS[name]) for name in COLUMNS)
    except pl.exceptions.PolarsError as error:
        raise FiretrialError(Reason.CORRUPT, f"it is no table of {SCHEMA}: {error}") from error

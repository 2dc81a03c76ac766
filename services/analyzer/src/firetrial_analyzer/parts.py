"""Tables of rows as Parquet in the object store, named by their content."""

from __future__ import annotations

import asyncio
import io
from collections import OrderedDict

import polars as pl

from firetrial_analyzer.columns import COLUMNS, SCHEMA
from firetrial_analyzer.record import Part
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.ids import sha256
from firetrial_kit.objects import Objects

MEDIA_TYPE = "application/vnd.apache.parquet"
# Rows that are kept in memory, some 500 bytes each.
_HELD = 400_000


class Parts:
    """Written once and never changed. Parts that no record names are left behind by races and merges.

    They cost space and nothing else: whoever reads begins at a record.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._held: OrderedDict[str, pl.DataFrame] = OrderedDict()

    async def put(self, experiment_id: str, rows: pl.DataFrame) -> Part:
        """Stores `rows`; the same rows twice are stored once."""
        data = await asyncio.to_thread(parquet, rows)
        uri = f"tables/{experiment_id}/{sha256(data)[:32]}.parquet"
        ref = await self._objects.put("results", uri, data, MEDIA_TYPE)
        self._keep(ref.uri, rows)
        return Part(ref, len(rows))

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
            self._held.popitem(last=False)


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

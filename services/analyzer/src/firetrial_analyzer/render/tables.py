"""The rows of a report for other programs: every attempt with the columns of `firetrial_analyzer.columns`."""

from __future__ import annotations

import polars as pl

from firetrial_analyzer.columns import COLUMNS, TIMES
from firetrial_analyzer.parts import parquet
from firetrial_analyzer.render import text
from firetrial_analyzer.table import attempts

# A spreadsheet takes a cell that starts so for a formula, also after blanks and in full width.
_FORMULA = tuple("=+-@＝＋－＠|%")
_TEXTS = tuple(name for name, type_ in COLUMNS.items() if type_ == pl.String())
_LISTS = tuple(name for name, type_ in COLUMNS.items() if isinstance(type_, pl.List))
# What needs no look at its characters: most texts are ids and names.
_PLAIN = r"^[A-Za-z0-9][A-Za-z0-9 ._:;,()/@-]*$"


def parquet_bytes(rows: pl.DataFrame) -> bytes:
    """One row for each attempt, that of its latest judgement, ordered by slot and attempt."""
    return parquet(attempts(rows))


def csv_bytes(rows: pl.DataFrame) -> bytes:
    """The same as CSV with a head: times in ISO 8601, lists with blanks between, empty for null.

    Text has its unseen characters spelled out and is never the start of a formula.
    """
    written = attempts(rows).with_columns(
        *(pl.col(name).dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ") for name in TIMES),
        *(pl.col(name).cast(pl.List(pl.String())).list.join(" ") for name in _LISTS),
    )
    safe = written.with_columns(
        _safe(written[name]) for name in (*_TEXTS, "judge_flags", "integrity_findings")
    )
    return safe.write_csv(line_terminator="\r\n").encode()


def _safe(column: pl.Series) -> pl.Series:
    """Each different text is looked at once."""
    strange = column.unique().drop_nulls().filter(~column.unique().drop_nulls().str.contains(_PLAIN))
    return column.replace(strange, [_cell(value) for value in strange])


def _cell(value: str) -> str:
    safe = text.shown(value)
    return f"'{safe}" if safe.startswith(_FORMULA) else safe

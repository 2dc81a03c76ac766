"""One report, six formats. Agent text is hostile: each format escapes what it would interpret."""

from collections.abc import Callable
from enum import StrEnum

import polars as pl

from firetrial_analyzer.report import Report


class Format(StrEnum):
    JSON = "json"
    HTML = "html"
    MARKDOWN = "md"
    LATEX = "latex"
    CSV = "csv"
    PARQUET = "parquet"


MEDIA_TYPES = {
    Format.JSON: "application/json",
    Format.HTML: "text/html; charset=utf-8",
    Format.MARKDOWN: "text/markdown; charset=utf-8",
    Format.LATEX: "application/x-tex",
    Format.CSV: "text/csv; charset=utf-8",
    Format.PARQUET: "application/vnd.apache.parquet",
}
# Formats that have a row for each run, and are made of the rows alone.
TABULAR = frozenset((Format.CSV, Format.PARQUET))


def render(report: Report, form: Format) -> bytes:
    """The report in one of the formats that are not TABULAR, as UTF-8: same report, same bytes."""
    return _renderer(form)(report).encode("utf-8")


def _renderer(form: Format) -> Callable[[Report], str]:
    # The page brings matplotlib, which takes a second to load; the others do not wait for it.
    if form is Format.HTML:
        from firetrial_analyzer.render.page import html  # noqa: PLC0415

        return html
    from firetrial_analyzer.render import document, latex, markdown  # noqa: PLC0415

    return {
        Format.JSON: document.json_text,
        Format.MARKDOWN: markdown.markdown,
        Format.LATEX: latex.latex,
    }[form]


def render_rows(rows: pl.DataFrame, form: Format) -> bytes:
    """The rows in one of the TABULAR formats: same rows, same bytes, in whatever order they came."""
    from firetrial_analyzer.render import tables  # noqa: PLC0415

    return {Format.CSV: tables.csv_bytes, Format.PARQUET: tables.parquet_bytes}[form](rows)

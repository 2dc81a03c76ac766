"""One report, six formats. Agent text is hostile: each format escapes what it would interpret."""

from collections.abc import Callable
from enum import StrEnum

from firetrial_analyzer.report import Report
from firetrial_kit.errors import Fault, FiretrialError, Reason


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
}


def render(report: Report, form: Format) -> bytes:
    """The report in one format, as UTF-8: same report, same bytes. Raises NOT_YET for Parquet."""
    return _renderer(form)(report).encode("utf-8")


def _renderer(form: Format) -> Callable[[Report], str]:
    # The page brings matplotlib, which takes a second to load; the tables do not wait for it.
    if form is Format.HTML:
        from firetrial_analyzer.render.page import html  # noqa: PLC0415

        return html
    from firetrial_analyzer.render import document, markdown, tables  # noqa: PLC0415

    renderers = {
        Format.JSON: document.json_text,
        Format.MARKDOWN: markdown.markdown,
        Format.LATEX: tables.latex,
        Format.CSV: tables.csv_text,
    }
    if form not in renderers:
        cure = f"take one of {', '.join(MEDIA_TYPES)}"
        raise FiretrialError(
            Reason.NOT_YET,
            f"reports as {form.value} are not made yet: {cure}",
            faults=[Fault("format", form.value, cure)],
        )
    return renderers[form]

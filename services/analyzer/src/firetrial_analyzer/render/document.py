"""The report as JSON, and back. The schema is that of `firetrial_analyzer.report`."""

import json
from functools import cache

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from firetrial_analyzer.report import Report


def json_text(report: Report) -> str:
    """Lone surrogates, which no UTF-8 can carry, become U+FFFD."""
    try:
        return _adapter().dump_json(report, indent=1).decode() + "\n"
    except PydanticSerializationError:
        text = json.dumps(_adapter().dump_python(report, mode="json"), ensure_ascii=False, indent=1)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") + "\n"


def from_json(text: str | bytes) -> Report:
    """Raises pydantic.ValidationError for what is no `firetrial.report/2`."""
    return _adapter().validate_json(text)


@cache
def _adapter() -> TypeAdapter[Report]:
    return TypeAdapter(Report)

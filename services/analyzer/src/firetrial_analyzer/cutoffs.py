"""Knowledge cutoffs of models, as data that people edit, and on which side of one a publication lies."""

import calendar
import json
import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from importlib.resources import files
from typing import Any

from firetrial_kit.errors import Fault, check, invalid

SCHEMA = "firetrial.cutoffs/1"
DATA = ("data", "cutoffs.json")
_DATE = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?")


class Side(StrEnum):
    """UNCLEAR: a date is not known, or is a month or year that the cutoff falls into."""

    BEFORE = "before"
    AFTER = "after"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Cutoff:
    """The last day that a model's training data reach, None if it is not known, and who says so."""

    model: str
    day: date | None
    source: str


@dataclass(frozen=True, slots=True)
class Published:
    """The first and the last day on which something may have been published."""

    first: date
    last: date


def shipped() -> dict[str, Cutoff]:
    """Model → cutoff, as packaged."""
    return read(files("firetrial_analyzer").joinpath(*DATA).read_text("utf-8"))


def read(text: str) -> dict[str, Cutoff]:
    """Model → cutoff from `{"schema", "models": {model: {"cutoff": "YYYY-MM-DD" or null, "source"}}}`.

    Raises INVALID with every fault.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise invalid("the cutoffs", [Fault("cutoffs", text[:40], f"must be JSON: {error}")]) from error
    given = document if isinstance(document, dict) else {}
    faults = []
    if given.get("schema") != SCHEMA:
        faults.append(Fault("schema", str(given.get("schema")), f"must be {SCHEMA}"))
    models = given.get("models")
    if not isinstance(models, dict):
        faults.append(Fault("models", str(models), "must be an object: model → cutoff and source"))
        models = {}
    read_ones = [_cutoff(model, entry, faults) for model, entry in models.items()]
    check("the cutoffs", faults)
    return {cutoff.model: cutoff for cutoff in read_ones}


def _cutoff(model: str, entry: Any, faults: list[Fault]) -> Cutoff:
    day, source = (entry.get("cutoff"), entry.get("source")) if isinstance(entry, dict) else (entry, None)
    span = published(day) if isinstance(day, str) else None
    if day is not None and (span is None or span.first != span.last):
        faults.append(
            Fault(f"models.{model}.cutoff", str(day), "must be a day YYYY-MM-DD, or null if unknown")
        )
    if not isinstance(source, str) or not source.strip():
        faults.append(Fault(f"models.{model}.source", str(source), "must say where the date is from"))
    return Cutoff(model, span.last if span else None, str(source))


def published(text: str) -> Published | None:
    """From YYYY-MM-DD, or YYYY-MM or YYYY, which are the whole month or year; None for anything else."""
    found = _DATE.fullmatch(text)
    if not found:
        return None
    year, month, day = (int(part) if part else 0 for part in found.groups())
    try:
        if not month:
            return Published(date(year, 1, 1), date(year, 12, 31))
        if day:
            return Published(date(year, month, day), date(year, month, day))
        return Published(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))
    except ValueError:  # also what calendar raises for a month 13
        return None


def side(when: Published | None, cutoff: date | None) -> Side:
    """What was published on the day of the cutoff is before it."""
    if when is None or cutoff is None:
        return Side.UNCLEAR
    if when.last <= cutoff:
        return Side.BEFORE
    return Side.AFTER if when.first > cutoff else Side.UNCLEAR

"""What is known of a task beside its text: how hard it is, and when its paper could first be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from firetrial_kit.errors import Fault, check, invalid

_ARXIV = re.compile(r"(?P<year>\d{2})(?P<month>0[1-9]|1[0-2])\.\d{4,5}(?:v\d+)?")
AXES = ("conceptual_decomposition", "confound_control", "analysis_complexity")
MAX_RATER = 200
_DATE = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?")


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Three axes from 1 to 3, as FIRE-Bench rates its tasks; `rated_by` is "" where nobody says who did."""

    conceptual_decomposition: int
    confound_control: int
    analysis_complexity: int
    rated_by: str = ""

    @property
    def level(self) -> str:
        """Easy for a sum of 3 or 4, medium for 5 or 6, hard for 7 to 9."""
        total = sum(getattr(self, axis) for axis in AXES)
        return "easy" if total <= 4 else "medium" if total <= 6 else "hard"

    def faults(self, path: str) -> Iterator[Fault]:
        for axis in AXES:
            value = getattr(self, axis)
            if type(value) is not int or not 1 <= value <= 3:  # True is no rating
                yield Fault(f"{path}.{axis}", str(value), "must be 1, 2 or 3")
        if len(self.rated_by) > MAX_RATER:
            yield Fault(f"{path}.rated_by", self.rated_by, f"at most {MAX_RATER} characters")


@dataclass(frozen=True, slots=True)
class Rating:
    """`published` is YYYY, YYYY-MM or YYYY-MM-DD; None and "" are unknown."""

    difficulty: Difficulty | None = None
    published: str = ""

    def faults(self, path: str) -> Iterator[Fault]:
        if self.difficulty:
            yield from self.difficulty.faults(f"{path}.difficulty")
        if self.published and not _is_date(self.published):
            yield Fault(f"{path}.published", self.published, "must be YYYY, YYYY-MM or YYYY-MM-DD")


UNRATED = Rating()


def read_ratings(text: str) -> dict[str, Rating]:
    """Task → rating from JSON `{task: {"difficulty": {axis: 1 to 3, …}, "published": "YYYY-MM"}}`.

    Either of the two may be left out. Raises INVALID with every fault.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise invalid("the ratings", [Fault("ratings", text[:40], f"must be JSON: {error}")]) from error
    given = document if isinstance(document, dict) else {"ratings": document}
    faults: list[Fault] = []
    ratings = {name: _rating(name, entry, faults) for name, entry in given.items()}
    check("the ratings", faults)
    return ratings


def _rating(name: str, entry: Any, faults: list[Fault]) -> Rating:
    known = {"difficulty", "published"}
    if not isinstance(entry, dict) or not entry.keys() <= known:
        faults.append(Fault(name, str(entry)[:80], "must be an object with difficulty, published or both"))
        return UNRATED
    rating = Rating(_difficulty(name, entry.get("difficulty"), faults), str(entry.get("published", "")))
    faults += rating.faults(name)
    return rating


def _difficulty(name: str, entry: Any, faults: list[Fault]) -> Difficulty | None:
    if entry is None:
        return None
    if not isinstance(entry, dict) or sorted(entry.keys() - {"rated_by"}) != sorted(AXES):
        faults.append(Fault(f"{name}.difficulty", str(entry)[:80], f"must have {', '.join(AXES)}"))
        return None
    return Difficulty(**entry)


def published_on_arxiv(arxiv_id: str) -> str:
    """The month in which a paper was first submitted, which its arXiv id begins with; "" for other ids."""
    found = _ARXIV.fullmatch(arxiv_id.strip())
    return f"20{found['year']}-{found['month']}" if found else ""


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if not found:
        return False
    try:
        date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        return False
    return True

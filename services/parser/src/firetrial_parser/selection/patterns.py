"""Rules of words as data: what a pattern finds, and where."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Where = Literal["title", "abstract"]
_JOINT = r"[\s\u00ad\u2010-\u2015-]+"


@dataclass(frozen=True, slots=True)
class Hit:
    """Words that a rule found: the rule's name, its pattern, "title" or "abstract", and the words."""

    rule: str
    pattern: str
    where: Where
    text: str


def rules(name: str) -> Mapping[str, Any]:
    """The rules `name`, such as "keywords-v1"."""
    return tomllib.loads((files("firetrial_parser.selection.rules") / f"{name}.toml").read_text("utf-8"))


class Patterns:
    """Patterns with the rule that each belongs to. A longer pattern does not hide a shorter one in it."""

    def __init__(self, rule: str, patterns: Iterable[str]) -> None:
        self._rule = rule
        self._compiled = [(pattern, _beginning(pattern), compiled(pattern)) for pattern in patterns]

    def hits(self, where: Where, text: str) -> Iterator[Hit]:
        """The first place of each pattern in `text`."""
        lowered = text.lower()
        for pattern, beginning, expression in self._compiled:
            # Most patterns are not there, and this tells so ten times faster.
            found = expression.search(text) if beginning in lowered else None
            if found:
                yield Hit(self._rule, pattern, where, found[0])


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Whole words; `*` ends a word anyhow, `?` is any letter, and a space stands for a hyphen too."""
    words = [re.escape(word).replace(r"\*", r"\w*").replace(r"\?", r"\w") for word in pattern.split()]
    return re.compile(rf"(?<!\w){_JOINT.join(words)}(?!\w)", re.IGNORECASE)


def _beginning(pattern: str) -> str:
    """The letters that must stand in a text where the pattern is found."""
    return re.split(r"[*? ]", pattern, maxsplit=1)[0].lower()

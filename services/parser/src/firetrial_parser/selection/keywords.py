"""The first stage: does a title or an abstract speak of the subject, and of a study of it?"""

from __future__ import annotations

from dataclasses import dataclass

from firetrial_parser.selection.patterns import Hit, Patterns, Where, rules

RULES = "keywords-v1"


@dataclass(frozen=True, slots=True)
class Looked:
    """All hits in title and abstract, and the rules that speak against the paper: none where it goes on."""

    hits: tuple[Hit, ...]
    against: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    needed: bool
    where: frozenset[Where]
    patterns: Patterns


class Keywords:
    """The groups of the rules: each that is needed must have a hit, none that leaves out may."""

    def __init__(self) -> None:
        told = rules(RULES)
        self.version = str(told["version"])
        self._groups = [
            _Group(
                group["name"],
                group["effect"] == "need",
                frozenset(group["where"]),
                Patterns(group["name"], group["patterns"]),
            )
            for group in told["group"]
        ]

    def look(self, title: str, abstract: str) -> Looked:
        """What the groups find, and which of them speak against the paper."""
        texts: tuple[tuple[Where, str], ...] = (("title", title), ("abstract", abstract))
        hits: list[Hit] = []
        against: list[str] = []
        for group in self._groups:
            found = [
                hit
                for where, text in texts
                if where in group.where
                for hit in group.patterns.hits(where, text)
            ]
            hits += found
            if group.needed != bool(found):
                against.append(group.name)
        return Looked(tuple(hits), tuple(against))

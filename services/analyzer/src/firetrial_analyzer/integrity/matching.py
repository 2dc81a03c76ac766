"""How much numbers of a run have in common with a sentence, by the words, names and numbers beside them."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from firetrial_analyzer.integrity.ledger import Cell

_NEAR_WORD = 2.0
_PREFIX = 3


class Match:
    """Cells by how much they have in common with the words of a sentence; what is rare counts for more."""

    def __init__(
        self, cells: Sequence[Cell], words: frozenset[str], near: frozenset[str], rare: Mapping[str, float]
    ) -> None:
        self.cells = cells
        by_start: dict[str, list[str]] = defaultdict(list)
        for word in sorted(words):
            by_start[word[:_PREFIX]].append(word)
        self._worth: dict[str, float] = {}
        meant: dict[str, str] = {}
        for word in {word for cell in cells for word in cell.words}:
            number = word.rpartition("=")[2]
            for wanted in by_start.get(number[:_PREFIX], ()):
                if number == wanted or (len(word) >= _PREFIX and _begins(word, wanted)):
                    meant[word] = wanted
                    worth = rare.get(word, 1.0) * (_NEAR_WORD if wanted in near else 1.0)
                    self._worth[wanted] = max(self._worth.get(wanted, 0.0), worth)
        self._meant = meant
        self._raw = {id(cell): frozenset(word for word in cell.words if word in meant) for cell in cells}
        self._common = {id(cell): frozenset(meant[word] for word in self._raw[id(cell)]) for cell in cells}

    def common(self, cell: Cell) -> frozenset[str]:
        """Words that the cell shares with the sentence."""
        return self._common.get(id(cell), frozenset())

    def raw_of(self, cell: Cell) -> frozenset[str]:
        """The cell's own words that mean words of the sentence."""
        return self._raw.get(id(cell), frozenset())

    def is_named(self, cell: Cell) -> bool:
        """Whether the sentence has a word of the cell's own name."""
        return any(word in self._meant for word in cell.own)

    def shared(self, cells: Iterable[Cell]) -> frozenset[str]:
        """Words that all of the cells share with the sentence."""
        return frozenset.intersection(*map(self.common, cells))

    def worth(self, *common: AbstractSet[str]) -> float:
        """What words count together."""
        return math.fsum(self._worth[word] for word in frozenset().union(*common))

    def own(self, cell: Cell) -> float:
        """What it counts that the sentence has a cell's own name."""
        return self.worth({self._meant[word] for word in cell.own if word in self._meant})

    def score(self, cell: Cell) -> float:
        """How much the cell has in common with the sentence; its own name counts twice."""
        return self.worth(self.common(cell)) + self.own(cell)

    def nearest(self, cells: Iterable[Cell], most: int) -> list[Cell]:
        """Those with most in common."""
        return sorted(cells, key=self.score, reverse=True)[:most]


def rarity(cells: Sequence[Cell]) -> dict[str, float]:
    """Word → log of how few cells have it, at least 0.1."""
    count: dict[str, int] = defaultdict(int)
    for cell in cells:
        for word in cell.words:
            count[word] += 1
    return {word: 0.1 + math.log(len(cells) / n) for word, n in count.items()}


def _begins(one: str, other: str) -> bool:
    alpha = one[0].isalpha() and other[0].isalpha()
    return alpha and len(other) >= _PREFIX and (one.startswith(other) or other.startswith(one))

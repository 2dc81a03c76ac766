"""How a paper is set: the size and face of its running text, and what stands out from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from firetrial_parser.layout import Block, weighted
from firetrial_parser.prose import alphabetic_share

STRONG = 1.12  # a heading that is not bold is set this much larger than the body
SMALL = 0.93  # footnotes
TINY = 0.78  # labels inside figures


@dataclass(frozen=True, slots=True)
class Style:
    """The size, in points, and the name of the body's font."""

    body: float
    font: str

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> Style:
        full = [line for b in blocks for line in b.lines if len(line.text) > 20]
        size = weighted(full) or 10.0
        names = Counter(line.font.name for line in full if round(line.size, 1) == size)
        return cls(size, names.most_common(1)[0][0] if names else "")

    def strong(self, block: Block) -> bool:
        """Whether a block is set like a heading: bold, larger, or in small capitals."""
        letters = "".join(line.text for line in block.lines)
        bold = all(line.bold >= 0.85 for line in block.lines)
        small_caps = letters.isupper() and block.lines[0].top_size >= 1.15 * block.size
        return block.size >= TINY * self.body and (bold or small_caps or block.size >= STRONG * self.body)

    def prose(self, block: Block) -> bool:
        """Whether a block is running text: no label of a plot, no cell of a table, no footnote."""
        small = block.size <= SMALL * self.body
        if block.size < TINY * self.body or (small and block.lines[0].marked) or self._stray(block):
            return False
        return block.words / len(block.lines) >= 4 and alphabetic_share([block.text]) > 0.6

    def _stray(self, block: Block) -> bool:
        """A short line in another face that ends like no sentence: an axis, a legend."""
        alien = block.lines[0].font.name != self.font and len(block.lines) == 1
        return alien and block.words < 8 and not block.text.endswith((".", ":", "?", "!", "-"))

"""What words alone can say of the criteria: passages for and against each, never a decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from firetrial_parser.anchor import locate
from firetrial_parser.prose import sentences
from firetrial_parser.selection.criteria import Criterion, CriterionVerdict, Met, Reason
from firetrial_parser.selection.patterns import Patterns, rules
from firetrial_parser.tree import Quote

RULES = "criteria-v1"
SHOWN = 2  # passages for, and as many against, of each criterion
_LONGEST = 400  # characters of a passage


class Heuristics:
    """Finds sentences that speak for or against each criterion."""

    def __init__(self) -> None:
        told = rules(RULES)
        self.version = str(told["version"])
        self._sides = {
            criterion: [(side, Patterns(side, told[criterion][side])) for side in ("for", "against")]
            for criterion in Criterion
        }

    def judge(self, pages: Sequence[str]) -> tuple[CriterionVerdict, ...]:
        """A verdict on each criterion, all UNCERTAIN, with quotations from the pages."""
        text = [sentence for page in pages for sentence in sentences(" ".join(page.split()))]
        return tuple(
            CriterionVerdict(
                criterion,
                Met.UNCERTAIN,
                tuple(self._reasons(criterion, text, tuple(pages))) or (_NOTHING,),
                self.version,
            )
            for criterion in Criterion
        )

    def _reasons(self, criterion: Criterion, text: Sequence[str], pages: tuple[str, ...]) -> Iterator[Reason]:
        for side, patterns in self._sides[criterion]:
            shown = 0
            for sentence in text:
                hit = next(patterns.hits("abstract", sentence), None)
                if hit is None:
                    continue
                yield Reason(f"“{hit.text}” may speak {side} it", anchored(sentence[:_LONGEST], pages))
                shown += 1
                if shown == SHOWN:
                    break


_NOTHING = Reason("no word speaks for or against it", Quote(""))


def anchored(words: str, pages: tuple[str, ...]) -> Quote:
    """The words with their place in the pages, page 0 where they are not there."""
    found = locate(words, pages)
    if found is None:
        return Quote(words)
    return Quote(words, found.anchor.page, found.anchor.start, found.anchor.end, found.score)

"""Which line is a heading, and of what level, by number and name; type size is the reader's to judge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_HEADING_CHARS = 160
CHAIN_WINDOW = 80  # a heading follows one of the last so many candidates

NAMED = frozenset(
    """abstract|introduction|background|related work|related works|preliminaries|method|methods|methodology
    |materials and methods|approach|experimental setup|experiments|evaluation|results|findings|analysis
    |discussion|limitations|conclusion|conclusions|conclusion and future work|discussion and conclusion
    |future work|references|bibliography|acknowledgments|acknowledgements|acknowledgment|acknowledgement
    |appendix|appendices|supplementary material|supplementary materials|ethics statement
    |reproducibility statement|broader impact|broader impacts|impact statement|author contributions
    |data availability|code availability|table of contents|contents|summary|funding|competing interests
    |declaration of interests|contributors|limitations and future work""".replace("\n    ", "").split("|")
)
NOT_PROSE = frozenset({"references", "bibliography", "table of contents", "contents"})
_BIBLIOGRAPHY = frozenset(
    {"references", "bibliography", "literature cited", "works cited", "references and notes"}
)
_SUPPLEMENT = re.compile(r"(?i)(?:[A-Z\d][.:]?\s+)?(?:appendi(?:x|ces)|suppl(?:ement|emental|ementary)\b)")
_ROMAN = re.compile(r"(?:II|III|IV)[.\s]")

_NUMBER = re.compile(
    r"(?:(?P<word>appendix|section|chapter)\s+)?"
    r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,4}|[A-Z](?:\.\d{1,2}){1,4}|(?<=[Aa]ppendix )[A-Z]|[A-Z](?=[.:]?\s))"
    r"[.:)]?\s+(?P<title>\S.*)",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\d{1,4} [A-Z]\w+")  # "G.1 10 Total Documents"


@dataclass(frozen=True, slots=True)
class Number:
    """The number of a heading: ("3", "1") for 3.1, ("A",) for appendix A, and the title after it."""

    parts: tuple[str, ...]
    title: str

    @property
    def level(self) -> int:
        """1 for a top section."""
        return len(self.parts)


def numbered(text: str) -> Number | None:
    """Read a section number off the front of a heading, or None."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None or (not match["number"][0].isupper() and not match["number"][0].isdigit()):
        return None
    title = match["title"].strip()
    titled = title[:1].isalpha() or title[:1] in "“\"'‘($"
    if not titled and not ("." in match["number"] and _COUNTED.match(title)):
        return None
    return Number(tuple(match["number"].split(".")), title)


def is_named(text: str) -> bool:
    """Whether the text is one of the names that nearly every paper gives to a section."""
    return text.strip().rstrip(".:").lower() in NAMED


def is_bibliography(title: str) -> bool:
    """Whether a heading stands over the references."""
    number = numbered(title)
    return (number.title if number else title).strip().rstrip(".:").lower() in _BIBLIOGRAPHY


def supplementary(titles: Sequence[tuple[str, int]]) -> list[bool]:
    """Which of a paper's headings (title and level, in order) belong to what follows the paper proper.

    That begins with a heading that says so, or with a lettered one after the references or a numbered one.
    """
    roman = any(_ROMAN.match(title) for title, _ in titles)
    out: list[bool] = []
    numbers = beyond = False
    for title, _ in titles:
        number = numbered(title)
        lettered = number is not None and number.parts[0] == "A" and not roman
        beyond = beyond or bool(_SUPPLEMENT.match(title)) or (lettered and numbers)
        numbers = numbers or is_bibliography(title) or (number is not None and number.parts[0].isdigit())
        out.append(beyond and not is_bibliography(title))
    return out


def follows(before: tuple[str, ...] | None, after: tuple[str, ...]) -> bool:
    """Whether number `after` can come next: a first child, a next sibling, or a next one further up.

    One left-out number is forgiven (a heading that the reader missed).
    """
    if before is None:
        return after[0] in {"0", "1", "2"} and len(after) <= 2
    if len(after) > len(before):
        return after[: len(before)] == before and all(part in {"1", "2"} for part in after[len(before) :])
    depth = len(after) - 1
    return after[:depth] == before[:depth] and _steps(before[depth], after[depth])


def _steps(before: str, after: str) -> bool:
    if before.isdigit() != after.isdigit():
        return after in {"A", "B"}  # appendices start after the numbered sections
    distance = int(after) - int(before) if after.isdigit() else ord(after) - ord(before)
    return 1 <= distance <= 2


def longest_chain(numbers: Sequence[Number]) -> set[int]:
    """Indices of the most numbers that can follow one another; the others are list items and the like."""
    best: list[
        tuple[int, int]
    ] = []  # length of the best chain that ends here, and where it came from (-1: nowhere)
    for i, number in enumerate(numbers):
        start = (1, -1) if follows(None, number.parts) else (0, -1)
        longer = [
            (best[j][0] + 1, j)
            for j in range(max(0, i - CHAIN_WINDOW), i)
            if best[j][0] and follows(numbers[j].parts, number.parts)
        ]
        best.append(max([start, *longer], key=lambda link: link[0]))
    at = max(range(len(best)), key=lambda i: best[i][0], default=-1)
    chain: set[int] = set()
    while at >= 0 and best[at][0]:
        chain.add(at)
        at = best[at][1]
    return chain

"""Where a passage stands in a paper: exactly, or as closely as it can be found."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

SEED = 8  # characters; a shorter run in common does not tell a place
RUN = 4  # shorter runs in common are chance
NEAR = 40  # characters that may stand between two runs; a seed may be further off
LONGEST = 2_000  # characters of a passage that are aligned; a longer one is judged by its beginning
LEAST = 0.5  # a passage with a lower score is another passage
_SEEN = 200  # places of one seed that are looked at

_PLAIN = str.maketrans("“”‘’´`", "\"\"''''")


@dataclass(frozen=True, slots=True)
class Anchor:
    """The half-open span [start, end) of characters in `Document.pages[page - 1]`."""

    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Found:
    """Where a passage was found, and how well: 1 for every letter in its order, down to `LEAST`."""

    anchor: Anchor
    score: float


def locate(passage: str, pages: tuple[str, ...]) -> Found | None:
    """Find a passage, spaces, hyphens, ligatures, quotation marks and case left out of account.

    Where it is not there letter by letter, the place that shares most runs of letters with it: the score is
    2m / (p + q) for m letters in such runs, p of the passage and q of the place. A passage over a page's end
    is anchored on the page that holds more of it. None for less than `LEAST` and for an empty passage.
    """
    wanted = "".join(_squeezed(passage)[0])
    if not wanted:
        return None
    index = _indexed(pages)
    at = index.text.find(wanted)
    if at >= 0:
        return Found(index.anchor(at, at + len(wanted)), 1.0)
    return _nearest(wanted[:LONGEST], index)


@dataclass(frozen=True, slots=True)
class _Index:
    """The letters of all pages in one text; where in its page each stood, and where each page begins."""

    text: str
    places: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...]

    def anchor(self, start: int, end: int) -> Anchor:
        spans = []
        for page, (begin, places) in enumerate(zip(self.starts, self.places, strict=True), 1):
            first, last = max(start, begin) - begin, min(end, begin + len(places)) - begin
            if first < last:
                spans.append(Anchor(page, places[first], places[last - 1] + 1))
        return max(spans, key=lambda span: span.end - span.start)


@lru_cache(maxsize=4)
def _indexed(pages: tuple[str, ...]) -> _Index:
    read = [_squeezed(page) for page in pages]
    starts = accumulate((len(letters) for letters, _ in read[:-1]), initial=0)
    text = "".join("".join(letters) for letters, _ in read)
    return _Index(text, tuple(tuple(places) for _, places in read), tuple(starts))


def _squeezed(text: str) -> tuple[list[str], list[int]]:
    """The letters and signs that count, plain and small, and the place of each in `text`."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        plain = character if character.isascii() else _plain(character)
        for letter in plain.lower():
            if not letter.isspace() and letter != "-":
                letters.append(letter)
                places.append(place)
    return letters, places


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    if unicodedata.category(character) in {"Pd", "Cf"} or character == "−":
        return ""
    return unicodedata.normalize("NFKC", character.translate(_PLAIN))


def _nearest(wanted: str, index: _Index) -> Found | None:
    start = _vote(wanted, index.text)
    if start is None:
        return None
    slack = len(wanted) // 4
    low = max(0, start - slack)
    runs = _runs(wanted, index.text[low : start + len(wanted) + 2 * slack])
    if not runs:
        return None
    first, last = runs[0][0], runs[-1][1]
    score = 2 * sum(end - begin for begin, end in runs) / (len(wanted) + last - first)
    return Found(index.anchor(low + first, low + last), score) if score >= LEAST else None


def _runs(wanted: str, place: str) -> list[tuple[int, int]]:
    """The spans of `place` that agree with the passage, in its order, each the next that follows."""
    runs: list[tuple[int, int]] = []
    i = j = 0
    while i <= len(wanted) - RUN:
        at = place.find(wanted[i : i + RUN], j, j + NEAR)
        if at < 0 and len(seed := wanted[i : i + SEED]) == SEED:
            at = place.find(seed, j)
        if at < 0:
            i += 1
            continue
        j = at
        while i < len(wanted) and j < len(place) and wanted[i] == place[j]:
            i, j = i + 1, j + 1
        runs.append((at, j))
    return runs


def _vote(wanted: str, text: str) -> int | None:
    """Where the passage would begin by most of the runs that it shares with the text."""
    votes: Counter[int] = Counter()
    step = max(1, len(wanted) // 4)
    for offset in range(0, max(1, len(wanted) - SEED + 1), SEED // 2):
        seed, at = wanted[offset : offset + SEED], -1
        for _ in range(_SEEN):
            at = text.find(seed, at + 1)
            if at < 0:
                break
            votes[(at - offset) // step] += 1
    if not votes:
        return None
    best = max(votes, key=lambda bucket: votes[bucket] + votes[bucket + 1])
    return best * step

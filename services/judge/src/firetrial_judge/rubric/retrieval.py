"""Which lines of a long submission bear on a question: BM25 over windows of lines, the same every time.

Source of the formula: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from firetrial_judge.rubric.submission import File
from firetrial_judge.rubric.tree import Deliverable

_K1, _B = 1.2, 0.75
_WINDOW_LINES = 40
_WINDOW_CHARS = 2_400
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+(?:\.\d+)?|[^\W\d_a-zA-Z]+")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been by can do does each for from had has have if in into is it its of on or s"
        " such than that the their them then there these they this to used using was were which with",
    )
)


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines `first` to `last` of a file, counted from 1, both read."""

    file: int
    first: int
    last: int


class Index:
    """The windows of some files and the words in them."""

    def __init__(self, files: Sequence[File]) -> None:
        self.files = files
        self._windows: list[Passage] = []
        self._lengths: list[int] = []
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._edges: list[Passage] = []
        for number, file in enumerate(files):
            named = words(file.name)
            windows = list(_windows(number, file.lines))
            for window in windows:
                self._add(window, named + words("\n".join(file.lines[window.first - 1 : window.last])))
            self._edges += windows[-1:] if file.kind is Deliverable.LOGS else windows[:1]
        self._mean = sum(self._lengths) / len(self._lengths) if self._lengths else 1.0

    def _add(self, window: Passage, found: list[str]) -> None:
        for word, count in Counter(found).items():
            self._postings.setdefault(word, []).append((len(self._windows), count))
        self._windows.append(window)
        self._lengths.append(len(found))

    def find(self, query: str, kinds: Collection[Deliverable], limit: int) -> list[Passage]:
        """At most `limit` windows, the best first, in the files that the kinds admit.

        Where too few share a word with the query, files' beginnings follow, and the ends of logs.
        """
        scores: dict[int, float] = {}
        for word in sorted(set(words(query))):
            postings = self._postings.get(word, [])
            rarity = math.log(1 + (len(self._windows) - len(postings) + 0.5) / (len(postings) + 0.5))
            for window, count in postings:
                length = 1 - _B + _B * self._lengths[window] / self._mean
                gain = rarity * count * (_K1 + 1) / (count + _K1 * length)
                scores[window] = scores.get(window, 0.0) + gain
        ranked = [self._windows[w] for w in sorted(scores, key=lambda w: (-scores[w], w))]
        wanted = (p for p in (*ranked, *self._edges) if admitted(self.files[p.file], kinds))
        return list(dict.fromkeys(wanted))[:limit]


def admitted(file: File, kinds: Collection[Deliverable]) -> bool:
    """Whether a question about these deliverables may be answered from this file."""
    return not kinds or file.kind is None or file.kind in kinds


def words(text: str) -> list[str]:
    """Lower-case words and numbers, names of code cut at their capitals, plurals made singular."""
    found = (word.lower() for word in _WORD.findall(text))
    return [w[:-1] if len(w) > 3 and w.endswith("s") and w[-2] != "s" else w for w in found if w not in _STOP]


def merged(passages: Collection[Passage]) -> list[Passage]:
    """In the order of the files, with those that touch or overlap made one."""
    whole: list[Passage] = []
    for passage in sorted(passages, key=lambda p: (p.file, p.first)):
        last = whole[-1] if whole else None
        if last and last.file == passage.file and passage.first <= last.last + 1:
            whole[-1] = Passage(last.file, last.first, max(last.last, passage.last))
        else:
            whole.append(passage)
    return whole


def _windows(number: int, lines: Sequence[str]) -> Iterator[Passage]:
    """Windows that overlap by a quarter, so that what belongs together is whole in one of them."""
    start = 0
    while start < len(lines):
        end, size = start, 0
        while end < len(lines) and end - start < _WINDOW_LINES and (size < _WINDOW_CHARS or end == start):
            size += len(lines[end])
            end += 1
        yield Passage(number, start + 1, end)
        if end == len(lines):
            return
        start = end - (end - start) // 4

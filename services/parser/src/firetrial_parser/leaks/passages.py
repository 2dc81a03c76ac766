"""An instruction as sentences, with their places: lines that were wrapped are joined, items stand alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from firetrial_parser.prose import located

_ITEM = re.compile(r"[ \t]*(?:[-*+•‣–]|\(?\d{1,3}[.)]|\(?[a-z][.)]|#{1,6})\s+")
_WHETHER = re.compile(
    r"(?i)\bwhether\b|\b(?:measure|test|find out|examine|investigate|determine|see) (?:how|if|what|which)\b"
)
_PRESUMING = re.compile(
    r"(?i)\b(?:why|how much|how come|by how|given that|even though|although|known|despite)\b"
)
_ANSWER = re.compile(
    r"(?i)^(?:yes|no|indeed|correct|right|they|it|this|that|these|always|never|mostly|often|rarely|only|all|none)\b"
)
ANSWER_WORDS = 6
_MOST = 2_000  # sentences of a text; what follows is read as one


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence, or two that follow one another, in one line; [start, end) is its place in the text."""

    text: str
    start: int
    end: int


def asks_openly(passage: str) -> bool:
    """Whether a passage asks, or says that something is to be found out, and takes nothing for granted.

    "Why is it lowest in the middle?" says that it is.
    """
    text = passage.strip()
    asked = text.rstrip("\"'”’)]* ").endswith("?") or _WHETHER.search(text) is not None
    return asked and not _PRESUMING.search(text)


def units(text: str) -> list[Passage]:
    """The sentences of a text in their order, without the marks of lists and headings."""
    found = [unit for start, end in _blocks(text) for unit in _sentences(text, start, end)]
    return found if len(found) <= _MOST else [*found[:_MOST], _passage(text, found[_MOST].start, len(text))]


def passages(text: str) -> Iterator[Passage]:
    """Each statement, and each two that follow one another; see `stated` for what is one."""
    read = units(stated(text))
    yield from read
    for first, second in pairwise(read):
        yield Passage(f"{first.text} {second.text}", first.start, second.end)


def stated(text: str) -> str:
    """What a text says, sentence by sentence: nothing is given away by an open question.

    One that is answered at once, in a few words, stays.
    """
    read = units(text)
    following = [*read[1:], None]
    return "\n\n".join(
        unit.text
        for unit, after in zip(read, following, strict=False)
        if not asks_openly(unit.text) or (after is not None and _answers(after.text))
    )


def _answers(sentence: str) -> bool:
    return len(sentence.split()) <= ANSWER_WORDS and _ANSWER.match(sentence) is not None


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs and list items: a line that opens neither goes on with the one before."""
    start = at = 0
    for line in text.splitlines(keepends=True):
        if not line.strip() or _ITEM.match(line) or _complete(text[start:at]):
            yield start, at
            start = at
        at += len(line)
    yield start, at


def _complete(block: str) -> bool:
    """A heading or a label, such as "Models:", is not what the next line goes on with."""
    return block.rstrip().endswith(":") or block.lstrip().startswith("#")


def _sentences(text: str, start: int, end: int) -> Iterator[Passage]:
    mark = _ITEM.match(text, start, end)
    first = mark.end() if mark else start
    for at, sentence in located(text[first:end]):
        yield _passage(text, first + at, first + at + len(sentence))


def _passage(text: str, start: int, end: int) -> Passage:
    return Passage(" ".join(text[start:end].split()), start, end)

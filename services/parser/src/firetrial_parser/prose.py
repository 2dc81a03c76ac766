"""Running text: joining lines into paragraphs, splitting paragraphs into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BROKEN = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)-$")
_HYPHEN = re.compile(r"\w-$")
_SUFFIX = re.compile(
    r"(?:i?ng|[st]ion|ment|ness|[ai]ble|[ae]nce|[ai]ze|[ai]ty|ities|ally|ers?|ed|ly|ical|ive|ous|ism|ist|ful|less|encies"
    r"|ancies|ation|ating|ated|ator)"
)
_END = re.compile(r"[.!?][\"”’')\]]*\s+(?=[\"“‘'(\[]?[A-Z0-9])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:figs?|tabs?|eqs?|secs?|sects?|apps?|refs?|al|e\.g|i\.e|cf|vs|resp|approx|dr|prof|no|nos|vol|pp|st"
    r"|w\.r\.t|etc|ca|inc|ltd|dept|mr|mrs|ms)|(?:^|[\s(])[A-Z])\.$",
    re.IGNORECASE,
)
_INITIAL = re.compile(r"(?:^|[\s(.])[A-Z]\.$")


_UNSPACED = re.compile(
    r"[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60\U00020000-\U0002ffff\u0e00-\u0eff]"
)


def count_words(text: str) -> int:
    """Words by the spaces between them; two letters of a script without spaces count as one."""
    spaced = text.count(" ") + 1
    return spaced if text.isascii() else spaced + len(_UNSPACED.findall(text)) // 2


def vocabulary_of(lines: Iterable[str]) -> set[str]:
    """All words of the lines, lower-cased, hyphenated ones whole; the halves of broken words left out."""
    found: set[str] = set()
    broken = False
    for line in lines:
        tokens = [w.lower() for w in _WORD.findall(line)]
        first = 1 if broken else 0
        broken = line.endswith("-")
        found.update(tokens[first : len(tokens) - 1 if broken else None])
    return found


def join_lines(lines: Iterable[str], vocabulary: set[str]) -> str:
    """Join lines to one paragraph; the rest of the paper tells which hyphens stay."""
    out = ""
    for line in lines:
        if not line:
            continue
        broken = _BROKEN.search(out)
        if broken is not None and line[0].islower():
            out = _mend(out, broken[1], line, vocabulary)
        elif out:
            out += line if _joins(out, line) else " " + line
        else:
            out = line
    return out


def _joins(before: str, line: str) -> bool:
    """Whether no space belongs between two lines."""
    if _HYPHEN.search(before) and (line[0].isupper() or line[0].isdigit()):
        return True
    return bool(_UNSPACED.match(before[-1]) and _UNSPACED.match(line[0]))


def _mend(before: str, left: str, line: str, vocabulary: set[str]) -> str:
    match = _WORD.match(line)
    right = match[0].lower() if match else ""
    return (before if _hyphen_stays(left.lower(), right, vocabulary) else before[:-1]) + line


def _hyphen_stays(left: str, right: str, vocabulary: set[str]) -> bool:
    first = right.split("-", maxsplit=1)[0]
    if left + right in vocabulary or left + first in vocabulary:
        return False
    if f"{left}-{right}" in vocabulary or "-" in left or "-" in right:
        return True
    compound = left in vocabulary and len(left) > 3 and len(right) > 3 and not _SUFFIX.match(right)
    return compound or (left in vocabulary and right in vocabulary)


def sentences(paragraph: str) -> list[str]:
    """Split a paragraph at sentence ends, not at abbreviations, initials or decimals."""
    out: list[str] = []
    start = 0
    for match in _END.finditer(paragraph):
        head = paragraph[start : match.start() + 1]
        if paragraph[match.start()] == "." and (
            _ABBREVIATION.search(head[-12:]) or _INITIAL.search(head[-4:])
        ):
            continue
        out.append(paragraph[start : match.end()].strip())
        start = match.end()
    tail = paragraph[start:].strip()
    return [*out, tail] if tail else out


def located(paragraph: str) -> Iterator[tuple[int, str]]:
    """The sentences of a paragraph, each with where it begins."""
    at = 0
    for sentence in sentences(paragraph):
        at = paragraph.index(sentence, at)
        yield at, sentence
        at += len(sentence)


def flat(text: str) -> str:
    """A text for comparison: lower case, single spaces, plain quotes and dashes."""
    text = text.translate(str.maketrans("“”‘’–—−", "\"\"''---"))
    return " ".join(text.lower().split())


def phrases(text: str, length: int) -> set[tuple[str, ...]]:
    """All runs of `length` words of a text, punctuation and case left out."""
    tokens = re.findall(r"\w+", text.lower())
    return {tuple(tokens[i : i + length]) for i in range(len(tokens) - length + 1)}


def alphabetic_share(texts: Sequence[str]) -> float:
    """Share of letters among the visible characters, 0–1; 0 for no text."""
    joined = "".join("".join(t.split()) for t in texts)
    return sum(c.isalpha() for c in joined) / len(joined) if joined else 0.0

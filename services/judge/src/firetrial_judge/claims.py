"""A conclusion or a ground truth as atomic claims, by the same procedure for both.

Kept are statements of what was found. Left out are headings, file lists, what was done, plans, advice and
well-wishing: they can neither follow from the other side's findings nor be missed in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from firetrial_judge import text as texts
from firetrial_judge.clauses import findings, finite
from firetrial_judge.effects import directional
from firetrial_judge.quantities import quantities
from firetrial_judge.reporting import is_finding, opens_findings, split_title
from firetrial_judge.text import Block, Form
from firetrial_judge.verdict import Span
from firetrial_judge.words import stems, words

MAX_CLAIMS = 200
"""More are not judged: a conclusion of thousands of claims fishes for hits. The cut is noted."""
MAX_CLAIM_CHARS = 600
CAPPED = "claims_capped"
_LABEL_WORDS = 6
_VALUED = re.compile(r"[=≈:→]\s*[-+$]?\d|\d\s*%|\d\.\d+\b(?!-)")


class Kind(StrEnum):
    """What a claim asserts: a measured number, a comparison, a direction, or something else."""

    QUANTITATIVE = "quantitative"
    COMPARATIVE = "comparative"
    DIRECTIONAL = "directional"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Claim:
    """One atomic claim. `start` and `end` bound its sentence in the source text, in characters, half-open."""

    id: str
    text: str
    start: int
    end: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Extraction:
    """The claims c1, c2, … in reading order, and what was cut, in words and as flags.

    `found` counts the claims before the cap; 0 means that there was none to cut.
    """

    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    found: int = 0

    @property
    def beyond(self) -> int:
        """Claims that the cap cut off: they cannot help a score, and count as unfounded."""
        return max(0, self.found - len(self.claims))


def extract(source: str) -> Extraction:
    """Split a text into at most MAX_CLAIMS claims of at most MAX_CLAIM_CHARS characters.

    Any string is taken, of any length and with any characters; repeated claims count once.
    """
    text = texts.clean(source)
    notes: list[str] = []
    if len(source) > texts.MAX_CHARS:
        notes.append(f"text cut at {texts.MAX_CHARS} of {len(source)} characters")
    seen: set[str] = set()
    claims: list[Claim] = []
    found = 0
    for claim_text, span in _pieces(text):
        key = " ".join(word.stem for word in words(claim_text)) + str(quantities(claim_text))
        if key in seen:
            continue
        seen.add(key)
        found += 1
        if found <= MAX_CLAIMS:
            claims.append(Claim(f"c{found}", claim_text, span.start, span.end, kind_of(claim_text)))
    if found > MAX_CLAIMS:
        notes.append(f"claims cut at {MAX_CLAIMS} of {found}")
    flags = (CAPPED,) if notes else ()
    return Extraction(tuple(claims), tuple(notes), flags, found)


def _pieces(text: str) -> Iterator[tuple[str, Span]]:
    """Candidate claims with the span of their sentence, section by section."""
    reporting = True
    header: list[str] = []
    labels = _Labels(text)
    for block in texts.blocks(text):
        written = text[block.start : block.end]
        if block.form is Form.ROW:
            cells = [_plain(cell) for cell in written.strip().strip("|").split("|")]
            if header and reporting:
                yield from _row(labels.over(block), header, cells, Span(block.start, block.end))
            header = header or cells
            continue
        header = []
        label = labels.over(block)
        if block.form is Form.HEADING:
            reporting = opens_findings(written) is not False
        if labels.take(block, _plain(written)) or block.form is Form.HEADING:
            continue
        for span in texts.sentences(text, block.start, block.end):
            section, sentence = split_title(_plain(text[span.start : span.end]))
            reporting = reporting if section is None else section
            if reporting:
                yield from (
                    (_shortened(label + piece), span) for piece in findings(sentence) if is_finding(piece)
                )


class _Labels:
    """The names that lists and headings put over what follows: "gpt-4o" over its bullets, "GSM8K:" over rows.

    Only what names something is a label; "Key numbers" says nothing that a claim could need.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[tuple[int, str]] = []

    def over(self, block: Block) -> str:
        """The labels over a block, "gpt-4o: GSM8K: ", which end where a block is indented no deeper."""
        depth = self._depth(block)
        while self._open and self._open[-1][0] >= depth:
            self._open.pop()
        return "".join(f"{label}: " for _, label in self._open)

    def take(self, block: Block, written: str) -> bool:
        """Whether a block is a label; it then stands over what follows deeper."""
        label = written.rstrip(" :*_")
        found = words(label)
        names = any(word.is_name and (not word.opens or not word.written.isalpha()) for word in found)
        short = 0 < len(label.split()) <= _LABEL_WORDS and not label.endswith((".", "!", "?"))
        told = any(finite(word) for word in found[1:]) or any(directional(word) for word in found)
        if not short or told or not (names or quantities(label)) or opens_findings(label) is not None:
            return False
        if block.form is Form.PROSE or (block.form is Form.ITEM and _VALUED.search(label)):
            return False
        self._open.append((self._depth(block), label))
        return True

    def _depth(self, block: Block) -> int:
        """Of a heading less than of any block, of a line its indentation, of a bullet one more."""
        line = self._text[self._text.rfind("\n", 0, block.start) + 1 : block.start]
        bulleted = bool(line.strip(" \t#"))
        return -1 if "#" in line else 2 * (len(line) - len(line.lstrip())) + bulleted


def _row(label: str, header: list[str], cells: list[str], span: Span) -> Iterator[tuple[str, Span]]:
    """A table's row as one claim, "k 1: accuracy 0.93, recall 0.91"; rows without a number say nothing."""
    if len(cells) < 2 or not any(quantities(cell) for cell in cells[1:]):
        return
    pairs = [f"{h} {c}".strip() for h, c in zip(header[1:], cells[1:], strict=False) if c]
    yield _shortened(f"{label}{header[0]} {cells[0]}: {', '.join(pairs)}".strip()), span


_LINK = re.compile(r"!?\[([^\]\[]{0,300})\]\([^()\s]{0,300}\)")
_MARKS = re.compile(r"(?:(?<!\w)[*_]{1,3}(?=\S))|(?:(?<=\S)[*_]{1,3}(?!\w))|`")


def _plain(piece: str) -> str:
    """Without markdown, in one line."""
    bare = _MARKS.sub("", _LINK.sub(r"\1", texts.uncited(piece[: 4 * MAX_CLAIM_CHARS])))
    return " ".join(bare.split()).strip(" -–•")


def _shortened(piece: str) -> str:
    if len(piece) <= MAX_CLAIM_CHARS:
        return piece
    return piece[:MAX_CLAIM_CHARS].rsplit(" ", 1)[0]


_MEASURED = re.compile(
    r"[=≈:→]\s*[-+$]?\d|(?<![\w.-])\d+\.\d|\$\s?\d|\d\s*(?:%|(?:percent|points?|x|pp|times|fold|days?|hours?)\b)"
)
_COMPARED = re.compile(
    r"\b(?:than|versus|vs\.?|compared (?:with|to)|relative to|outperform\w*|underperform\w*|surpass\w*|"
    r"beats?|exceeds?|best|worst|highest|lowest|most|least|(?:as|equally) \w+ as|similar|comparable|equal|"
    r"same|prefer\w*)\b",
    re.IGNORECASE,
)
_PLAIN_NEGATION = stems("not no never none neither nor cannot without few little minority nothing nobody")


def kind_of(piece: str) -> Kind:
    """Quantitative before comparative before directional: the most checkable property names it."""
    if _MEASURED.search(piece) or any(q.unit == "%" for q in quantities(piece)):
        return Kind.QUANTITATIVE
    if _COMPARED.search(piece):
        return Kind.COMPARATIVE
    if any(directional(word) and word.stem not in _PLAIN_NEGATION for word in words(piece)):
        return Kind.DIRECTIONAL
    return Kind.OTHER

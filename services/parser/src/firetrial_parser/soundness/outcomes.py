"""Results and outcome language, which a proposal must not hold: it would be judged by how it came out.

Looked for clause by clause. What is expected, asked, tested or set is no result: "we expect X to outperform
Y", "whether accuracy rises", "a learning rate of 0.1". What others found is none either where they are cited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from firetrial_kit.errors import Fault
from firetrial_parser.prose import located
from firetrial_parser.soundness import outcome_signs as signs
from firetrial_parser.soundness.proposal import Proposal

MASK = "[result left out]"
_SHOWN = 160
_MOST = 1000  # characters of a clause that are searched at a time


@dataclass(frozen=True, slots=True)
class Outcome:
    """A passage that tells a result, its half-open span in the text of its part, and what gives it away."""

    part: str
    start: int
    end: int
    text: str
    why: str


def outcomes(proposal: Proposal) -> list[Outcome]:
    """Every passage of a proposal that tells a result, in its order."""
    return [found for part, text in proposal.parts() for found in of_text(part, text)]


def faults(found: Iterable[Outcome]) -> Iterator[Fault]:
    """The same as what is wrong with a proposal that must hold none."""
    for one in found:
        cure = f"{one.why}: say what will be measured instead, or have results masked"
        yield Fault(one.part, one.text[:_SHOWN], cure)


def masked(proposal: Proposal) -> tuple[Proposal, tuple[Outcome, ...]]:
    """The proposal without its results, and what was taken out; spans are those of the text as it was."""
    found = outcomes(proposal)

    def change(part: str, text: str) -> str:
        for one in reversed([one for one in found if one.part == part]):
            text = text[: one.start] + MASK + text[one.end :]
        return text

    return proposal.mapped(change), tuple(found)


def of_text(part: str, text: str) -> Iterator[Outcome]:
    """The passages of one part. A hypothesis may say that one thing is better than another."""
    if ".metrics[" in part:
        yield from _of_metric(part, text)
        return
    believed = part == "hypothesis"
    for start, sentence in located(text):
        head = sentence[:_MOST]
        whole = bool(signs.WHOLE.search(head))
        others = bool(signs.OTHERS.search(head)) and not signs.OWN.search(head)
        for at, clause in _clauses(sentence):
            if why := _why(clause, believed=believed, planned=whole, others=others):
                lead = len(clause) - len(clause.lstrip())
                kept = clause.strip().rstrip(".,;:!?")
                begin = start + at + lead
                yield Outcome(part, begin, begin + len(kept), kept, why)


def _why(clause: str, *, believed: bool, planned: bool, others: bool) -> str:
    """What gives a clause away; "" where it tells no result."""
    settled = bool(signs.SETTLED.search(clause)) and not others
    if others or ((planned or signs.PLANNED.search(clause)) and not settled):
        return ""
    for why, sign in signs.ALWAYS.items():
        if sign.search(clause):
            return why
    if not believed and signs.CLAIMS.search(clause):
        return "says what does better"
    return ""


def _of_metric(part: str, text: str) -> Iterator[Outcome]:
    bare = signs.INTERVAL.sub(lambda match: " " * len(match[0]), text)
    if signs.VALUE.search(bare):
        yield Outcome(part, 0, len(text), text, "gives a metric's value")


def _clauses(sentence: str) -> Iterator[tuple[int, str]]:
    """Clauses with where they begin; what nobody writes as one is looked at in pieces."""
    at = 0
    for match in signs.CLAUSES.finditer(sentence):
        yield from _pieces(at, sentence[at : match.start()])
        at = match.end()
    yield from _pieces(at, sentence[at:])


def _pieces(at: int, clause: str) -> Iterator[tuple[int, str]]:
    for start in range(0, len(clause), _MOST):
        yield at + start, clause[start : start + _MOST]

"""What of a run can be evidence: outputs of programs, line by line, and the code that was written before.

What an agent says is no evidence, nor is what it reads on the web, nor a report that it wrote itself.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from firetrial_analyzer.taxonomy.actions import Action, Kind, Line


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines that belong together. `code` is what the agent wrote; `file` the name of a file that it left;
    `command` the beginning of what printed them."""

    lines: tuple[Line, ...]
    code: bool = False
    file: str = ""
    command: str = ""


_OTHERS_WORDS = re.compile(r"^(?:Web|Todo|Task$|Think|Browse|Search|Agent)", re.IGNORECASE)
_FETCHES = re.compile(r"(?:^|[\s;&|])(?:curl|wget|lynx|w3m)\s")
_LOOKS = re.compile(
    r"^\s*(?:(?:grep|rg|awk|head|tail|ls|wc|less|diff|sed\s+-n|jq)\b|cat\b(?!.*<<))", re.DOTALL
)
_HERE = re.compile(r"<<-?\s*['\"]?(?P<end>\w{1,40})['\"]?")
_CONCLUDES = re.compile(r"[\s#*_>]{0,20}(?:FINAL )?CONCLUSIONS?\s*:?[*_]*\s*(?:$|\S)")
# A line in no known form that reads like this is the agent talking.
_SENTENCE = re.compile(r"(?:[A-Za-z][\w'’,()-]*\s+){5,}\S+.*[.!?]$")
_LEAST_QUOTED = 24
_COMMAND = 300


def passages(actions: Iterable[Action], conclusion: str = "") -> Iterator[Passage]:
    """Code and outputs in their order, without the lines of output that the conclusion has word for word."""
    concluded = {line.strip() for line in conclusion.splitlines() if len(line.strip()) >= _LEAST_QUOTED}
    for action in actions:
        if action.kind in (Kind.EDIT, Kind.RUN) and not (
            action.kind is Kind.RUN and _LOOKS.match(action.text)
        ):
            yield Passage(_numbered(action.step, action.text), code=True)
        if not _is_evidence(action):
            continue
        typed, shown = _here_document(action)
        if typed:
            yield Passage(typed, code=True)
        kept = tuple(line for line in shown if line.text.strip() not in concluded)
        if kept:
            yield Passage(kept, command=action.text[:_COMMAND] if action.kind is Kind.RUN else "")


def _numbered(step: int, text: str) -> tuple[Line, ...]:
    return tuple(Line(step, line) for line in text.splitlines())


def _is_evidence(action: Action) -> bool:
    if action.kind is Kind.RUN:
        return not _FETCHES.search(action.text)
    if action.kind is Kind.USE:
        return not _OTHERS_WORDS.match(action.target)
    return action.kind is Kind.LOOSE


def _here_document(action: Action) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """(what was typed in, what was printed): a transcript of a shell shows a here-document as output."""
    lines = tuple(_until_conclusion(action))
    found = _HERE.search(action.text) if action.kind is Kind.RUN else None
    if not found or "\n" in action.text:
        return (), lines
    end = next((n for n, line in enumerate(lines) if line.text.strip(" >") == found["end"]), None)
    return ((), lines) if end is None else (lines[:end], lines[end + 1 :])


def _until_conclusion(action: Action) -> Iterator[Line]:
    for line in action.lines:
        if "ONCLUSION" in line.text and _CONCLUDES.match(line.text):
            return
        if action.kind is not Kind.LOOSE or not _SENTENCE.fullmatch(line.text[:2000]):
            yield line

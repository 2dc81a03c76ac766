"""What in a submission is written for its grader instead of for its readers: taken out and told.

Code and logs of research on models are full of prompts, roles and labels, and a rubric may well ask for them.
So other signs count here than in a conclusion (`firetrial_judge.manipulation`): a line is taken out where it
speaks to the one who grades this submission, asks for answers or marks, imitates the form that grades have,
or sets the grading's rules aside. Everything else stays, behind fences that no writer can know.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence

from firetrial_judge.hostile import fold, hidden, unhidden
from firetrial_judge.text import clean, sentences

_TOGETHER = 3  # neighbouring lines that an order may be spread over
_SHORT = 200  # characters up to which a line is taken out as a whole
_SHOWN = 60
_GRADER = r"(?:(?:auto)?graders?|judges?|evaluators?|assessors?|examiners?|markers?|reviewers?)"
_WHO = rf"(?:(?:the|an?|our|my|any|all|dear|automated|automatic|ai|llm|model|paper) ){{0,3}}{_GRADER}"
_ALL = r"(?:every|all|each|any|the|these|this|those)"
_ASKED = (
    r"(?:questions?|criteri(?:on|a)|requirements?|lea(?:f|ves)|rubrics?|rubric items?|items?|conditions?)"
)
_WORK = (
    r"(?:submission|paper|work|rubric|replication|reproduction|repository|repo|project|question|requirement)"
)
_GOOD = r"(?:yes|pass(?:ed|ing)?|true|met|satisfied|fulfilled|complete[d]?|correct|full|1(?:\.0)?\b|100)"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_SIGNS: dict[str, re.Pattern[str]] = {
    "addresses the grader": _any(
        r"\b(?:dear|attention|hey|hello|(?:note|message|memo|instructions?|hint|notice) (?:to|for))[,:]? "
        rf"{_WHO}\b",
        rf"(?:^|[.!?:;#*/>]\s*){_WHO}\s*[,:!].{{0,80}}\b"
        r"(?:answer|mark|grade|score|give|pass|accept|award|you)\b",
        rf"\bif you(?: are|'re) (?:an? |the )?(?:ai|llm|large language|language model|automated|{_GRADER})\b",
        r"\byou(?: are|'re) (?:now )?(?:grading|judging|evaluating|marking|scoring|reviewing|assessing) "
        rf"(?:this|the|my|our|a) (?:\w+ )?{_WORK}\b",
        rf"\b{_GRADER} (?:must|should|shall|will|ha(?:s|ve) to|"
        r"(?:is|are) (?:required|asked|told|instructed) to) "
        r"(?:\w+ )?(?:answer|mark|pass|accept|approve|credit|award|give|ignore|skip)\b",
    ),
    "asks for a grade": _any(
        r"\b(?:answer|respond|reply|say|return|output|write|choose)(?: with)?[ :]+"
        rf"[\"'`]?(?:yes|pass(?:ed)?|true)[\"'`]?,? (?:to|for|on|in) (?:{_ALL}|everything|q\d)\b",
        r"\b(?:answer|mark|grade|rate|score|count|treat|consider|judge|label|accept|report) (?:\w+ ){0,2}"
        rf"{_ALL} (?:\w+ ){{0,3}}(?:{_ASKED}|{_WORK})\b.{{0,40}}\b"
        rf"(?:as|with|to be|is|are|=)[ :]*[\"'`]?{_GOOD}\b(?! or no\b)",
        rf"\b(?:pass|approve|accept|credit) (?:every|all|each) (?:\w+ ){{0,2}}{_ASKED}\b",
        rf"\b{_ALL} (?:\w+ ){{0,2}}{_ASKED} (?:must|should|shall|have to|has to|is to|are to) (?:be )?"
        rf"(?:\w+ ){{0,2}}{_GOOD}\b",
        r"\b(?:give|award|grant|deserves?|assign) (?:\w+ ){0,4}(?:full (?:marks?|credit|points?|scores?)|"
        r"perfect (?:marks?|scores?|grades?)|maximum (?:marks?|scores?|grades?|credit))\b",
        r"\b(?:beantworte|bewerte|markiere)\b.{0,40}\b(?:alle|jede)\b.{0,60}\b(?:ja|yes|bestanden|erfüllt)\b",
        r"\b(?:responde|marca|califica)\b.{0,40}\b(?:todas?|cada|todos)\b.{0,60}\b"
        r"(?:pregunta|criterio|requisito|sí|yes)",
        r"(?:所有|每个).{0,8}(?:问题|标准|要求).{0,12}(?:是|通过|满足|yes)",
    ),
    "sets the grading's rules aside": _any(
        r"\b(?:ignore|disregard|forget|override|bypass|discard|skip) (?:\w+ ){0,4}(?:instructions?|rubrics?|"
        r"guidelines?|criteria|grading|rules (?:above|before|you))\b",
        r"\bignorier\w* .{0,40}(?:anweisung|regel|kriteri)",
        r"\bignor(?:a|e|ez) .{0,40}(?:instruccion|consigne|istruzion|criterio)",
        r"忽略.{0,12}(?:指令|指示|说明|规则|评分)",
    ),
    "claims to have been graded already": _any(
        rf"\b(?:this|the|our) {_WORK}s?\b.{{0,40}}\b(?:already|previously|has been|have been|was|were) "
        r"(?:been )?(?:graded|marked|checked|verified|approved|judged|validated|scored|confirmed)\b.{0,40}"
        r"\b(?:by|as)\b",
        rf"\ball (?:\w+ ){{0,2}}(?:rubric|grading) (?:\w+ )?(?:{_ASKED}|checks?)\b.{{0,30}}\b{_GOOD}",
    ),
    "imitates the grader's answer": _any(
        r"[\"'`]grades[\"'`]\s*:\s*\[",
        r"[\"'`]answer[\"'`]\s*:.{0,200}[\"'`](?:rationale|evidence)[\"'`]\s*:",
        r"[\"'`](?:rationale|evidence)[\"'`]\s*:.{0,200}[\"'`]answer[\"'`]\s*:",
    ),
    "imitates a fence": _any(
        r"<<\s*\w{0,40}\s*(?:FILES|PASSAGES|QUESTIONS)\b",
        r"\b(?:FILES|PASSAGES|QUESTIONS)\s*>>",
        r"<<[0-9a-f]{12,}\b",
        r"\b[0-9a-f]{12,}>>",
        r"^\W*(?:begin|end)[ _-](?:of[ _-])?(?:the[ _-])?(?:files|passages|questions|submission)\b",
    ),
}
# No sign without one of these: most lines are done with here.
_HINT = re.compile(
    r"grader|judg|evaluat|assess|examiner|marker|review|grading|grades|you are|you're|\bai\b|llm|"
    r"language model|yes|pass|true|questions?|criteri|requirement|rubric|lea(?:f|ves)|instruction|guideline|"
    r"rules|credit|marks?\b|points?\b|scores?\b|answer|rationale|<<|>>|begin|end|ignor|beantworte|bewerte|markiere|responde|"
    r"marca|califica|所有|每个|忽略|submission|conditions?",
    re.IGNORECASE,
)
_STEP = r"\[step \d+\]\s*(?:\||\$|(?:says|concludes|event|edits):)"  # begins the lines of a run's own log
_LEADER = re.compile(rf"^\s*(?:(?:{_STEP}|#+|//+|/\*+|\*+/?|%+|--+|>+|;+|<!--|-|\"\"\"|''')\s*)+|\s*-->\s*$")
_ENCODED = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{24,4000}={0,2}(?![\w+/=])")
_SPELLED = re.compile(r"(?:\b[A-Za-z][ .·_-]){6,}[A-Za-z]\b")


def reason(text: str) -> str:
    """Why a text is meant for the grader; empty where it is not."""
    return next((told for told, sign in _SIGNS.items() if sign.search(text)), "")


def screen(raw: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A file's lines made harmless, one for one, and what was taken out of them, in words."""
    found: list[str] = []
    if any(map(hidden, raw)):
        found.append("holds hidden characters")
    lines = [clean(line).rstrip() for line in raw]
    views = [" \n ".join(_views(line)) for line in raw]
    hints = [bool(_HINT.search(view)) for view in views]
    for at, hint in enumerate(hints):
        if hint:
            found += _taken_out(lines, views, at)
    return tuple(lines), tuple(found)


def _taken_out(lines: list[str], views: list[str], at: int) -> Iterator[str]:
    """Take out what is meant for the grader in the line at `at`, or in it and those after it."""
    for count in range(1, _TOGETHER + 1):
        window = range(at, min(at + count, len(lines)))
        # What was taken out before, or will be for itself, must not take what stands beside it along.
        if any(not lines[n] and views[n].strip() for n in window) or reason(
            " ".join(views[at + 1 : at + count])
        ):
            return
        if why := reason(" ".join(views[at : at + count])):
            shown = " ".join(" ".join(lines[n] for n in window).split())[:_SHOWN]
            yield f"{why}, line {at + 1}: {shown!r}"
            for n in window:
                lines[n] = _without(lines[n]) if count == 1 else ""
            return


def _without(line: str) -> str:
    """A line without the sentences that are meant for the grader; nothing of it where no one alone is."""
    if len(line) <= _SHORT:
        return ""
    kept = list(line)
    for span in sentences(line, 0, len(line)):
        if reason(fold(line[span.start : span.end])):
            kept[span.start : span.end] = " " * (span.end - span.start)
    left = "".join(kept).rstrip()
    return "" if left == line else left


def _views(line: str) -> Iterator[str]:
    """The line as a clever reader may read it: without hidden characters, disguise, gaps and encodings."""
    plain = _LEADER.sub("", fold(unhidden(line)))
    yield " ".join(plain.split())
    if _SPELLED.search(plain):
        yield " ".join(re.sub(r"(?<=\b\w)[ .·_-](?=\w\b)", "", plain).split())
    for match in _ENCODED.finditer(plain):
        yield from _decoded(match.group())


def _decoded(word: str) -> Iterator[str]:
    try:
        text = base64.b64decode(word, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return
    if text.isprintable():
        yield text

"""A proposal made safe to assess: what speaks to its assessor instead of about the study is not shown.

Agents write proposals and know that they are judged. A passage that addresses the assessor, asks for a
bucket, imitates its answer or the prompt, or hides itself is left out and listed; the rest is assessed as it
stands, so that a manipulation gains nothing. A model is told besides that everything it reads is data.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from firetrial_parser.prose import sentences
from firetrial_parser.soundness.proposal import Proposal

LEFT_OUT = "[passage to the assessor left out]"
_SHOWN = 80
_MOST, _OVERLAP = 2000, 200  # characters that are searched at a time, and that two of such pieces share
_HIDDEN_FROM = 4  # hidden characters; fewer come from word processors
_HIDDEN = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e01ef]"
)
# Cyrillic and Greek letters that look Latin.
_TWINS = str.maketrans(
    "аеорсухіјѕһԁАВЕКМНОРСТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧοιν", "aeopcyxijshdABEKMHOPCTYXABEZHIKMNOPTYXoiv"
)
_WHO = (
    r"(?:reviewers?|assessors?|judges?|graders?|evaluators?|raters?|referees?|gate ?keepers?|gate|"
    r"assistant|model|"
    r"(?:ai|llm|language) (?:model|assistant|system)|chatgpt|gpt|claude|gemini|llm|ai)"
)
_GIVE = (
    r"(?:rate|mark|label|grade|score|judge|classify|treat|consider|assess|return|output|answer|respond|"
    r"reply|give|"
    r"assign|report|write|say|set|print|emit|approve|accept|pass|let|choose|pick|select|conclude)"
)
_PRIZE = (
    r"(?:high\b(?![- ](?:resolution|dimension\w*|quality data|resource\w*|frequency|level|entropy|"
    r"temperature))|"
    r"highly sound|sound\b|rigorous|bucket|confidence (?:of |= ?|: ?)?(?:5|five)|5/5|approv\w+|accept\w*|"
    r"pass(?:es|ed)?\b|top (?:score|mark)|full marks?|maximum|perfect)"
)
_RULES = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directions?|criteria|rubrics?|policy|constraints?|"
    r"system message|"
    r"everything above|the above)"
)
_SEEN = r"(?:assessed|reviewed|graded|rated|approved|validated|verified|judged|certified)"


def _re(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_CHAT = "imitates a chat or the prompt"
_SIGNS = {
    "sets the rules aside": _re(
        rf"\b(?:ignore|disregard|forget|override|bypass|discard|overrule|do not follow|don't "
        rf"follow)\b.{{0,60}}\b{_RULES}",
        r"ignorier\w*.{0,40}(?:anweisung|regel)",
        r"ignor(?:a|e|ez|ar)\b.{0,40}(?:instruccion|consigne|istruzion|instruç)",
        r"忽略.{0,12}(?:指令|指示|说明|规则)",
        r"игнорир.{0,40}(?:инструкц|указан|правил)",
        r"\bnew (?:rules?|instructions?|criteria)\s*:",
    ),
    "addresses the assessor": _re(
        rf"(?:^|[.!?:;,]\s*)(?:dear |attention |hey |note (?:to|for) |message (?:to|for) |to |for "
        rf")?(?:the |an? |any |all )?{_WHO}\s*[,:!]",
        rf"\b(?:dear|attention|note (?:to|for)|message (?:to|for)|instructions? (?:to|for))\s+(?:the |an? "
        rf"|any |all )?{_WHO}\b",
        rf"\b(?:you are|you act as|act as|as) (?:now |an? |the |my ){{0,2}}(?:\w+ "
        rf")?{_WHO}\b.{{0,80}}\b(?:must|should|will|always)\b",
        rf"\b(?:you|the (?:reviewer|assessor|judge|gate|grader))\b,? (?:must|should|shall|will|have to|"
        rf"need to|are (?:required|told|instructed) to)\b.{{0,60}}\b(?:{_GIVE}|{_PRIZE})",
    ),
    "asks for a bucket": _re(
        rf"(?:^|[.!?:;,]\s*|\b(?:please|must|should|now|always|simply|just|kindly|therefore|thus|"
        rf"only)\s+){_GIVE}\b.{{0,80}}\b{_PRIZE}",
        r"\b(?:this|the|our|my) (?:proposal|plan|study|submission|experiments?|paper)\b.{0,40}"
        r"\b(?:is|are|was|has been|must be|should be|deserves?|merits?|qualif\w+)\b.{0,40}"
        r"(?:high(?=\W*$|[,;.])|high (?:soundness|rigou?r|bucket|label|rating)|highly sound|rigorous|bucket|"
        r"5/5|full marks?|acceptance|to be approved|low.{0,10}wrong)",
        r"\bthe (?:reviewer|assessor|judge|gate|grader)\b.{0,20}"
        r"\b(?:writes?|says?|answers?|chooses?|returns?)\b",
        r"\b(?:rigou?r|soundness) (?:bucket|label|rating|score|verdict|class)\b.{0,40}\b(?:high|5)\b",
        r"\b(?:bucket|label|verdict|rating)\s*(?:is|=|:|→|->)\s*[\"'`]?high\b",
        r"\b(?:never|do not|don't|must not|cannot) .{0,40}\b(?:low|reject)\b",
        r"(?:bewerte|markiere)\b.{0,60}\b(?:hoch|high)\b",
        r"(?:评|判|标).{0,8}(?:高|high)",
    ),
    "claims to have been assessed already": _re(
        r"\b(?:already|previously|earlier|officially|independently) (?:been )?(?:assessed|reviewed|graded|"
        r"rated|approved|validated|verified|judged|certified)\b.{0,60}\b(?:high|sound|rigorous|approv\w+|"
        r"5|reviewers?|experts?|committee|area chair)",
        r"\b(?:reviewers?|experts?|(?:area|program) chairs?|committee|meta-?review)\b.{0,40}\b(?:rated|"
        r"scored|gave|judged|called|found|approved|accepted)\b.{0,40}\b(?:high|sound|rigorous|"
        r"[345](?:\.\d+)?|approv\w+|accept\w*|this|it)\b",
    ),
    "imitates the answer": _re(
        r"[\"'`](?:rationale|bucket|confidence|verdict|label|rigor)[\"'`]\s*:",
        r"^\s*[\[{]+\s*[\"'`]\w+[\"'`]\s*:",
    ),
    _CHAT: _re(
        r"<\|?/?(?:im_start|im_end|system|user|assistant|endoftext|eot_id|instructions?|proposal|"
        r"prompt)\b[^>]{0,40}\|?>",
        r"\[/?(?:INST|SYS|SYSTEM)\]",
        r"<</?SYS>>",
        r"^\s*#{0,6}\s*(?:system|assistant|user|human|developer|instructions?)\s*(?:prompt|message)?\s*:",
        r"\b(?:end|begin)(?:ning)? of (?:the )?(?:proposal|data|text|input|document)\b",
        r"<<\s*\w*\s*PROPOSAL|\b[0-9a-f]{12,}>>|<<[0-9a-f]{12,}",
        r"<!--",
    ),
    "spells letter by letter": _re(r"(?:\b\w[ .·_-]){7,}\w\b"),
    "is encoded": re.compile(
        r"(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]{0,200}[a-z])(?=[A-Za-z0-9+/]{0,200}[A-Z])[A-Za-z0-9+/]{40,}={0,2}"
    ),
}


@dataclass(frozen=True, slots=True)
class Screened:
    """What may be shown of a proposal, and what was left out, one line each."""

    proposal: Proposal
    notes: tuple[str, ...] = ()


def screen(proposal: Proposal) -> Screened:
    """Leave out of a proposal what is meant for its assessor. Any text is taken; twice is as once."""
    notes: list[str] = []

    def change(part: str, text: str) -> str:
        if len(_HIDDEN.findall(text)) >= _HIDDEN_FROM:
            notes.append(f"{part} holds hidden characters")
        kept: list[str] = []
        for line in _plain(text).split("\n"):
            told, over = _screened(part, line, notes)
            kept.append(told)
            if over:
                break
        return "\n".join(kept)

    return Screened(proposal.mapped(change), tuple(dict.fromkeys(notes)))


def reason(sentence: str) -> str:
    """Why a sentence is meant for the assessor; "" where it is not."""
    pieces = [
        sentence[at : at + _MOST] for at in range(0, max(1, len(sentence) - _OVERLAP), _MOST - _OVERLAP)
    ]
    return next((why for why, sign in _SIGNS.items() for piece in pieces if sign.search(piece)), "")


def _screened(part: str, line: str, notes: list[str]) -> tuple[str, bool]:
    """The line without its passages, and whether the part ends with it.

    What follows an imitated chat or prompt was written to be read as something else: none of it is kept.
    """
    kept: list[str] = []
    for sentence in sentences(line):
        why = reason(sentence) if sentence != LEFT_OUT else ""
        if not why and kept and kept[-1] != LEFT_OUT and sentence != LEFT_OUT:
            why = reason(f"{kept[-1][-_OVERLAP:]} {sentence[:_OVERLAP]}")  # it shows over a sentence's end
            kept[-1] = LEFT_OUT if why else kept[-1]
        if why:
            notes.append(f"a passage in {part} {why}: {sentence[:_SHOWN]!r}")
        kept.append(LEFT_OUT if why else sentence)
        if why == _CHAT:
            return " ".join(kept), True
    return " ".join(kept), False


def _plain(text: str) -> str:
    """Full-width and mathematical letters and look-alikes as plain Latin, and nothing hidden."""
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFKC", _HIDDEN.sub("", text))
    return re.sub(r"\w+", lambda match: _untwinned(match[0]), folded)


def _untwinned(word: str) -> str:
    latin = word.translate(_TWINS)
    return latin if latin.isascii() and any(c.isascii() and c.isalpha() for c in word) else word

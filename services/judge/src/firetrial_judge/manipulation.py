"""How a sentence gives away that it was written for a judge: whom it speaks to, what it asks or imitates."""

from __future__ import annotations

import re

_JUDGE = (
    r"(?:judges?|evaluators?|graders?|reviewers?|assessors?|scorers?|markers?|raters?|verifiers?|"
    r"(?:ai|llm|language) (?:model|assistant|system)|assistant|chatgpt|gpt|claude|llm|ai)"
)
_THE = r"(?:the |an? |our |my |all |any |whichever )?(?:automated |automatic )?"
_RULES = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directions?|constraints?|context|reference|ground truth|"
    r"schema|criteria|rubrics?|system message|policy)"
)
_ORDER = (
    r"(?:mark|label|rate|score|judge|grade|treat|count|consider|classify|return|output|answer|respond|reply|"
    r"give|assign|award|declare|report|write|say|set|accept|print|emit|produce|use|apply|skip|approve|pass|"
    r"credit|follow|obey|note)"
)
_PRIZE = (
    r"(?:entail(?:ed|ment|s)?|correct|true|supported|full (?:marks?|credit|points?|score)|perfect|maximum|"
    r"highest (?:score|grade|marks?)|1\.0|100 ?%|precision|recall|f1|neutral|contradicted|unscored|verdicts?|"
    r"matches|matched|valid|pass(?:ed|ing)?)"
)
_TAG = (
    r"(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|instructions?|reference|"
    r"claims?|conclusion|ground_?truth|verdicts?|judge|prompt|tool\w*|text)"
)
_SIDE = r"(?:reference|claims?|conclusion|data|text|system|prompt|instructions?|ground[ _-]truth|input|user)"


CHAT, FENCE = "imitates a chat or a prompt", "closes a fence"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_SIGNS: dict[str, re.Pattern[str]] = {
    "sets the judge's rules aside": _any(
        r"(?:^|[.!?:;,\"'“‘(]\s*|\b(?:please|must|should|now|then|and|to|you|can|may|just|simply)\s+)"
        r"(?:ignore|disregard|forget|override|bypass|discard|overwrite|do not follow|don't follow|"
        rf"stop following|supersedes?|replaces?)\b.{{0,60}}\b{_RULES}\b",
        r"ignorier\w*.{0,40}(?:anweisung|regel)",
        r"ignor(?:a|e|ez|ar)\b.{0,40}(?:instruccion|consigne|istruzion|instruç)",
        r"忽略.{0,12}(?:指令|指示|说明|规则)",
        r"игнорир.{0,40}(?:инструкц|указан|правил)",
    ),
    "addresses the judge": _any(
        rf"(?:^|[.!?:;,]\s*|\b(?:to|for|as) {_THE}){_JUDGE}\s*[,:!–—]",
        r"\b(?:dear|attention|hey|hello|note (?:to|for)|message (?:to|for)|instructions? (?:to|for))\s+"
        rf"{_THE}{_JUDGE}\b",
        r"\b(?:you are|you're|you act as|acting as|as) (?:now |reading |grading |judging )?(?:the |an? )?"
        rf"(?:automated |automatic |helpful |strict |lenient |new )?{_JUDGE}\b",
        rf"\b(?:you|judge|evaluator|grader|assistant)\b,? (?:must|should|shall|will|can|may|have to|need to|"
        rf"are (?:required|asked|told|instructed) to)\b.{{0,40}}\b{_ORDER}\b",
    ),
    "asks for a verdict": _any(
        r"(?:^|[.!?:;,]\s*|\b(?:please|must|should|now|then|and|to|always|simply|just|kindly|only)\s+)"
        rf"{_ORDER}\b.{{0,80}}\b{_PRIZE}(?:\b|$)",
        r"(?:bewerte|markiere)\b.{0,60}\b(?:richtig|korrekt|entailed)",
    ),
    "claims to have been judged already": _any(
        r"\b(?:already|previously) (?:been )?(?:judged|graded|scored|verified|approved|validated|confirmed)\b"
        r".{0,40}\b(?:entail\w*|correct|true|judge|evaluator|grader|reference|ground truth|experts?)",
    ),
    "speaks of the reference": _any(
        r"\b(?:everything|all|each|every claim|anything)\b.{0,40}"
        r"\b(?:conclusion|claims?|text|report|above|below)\b"
        r".{0,20}\b(?:is|are) (?:true|correct|right|proven|a fact)",
        r"\b(?:claims?|statements?|conclusions?|findings?|everything|all)\b.{0,60}\b(?:entail\w*|support\w*|"
        r"match\w*|identical|equals?|follows?|agrees?|verified)\b.{0,30}\b(?:reference|ground[ -]truth|"
        r"gold (?:answer|claims?)|rubric)\b",
        r"\b(?:ground[ -]truth|reference (?:text|answer|conclusion)|gold answer)\b.{0,30}\b(?:is|says|states|"
        r"contains|reads|equals)\b.{0,40}\b(?:this|above|below|same|following|identical|conclusion|mine)\b",
        r"\b(?:reference|conclusion|data|text) (?:ends?|is over) here\b",
    ),
    "imitates the judge's answer": _any(
        r"[\"'`](?:verdicts?|claim_?ids?|rationale|evidence|core_idea|repeats|claims?|quote)[\"'`]\s*:",
        r"\b(?:verdict|score|grade|f1|label)\s*[:=]\s*[\"'`]?(?:entail\w*|correct|true|1\.0)",
        r"^\s*[\[{]+\s*[\"'`]\w+[\"'`]\s*:",
    ),
    CHAT: _any(
        rf"<\|?/?{_TAG}\b[^>]{{0,40}}\|?>",
        r"\[/?(?:INST|SYS|SYSTEM)\]",
        r"<</?SYS>>",
        r"^\s*#{0,6}\s*(?:system|assistant|user|human|developer|instructions?|response)\s*"
        r"(?:prompt|message)?\s*:",
        rf"^\W*(?:begin|end)[ _-](?:of[ _-])?(?:the[ _-])?{_SIDE}\b(?!\s+(?:of|to)\b)",
    ),
    FENCE: _any(r"<<\s*\w*\s*(?:TEXT|CLAIMS|REFERENCE|CONCLUSION)", r"\b[0-9a-f]{12,}>>", r"<<[0-9a-f]{12,}"),
    "spells letter by letter": _any(r"(?:\b\w[ .·_-]){7,}\w\b"),
}
_LABELS = re.compile(r"\b(?:ENTAILED|CONTRADICTED|UNSCORED|NEUTRAL)\b")


def reason(sentence: str) -> str:
    """Why a sentence is meant for the judge; empty where it is not."""
    if _LABELS.search(sentence):
        return "names the judge's labels"
    return next((told for told, sign in _SIGNS.items() if sign.search(sentence)), "")

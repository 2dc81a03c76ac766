"""What reports a finding: which sections, and which sentences in them."""

from __future__ import annotations

import re

from firetrial_judge.clauses import finite
from firetrial_judge.effects import directional
from firetrial_judge.quantities import quantities
from firetrial_judge.words import words

_NUMBERING = r"^\W*(?:\d+[.)]?\s*)?"
_FINDING_TITLE = re.compile(
    _NUMBERING + r"(?:(?:key|main|overall|final|major|primary|core|detailed|experimental|summary of|the)\s+)*"
    r"(?:results?|findings?|conclusions?|takeaways?|observations?|insights?|outcomes?|answer|discussion|evidence|"
    r"abstract|tl;?dr|analysis|answer to .*|what (?:we|i) found)\b.{0,40}$",
    re.IGNORECASE,
)
_OTHER_TITLE = re.compile(
    _NUMBERING + r"(?:(?:summary of|key|main|practical|generated|output|overall|experimental|study|the|saved|"
    r"important|implementation|next|approach|proposed|future|data|notes?(?: and)?|known|potential)\s+)*"
    r"(?:methods?|methodology|approach(?: executed)?|design|set-?ups?|procedures?|protocols?|reproducibility|"
    r"files?|artifacts?|deliverables?|outputs?|scripts?|code|recommendations?|limitations?|caveats?|notes?|"
    r"future work|next steps?|steps?|plan|references?|datasets?|models?|metrics?|implementation|"
    r"configurations?|appendix|acknowledge?ments?|budget(?:-compliant)?.*|what (?:we|i) did|how to .*|usage|"
    r"environment|requirements)(?:\s+(?:and|&)\s+\w+){0,2}\W*$",
    re.IGNORECASE,
)
_LABEL = re.compile(r"([A-Z][\w /&-]{2,60}?)\s*:\s+(?=\S)")


def opens_findings(line: str) -> bool | None:
    """Whether a line that is a section's title opens findings; None for a line that is no known title."""
    bare = line.strip(" *_#:.")
    if len(bare.split()) > 8 or not bare:
        return None
    if _OTHER_TITLE.match(bare):
        return False
    return True if _FINDING_TITLE.match(bare) else None


def split_title(sentence: str) -> tuple[bool | None, str]:
    """What a title at a sentence's start opens (see `opens_findings`), and the sentence without it."""
    opened = opens_findings(sentence)
    if opened is not None:
        return opened, ""
    label = _LABEL.match(sentence)
    opened = opens_findings(label[1]) if label else None
    return opened, sentence[label.end() :] if label and opened is not None else sentence


_PATH = re.compile(
    r"(?:^|\s|[`'\"(])(?:\.{0,2}/[\w.-]+/?[\w./-]*"
    r"|[\w./-]+\.(?:py|ipynb|csv|json|jsonl|md|txt|png|pdf|svg|log|npy|pkl|sh|yaml|yml|parquet|html))\b"
)
_DONE = re.compile(
    r"\b(?:(?:all|the) (?:work|tasks?|experiments?|steps?|analys[ei]s|outputs?|requirements?)\b.{0,40}\b"
    r"(?:complete|completed|done|finished|saved|met)|no further action|"
    r"task is (?:now )?(?:complete|finished|done)|"
    r"this (?:completes|concludes)|here (?:is|are) (?:a|the|my)\b|let me know|feel free|happy to|"
    r"(?:saved|written|stored|available|listed|logged) (?:to|in|at|under|as|above|below)\b)",
    re.IGNORECASE,
)
_READ = re.compile(
    r"^(?:please )?(?:see|refer|read|check|consult|look at|open|find|view|run|inspect)\b", re.IGNORECASE
)
_ADVICE = re.compile(
    r"^(?:please |always |never |do not |don't )?(?:use|avoid|consider|place|prefer|apply|try|ensure|keep|"
    r"adopt|report|choose|select|set|put|add|make sure|remember)\b",
    re.IGNORECASE,
)
_NORM = re.compile(
    r"\b(?:should|must|ought to) (?:never |not |always |only )?(?:be )?(?:us|avoid|prefer|cho|appl)"
)
_PLAN = re.compile(
    r"\b(?:i|we) (?:will|would|plan|intend|am going|are going|should|could)\b|^(?:next|todo)\b", re.IGNORECASE
)
_NARRATION = re.compile(
    r"^(?:(?:i|we|first|then|next|finally|also|in this (?:study|work|paper|experiment|report)|"
    r"to (?:answer|test) .{5,80}?|robustly|successfully|additionally)[, ]+)*"
    r"(?:ran|run|designed|executed|implemented|queried|evaluated|used|trained|tested|measured|computed|"
    r"calculated|analy[sz]ed|collected|parsed|performed|created|built|wrote|sampled|generated|loaded|split|"
    r"fine-?tuned|compared|conducted|constructed|prepared|redacted|selected|varied|investigated|examined|"
    r"studied|explored|repeated|fitted|evaluate|test|measure|compare|train|vary|study|investigate|examine|"
    r"analy[sz]e|conduct|use|explore|present|introduce|propose|report)\b",
    re.IGNORECASE,
)
_FOUND = re.compile(
    r"\b(?:find|found|shows?|showed|shown|observed?|concluded?|suggests?|indicates?|reveals?|demonstrates?|"
    r"confirms?) that\s",
    re.IGNORECASE,
)
_VALUE = re.compile(r"[:=≈→<>≥≤]|\d")


def is_finding(clause: str) -> bool:
    """Whether a clause says what was found, not what was done, is planned, advised or lies in which file."""
    found = words(clause)
    if len([word for word in found if len(word.written) > 1]) < 3 and not (found and quantities(clause)):
        return False
    if clause.endswith(("?", ":")) or any(p.search(clause) for p in (_READ, _ADVICE, _NORM, _PLAN, _DONE)):
        return False
    if _NARRATION.match(clause) and not _FOUND.search(clause):
        return False
    told = any(directional(word) for word in found)
    if _PATH.search(clause) and not told:
        return False
    # Six words hold a verb, known or not; fewer without one are a title.
    return told or len(found) > 5 or any(finite(word) for word in found) or bool(_VALUE.search(clause))

"""Which sentences of a paper cite a figure or table, and which of them state what was found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from firetrial_parser.document import Document
from firetrial_parser.headings import NOT_PROSE
from firetrial_parser.prose import sentences

FOLLOW_UPS = 2  # sentences after "Figure 2 shows the results." that may still be about Figure 2
MAX_SENTENCES = 8

_CITED = re.compile(
    r"\b(?P<kind>[Ff]ig(?:ure|\.)?|FIG(?:URE)?|[Tt]ab(?:le|\.)?|TABLE)s?\.?\s*"
    r"(?P<list>[A-Z]?\.?\d+(?:\.\d+)*[a-z]?(?:\s*(?:,|-|–|and|&|to|,\s*and)\s*[A-Z]?\.?\d+(?:\.\d+)*[a-z]?)*)"
)
_ITEM = re.compile(r"(?P<dash>[-–]|to)?\s*(?P<prefix>[A-Z]?\.?)(?P<number>\d+(?:\.\d+)*)[a-z]?")

_EFFECT = re.compile(
    r"""\b(?:higher|highest|lower|lowest|better|best|worse|worst|larger|largest|smaller|smallest|fewer|fewest
    |stronger|strongest|weaker|weakest|faster|slower|greater|greatest|closer|more|less
    |increas\w+|decreas\w+|improv\w+|degrad\w+|declin\w+|deteriorat\w+|drop(?:s|ped)?|falls?|fell|rises?|rose
    |grows?|grew|shrinks?|shrank|reduc\w+|gains?|hurts?|benefits?|boost\w*|mitigat\w+|enhanc\w+
    |out-?perform\w*|under-?perform\w*|exceed\w*|surpass\w*|excels?|near-perfect|saturat\w+
    |significant(?:ly)?|substantial(?:ly)?|consistent(?:ly)?|marginal(?:ly)?|robust(?:ly)?|identical|comparable
    |differs?|differences?|no\s+(?:effect|change|improvement|advantage|evidence)|correlat\w+|U-shaped|bias(?:es|ed)?
    |fails?|failed|struggles?|tends?|remains?|achiev\w+|reach(?:es|ed)|cannot|unable|exhibits?|linear(?:ly)?
    |overestimat\w+|underestimat\w+|overconfiden\w+|calibrated|accurately|easier|harder)\b
    |\d(?:\.\d+)?\s?(?:%|percent|points?|pp)|\d\.\d+""",
    re.VERBOSE | re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:find|found|finds|observe[ds]?|reveal\w*|suggest\w*|indicat\w+|demonstrat\w+|confirm\w*|shows?\s+that"
    r"|see\s+that|conclude[ds]?|evidence)\b",
    re.IGNORECASE,
)
_POINTER = re.compile(
    r"""\b(?:examples?|overview|illustrat\w+|set-?up|pipeline|workflow|prompts?|templates?|schematic|definitions?|notation
    |summari[sz]es?\s+(?:the\s+)?(?:data|statistics|prompts|tasks)|hyper-?parameters?|provides?|presents?|we\s+report|computed\s+as|defined\s+as|note\s+that|listed
    |(?:fig(?:ure|\.)?|table|appendix|section)s?\s*[\w.]*\s+(?:also\s+)?lists?|we\s+(?:also\s+)?list|lists\s+of
    |details?|depicts?|depicted|described|see\s+(?:also\s+)?(?:figure|table|fig))\b""",
    re.VERBOSE | re.IGNORECASE,
)
# Words of effect where there is none: pointers, bounds, and what the authors themselves did.
_NO_FINDING = re.compile(
    r"\bmore\s+(?:details?|examples?|information|results?)\b|\bat least\b|\bless than\b|\bmore than\b"
    r"|\bwe\s+(?:increas|decreas|reduc|improv|grow)\w+(?:\s+or\s+(?:increas|decreas|reduc)\w+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Citation:
    """A sentence that cites a label, with its place: indices of section, paragraph and sentence."""

    label: str
    section: int
    paragraph: int
    sentence: int
    text: str


def cited_labels(sentence: str) -> set[str]:
    """The figures and tables a sentence cites, spelt out: "Figs. 2-4a" → Figure 2, Figure 3, Figure 4."""
    return set(_labels(sentence))


def _labels(sentence: str) -> Iterator[str]:
    for match in _CITED.finditer(sentence):
        kind = "Figure" if match["kind"].lower().startswith("fig") else "Table"
        last = 0
        for item in _ITEM.finditer(match["list"]):
            number = item["number"]
            if item["dash"] and last and number.isdigit() and last < int(number) <= last + 20:
                yield from (f"{kind} {n}" for n in range(last + 1, int(number)))
            last = int(number) if number.isdigit() and not item["prefix"] else 0
            yield f"{kind} {item['prefix']}{number}"


def effects(sentence: str) -> list[str]:
    """The words of a sentence that say what came out ("higher", "drops", "3.5")."""
    return [match[0] for match in _EFFECT.finditer(_NO_FINDING.sub("", sentence))]


def is_finding(sentence: str) -> bool:
    """Whether a sentence states a result rather than pointing at one or describing a set-up."""
    text = _NO_FINDING.sub("", sentence)
    if len(text.split()) < 5 or text.rstrip().endswith("?"):
        return False
    telling, claimed = len(effects(sentence)), _CLAIM.search(text) is not None
    if _POINTER.search(text):
        return telling >= 2 or (telling == 1 and claimed)
    return telling > 0 or claimed


def citations(document: Document) -> dict[str, list[Citation]]:
    """Every citation in running text by label, in reading order; abstract and references left out."""
    found: dict[str, list[Citation]] = {}
    for s, section in enumerate(document.sections):
        if section.title.lower() in NOT_PROSE:
            continue
        for p, paragraph in enumerate(section.paragraphs):
            for n, sentence in enumerate(sentences(paragraph)):
                for label in cited_labels(sentence):
                    found.setdefault(label, []).append(Citation(label, s, p, n, sentence))
    return found


def conclusions(document: Document, cited: Sequence[Citation]) -> list[str]:
    """The findings that the citing sentences, and those right after them, state; at most eight."""
    out: list[str] = []
    for citation in cited:
        paragraph = sentences(document.sections[citation.section].paragraphs[citation.paragraph])
        if is_finding(citation.text):
            out.append(citation.text)
        if _narrates(citation):
            out += _follow_ups(paragraph[citation.sentence + 1 :])
    return list(dict.fromkeys(out))[:MAX_SENTENCES]


def _narrates(citation: Citation) -> bool:
    """Whether the sentence is about the figure ("Figure 2 shows …"), not one that cites it in brackets."""
    return (
        re.match(rf"(?:(?:as|in|from)\b[^.,]*)?\(?{citation.label}\b", citation.text, re.IGNORECASE)
        is not None
    )


def _follow_ups(after: Sequence[str]) -> list[str]:
    out: list[str] = []
    for sentence in after[:FOLLOW_UPS]:
        if cited_labels(sentence) or not is_finding(sentence):
            break
        out.append(sentence)
    return out

"""Names that a paper gave to its own method: whoever knows one knows the way, and finds the paper."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from re import Pattern

from firetrial_parser import scope
from firetrial_parser.document import Document
from firetrial_parser.prose import sentences

_NAME = r"[A-Z][\w-]*(?:[ -][A-Z][\w-]*){0,3}"
_COINING = (
    r"(?:call(?:ed)?|nam(?:e|ed)|term(?:ed)?|dub(?:bed)?|refer(?:red)? to (?:this |it )?as"
    r"|introduced?|proposed?|present|develop(?:ed)?|coin(?:ed)?)"
)
_COINED = re.compile(
    rf"\b{_COINING}\s+(?:(?:this|it|the|our|a|an|these|new|novel|simple|method|approach|technique)\s+){{0,4}}"
    rf"[\"“'‘]?(?P<name>{_NAME}|[a-z]+(?:-[A-Za-z]+)+)"
)
_OWN = re.compile(
    rf"(?i)\b(?:we|our)\b[^.]{{0,80}}?\b{_COINING}\b|\b(?:method|approach|technique) {_COINING}\b"
)
_SHORT = re.compile(r"(?P<long>\b[A-Za-z][\w-]*(?: [\w-]+){1,5}) \((?P<name>[A-Z][A-Za-z]*[A-Z][\w-]*)\)")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """AI ML NLP LLM LLMs LM LMs QA RL RLHF SFT GPU CPU API NLI OOD ID IID RAG MLP CNN RNN LSTM PCA SVM
        MCQ ICL CI SD SE ROC AUC AUROC BLEU ROUGE USA US UK EU COVID HTML JSON PDF URL SQL CoT VLM MLLM""",
    )
)


def coined_names(
    document: Document, leaf_texts: Sequence[str], published: Sequence[str]
) -> list[Pattern[str]]:
    """The names that the paper coins and that the leaf's own texts use, but for what is published anyway."""
    leaf, free = " ".join(leaf_texts), " ".join(published).lower()
    coined = (name for section in document.sections for name in _coined(section.text))
    names = dict.fromkeys(name for name in coined if _uses(leaf, name) and name.lower() not in free)
    return [re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE) for name in names]


def _coined(text: str) -> Iterator[str]:
    """Names in sentences by which authors give one; an abbreviation brings what it stands for."""
    for sentence in sentences(text):
        if not _OWN.search(sentence):
            continue
        for match in _COINED.finditer(sentence):
            yield from _own(match["name"].strip("-"))
        for match in _SHORT.finditer(sentence):
            yield from _own(match["name"])
            if match["name"] not in _COMMON:
                yield from _own(_spelt_out(match["name"], match["long"]))


def _own(name: str) -> Iterator[str]:
    known = scope.models(name) or scope.datasets(name) or scope.metrics(name)
    if len(name) > 2 and name not in _COMMON and not known:
        yield name


def _spelt_out(name: str, long: str) -> str:
    return " ".join(long.split()[-sum(char.isupper() for char in name) :])


def _uses(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None

"""A research question made of a section's title and the words of the paper's, without its answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from firetrial_parser.headings import numbered
from firetrial_parser.prose import sentences
from firetrial_parser.tree import Node

# Titles that say where in a paper one is, not what it is about.
GENERIC = re.compile(
    r"""related\ works?|experiments?|experimental\ (?:setup|results|design)|set-?up
    |results?(?:\ and\ (?:discussion|analysis))?|main(?:\ results?)?|findings?|analysis|evaluation
    |discussion(?:\ and\ \w+)?|introduction|background|methods?|methodology|approach
    |overview(?:\ of\ methods?)?
    |detailed\ analysis|additional\ (?:results|experiments|files)|appendix.*|online\ methods|supplement\w*.*
    |more\ results.*|full\ .*results|further\ experiments.*|conclusions?.*|comparison.*|case\ study""",
    re.VERBOSE | re.IGNORECASE,
)
_FUNCTION = frozenset(
    re.findall(
        r"\w+",
        """a an the of in on at to for from by with without and or but as is are was were be been do does did
        how what when why which who where whether that this these those their its it they them we
        our i you your all any some more not no nor via into over under about between among using
        use uses used towards toward than then so such case study investigating understanding
        evaluating exploring analyzing analysing measuring assessing quantifying unmasking
        revisiting rethinking examining probing looking inward large new capture captures estimate
        estimates show shows understand understands""",
    )
)
_RESULT = re.compile(
    r"(?i)^(?:can|cannot|could|may|might|often|know|knows|lack|lacks|fails?|yet|still|lost|better|worse|best|more|less|outperform\w*"
    r"|improv\w*|increas\w*|decreas\w*|reduc\w*|degrad\w*|struggl\w*|consistent|inconsistent|robust|effective\w*|efficient\w*"
    r"|well|only|never|always|hard|easy|learn|have|has|make|makes|being|they|unreliable|reliable|beat\w*|help\w*|hurt\w*"
    r"|elicits?|enables?|successful\w*|significant\w*|themselves|itself|change|changes)$"
)
# A heading that asks with one of these words says what was found.
_ANSWER = re.compile(
    r"(?i)\b(?:not|no|increas\w+|decreas\w+|improv\w+|degrad\w+|fail\w*|robust|better|worse|outperform\w*|only|without"
    r"|lack\w*|struggl\w+|reduc\w+|hurts?|helps?)\b"
)
TOPIC_WORDS = 12
SUBJECT_CHUNKS = 3
CHUNK_WORDS = 4
NARROWED = 2  # metrics and data sets that a question names


def derive_question(
    sections: list[str], title: str, metrics: Sequence[str] = (), datasets: Sequence[str] = ()
) -> str:
    """A question from the titles of the sections above a leaf (nearest last) and the paper's title.

    What is measured, and on what, makes it narrower; both are public.

    >>> derive_question(["2 Key-Value Retrieval", "2.3 Results"], "Lost in the Middle: Use of Long Contexts")
    'What do experiments on key-value retrieval show about long contexts?'
    >>> derive_question(["2 Recall"], "Use of Long Contexts", ["accuracy"], ["SQuAD"])
    'What do experiments on recall show about long contexts, in accuracy on SQuAD?'
    """
    narrowed = "".join(
        f" {word} {_listed(list(names[:NARROWED]))}"
        for word, names in (("in", metrics), ("on", datasets))
        if names
    )
    asked = _asked(sections, title)
    return f"{asked[:-1]},{narrowed}?" if narrowed else asked


def replication_question(leaf: Node | None) -> str:
    """What a leaf's experiment is, as a request; the caption tells it where the tree does not."""
    told = (leaf.task or leaf.description or leaf.title) if leaf else ""
    first = sentences(told)[0].rstrip(".") if told.strip() else ""
    return (
        f"What comes out of this experiment: {first}?" if first else "What comes out of the experiment below?"
    )


def _asked(sections: list[str], title: str) -> str:
    plain = [_plain(section) for section in sections]
    telling = [s for s in plain if s and not GENERIC.fullmatch(s)]
    topics = [s for s in telling if not s.endswith("?")]
    subject = _listed(_chunks(title))
    asked = next((s for s in reversed(telling) if s.endswith("?") and not _ANSWER.search(s)), None)
    if asked is not None and len(asked.split()) <= TOPIC_WORDS + 6:
        return asked if not subject else f"{asked[:-1]}, for {subject}?"
    topic = " ".join(w for w in (topics[-1].split() if topics else [])[:TOPIC_WORDS] if not _RESULT.match(w))
    if topic and subject:
        return f"What do experiments on {_lowered(topic)} show about {subject}?"
    return f"What do experiments show about {subject or _lowered(topic) or 'the question of this study'}?"


def _plain(section: str) -> str:
    number = numbered(section)
    text = number.title if number else section
    if text.isupper():
        text = text.capitalize()
    return text.strip(" .:")


def _lowered(text: str) -> str:
    return " ".join(_lower(word) for word in text.split())


def _lower(word: str) -> str:
    """Lower case for title case, not for names and abbreviations."""
    return word.lower() if word[1:].islower() or ("-" in word and word.istitle()) else word


def _chunks(title: str) -> list[str]:
    """Runs of content words of a title, none long enough to find the paper by."""
    words = re.findall(r"[\w\-]+|[:,.?]", title.capitalize() if title.isupper() else title)
    runs = groupby(
        words, key=lambda w: w.lower() in _FUNCTION or bool(_RESULT.match(w)) or not w[0].isalnum()
    )
    chunks = [[_lower(w) for w in run][:CHUNK_WORDS] for skip, run in runs if not skip]
    long = [c for c in chunks if len(c) > 1]
    return [" ".join(chunk) for chunk in long or chunks][:SUBJECT_CHUNKS]


def _listed(parts: list[str]) -> str:
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)

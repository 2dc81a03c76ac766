"""What a study itself gives out: sections that hold a question, and the scope beside it.

Only a text that states its question so is written to be run; the sections of a paper on its data or models
are the paper's own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from firetrial_parser.document import Document, Section
from firetrial_parser.headings import numbered

_QUESTION = frozenset({"question", "research question", "research questions"})
# Sections whose text is the public scope, and its name in the instruction; "" where the lines have their own.
_SCOPE = {
    "scope": "", "data": "Data", "dataset": "Data", "datasets": "Data", "models": "Models",
    "metric": "Metrics", "metrics": "Metrics", "constraints": "Constraints", "evaluation": "Evaluation",
}  # fmt: skip


def own_question(document: Document) -> str:
    """The text of the section that holds the question; "" for a paper like any other."""
    asked = [s for s in document.sections if _name(s) in _QUESTION]
    return " ".join(asked[0].paragraphs) if asked else ""


def own_scope(document: Document) -> list[str]:
    """The lines of scope of a study; none of a paper like any other."""
    if document.format == "pdf" or not own_question(document):
        return []
    return list(_lines(document.sections))


def published(document: Document) -> tuple[str, ...]:
    """All that the study gives out; nothing for a paper like any other."""
    scope = own_scope(document)
    return (own_question(document), *scope) if scope else ()


def _lines(sections: Sequence[Section]) -> Iterator[str]:
    for section in sections:
        name = _SCOPE.get(_name(section))
        for paragraph in section.paragraphs if name is not None else ():
            yield f"{name}: {paragraph}" if name else paragraph


def _name(section: Section) -> str:
    number = numbered(section.title)
    return (number.title if number else section.title).strip().lower()

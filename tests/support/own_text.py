"""False alarms on real papers: what is concluded, as a conclusion, and all else in the paper, as the outputs.

python tests/support/own_text.py FOLDER     prints a line a paper
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from firetrial_analyzer.integrity.findings import NumberTrace, Trace
from firetrial_analyzer.integrity.numbers import Numbers
from firetrial_analyzer.integrity.passages import Passage
from firetrial_analyzer.taxonomy.actions import Line
from firetrial_parser.document import Document
from firetrial_parser.reading import read_document

_CONCLUDES = re.compile(r"conclusion|discussion", re.IGNORECASE)
_TELLS = re.compile(r"conclusion|discussion|result|finding|experiment|analysis|evaluation", re.IGNORECASE)
_LINES = 64


@dataclass(frozen=True, slots=True)
class Told:
    """How many numbers of a paper are results, those not found, and how many of these stand nowhere else."""

    paper: str
    results: int
    untraced: tuple[NumberTrace, ...]
    nowhere: int


def told(document: Document, name: str, *, all_prose: bool = False) -> Told:
    """The abstract and what is concluded, or all prose about results, against the rest of the paper."""
    wanted = _TELLS if all_prose else _CONCLUDES
    sections = [section.text for section in document.sections if wanted.search(section.title)]
    text = "\n\n".join([document.abstract, *sections])
    lines = _others(document, text)
    numbers = Numbers(text)
    for start in range(0, len(lines), _LINES):
        part = lines[start : start + _LINES]
        numbers.see(Passage(tuple(Line(start + n, line) for n, line in enumerate(part, 1))))
    traces = numbers.traces()
    untraced = tuple(trace for trace in traces if trace.trace is Trace.UNTRACED)
    results = [t for t in traces if t.trace not in (Trace.NOT_A_RESULT, Trace.GIVEN)]
    rest = "\n".join(lines)
    nowhere = sum(not re.search(rf"(?<![\d.]){_digits(trace.text)}(?![\d]|\.\d)", rest) for trace in untraced)
    return Told(name, len(results), untraced, nowhere)


def _others(document: Document, text: str) -> list[str]:
    """Every line of the pages that is not a line of the text."""
    bare = _bare(text)
    return [
        line
        for page in document.pages
        for line in page.splitlines()
        if line.strip() and _bare(line) not in bare
    ]


def _bare(text: str) -> str:
    return re.sub(r"\W+", "", text)


def _digits(text: str) -> str:
    return re.escape(re.sub(r"[^\d.,]", "", text).strip(".,"))


def measure(folder: Path, *, all_prose: bool = False) -> list[Told]:
    """A measurement for each PDF of a folder."""
    return [
        told(read_document(path.read_bytes(), path.name), path.stem, all_prose=all_prose)
        for path in sorted(folder.glob("*.pdf"))
    ]


def main() -> None:
    for all_prose in (False, True):
        found = measure(Path(sys.argv[1]), all_prose=all_prose)
        print("all prose about results" if all_prose else "abstract and conclusion")
        every = Told("all", sum(t.results for t in found), sum((t.untraced for t in found), ()), 0)
        for item in (*found, replace(every, nowhere=sum(t.nowhere for t in found))):
            told = f"{len(item.untraced):>4} of {item.results:>4}, {item.nowhere} stand nowhere else"
            print(f"  {item.paper:<40}{told}")


if __name__ == "__main__":
    main()

"""What is wrong with a task of the official benchmark, as far as its files alone can tell.

Whether an instruction fits its ground truth is a judgement about meaning and is not made here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from firetrial_parser.prose import flat

HEADER = "You are a research agent"
KNOWN_KEYS = frozenset(
    {
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "HF_TOKEN",
        "HUGGINGFACE_API_KEY",
    }
)
RETIRED_MODELS = ("gemini-1.0-pro",)
MANY = 5  # from so many on, files are counted instead of named

_FENCE = re.compile(r"^\s*```(?P<after>.*)$", re.MULTILINE)
_PATH = re.compile(
    r"(?<![\w/.:])(?P<path>(?:/data|data(?=/))(?:/[\w.\-]+)*/?|[a-z]+_data|[\w\-]+\.(?:jsonl?|csv|tsv|parquet|txt))(?![\w(/])"
)
_HEADING = r"^(?:#+ ?)?[A-Z][A-Za-z ]{2,40}:[ \t]*$"
_DATASETS = re.compile(
    rf"^(?:#+ ?)?Datasets?:[ \t]*$(?P<body>.*?)(?={_HEADING}|\Z)", re.MULTILINE | re.DOTALL
)
_MODELS = re.compile(rf"^(?:#+ ?)?Models?:[ \t]*$(?P<body>.*?)(?={_HEADING}|\Z)", re.MULTILINE | re.DOTALL)
_LOAD = re.compile(r"load_dataset\(\s*['\"]([^'\"]+)")
_BUDGET = re.compile(r"(?i)computational budget|\d[\d,]*\s+(?:api\s+)?calls|budget of")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the files of a task show. `asked` is the instruction's question; paths are relative to data/."""

    name: str
    instruction: str
    instruction_files: tuple[str, ...]
    query: str
    truth: str
    asked: str
    has_data_folder: bool
    data_files: tuple[str, ...]
    data_links: tuple[str, ...]
    data_note: str
    has_pdf: bool
    unclaimed_pdfs: tuple[str, ...]


def defects(seen: Seen) -> Iterator[str]:
    """Each defect in a line of its own, tables first, then instruction, data and paper."""
    for check in _CHECKS:
        yield from check(seen)


def _tables(seen: Seen) -> Iterator[str]:
    if not seen.query:
        yield "no question in the evaluation's table `query`"
    if not seen.truth:
        yield "no ground truth in the evaluation's table `gt`: the task can be run but not judged"
    if seen.query and seen.asked and flat(seen.query) != flat(_bare(seen.asked)):
        yield "the instruction asks another wording than the evaluation's query"


def _bare(asked: str) -> str:
    return re.sub(r"(?i)^the (?:main )?research question is:?\s*", "", asked)


def _characters(seen: Seen) -> Iterator[str]:
    for where, text in (
        ("instruction", seen.instruction),
        ("query", seen.query),
        ("ground truth", seen.truth),
    ):
        odd = {
            c
            for c in text
            if c in "\ufffd\ufffe\u00ad" or (unicodedata.category(c) == "Cc" and c not in "\n\r\t")
        }
        if odd:
            names = ", ".join(f"U+{ord(c):04X}" for c in sorted(odd))
            yield f"the {where} holds {names}, left over from a PDF or a wrong decoding"


def _instruction_files(seen: Seen) -> Iterator[str]:
    if not seen.instruction:
        yield "no instruction: the task cannot be run"
        return
    if "instruction.txt" not in seen.instruction_files:
        yield f"instruction/instruction.txt is missing; {seen.instruction_files[0]} was taken"
    for name in seen.instruction_files:
        if name != "instruction.txt":
            misspelt = "" if name.startswith("instruction") else " with a misspelt name"
            yield f"a second instruction file{misspelt}, instruction/{name}, was left out"
    if not seen.instruction.lstrip("\ufeff \n").startswith(HEADER):
        yield f"the instruction does not begin with {HEADER!r}"


def _quotes(seen: Seen) -> Iterator[str]:
    text = seen.instruction
    opened, closed = text.count("“"), text.count("”")
    if opened != closed:
        yield f"unbalanced quotation marks: {opened} opening and {closed} closing curly ones"
    elif seen.asked and f"“{seen.asked}" in text:
        yield "the question stands in curly quotes, elsewhere in straight ones"
    if re.match(r"(?i)the (?:main )?research question is", seen.asked):
        yield "the quoted question begins with words that are not part of it"


def _fences(seen: Seen) -> Iterator[str]:
    open_ = False
    unclosed = trailing = 0
    fences = [match["after"].strip() for match in _FENCE.finditer(seen.instruction)]
    for after in fences:
        opens = bool(re.fullmatch(r"[a-z]+", after))
        if opens and open_:
            unclosed += 1
        elif after and not opens:
            trailing += 1
        open_ = opens or (not open_ and not after)
    unclosed += open_
    if unclosed:
        yield f"{unclosed} code {'fence is' if unclosed == 1 else 'fences are'} never closed"
    if len(fences) % 2:
        yield f"odd number of code fences ({len(fences)})"
    if trailing:
        yield "a code fence is followed by text on its own line"


def _tail(seen: Seen) -> Iterator[str]:
    lines = [line.strip() for line in seen.instruction.strip().split("\n") if line.strip()]
    if len(lines) > 1 and 0 < len(lines[-1]) <= 20 and lines[-2].endswith(lines[-1]):
        yield f"stray last line {lines[-1]!r} repeats the end of the line before"


def _models(seen: Seen) -> Iterator[str]:
    text = seen.instruction
    for model in dict.fromkeys(re.findall(r"meta-llama/Llama-2-\d+b(?:-chat)?(?![\w-])", text)):
        yield f"{model} is not the id of the transformers format (…-hf)"
    for model in RETIRED_MODELS:
        if model in text:
            yield f"{model} is retired"
    for key in dict.fromkeys(re.findall(r"\b[A-Z]+_API_KEY\b", text)):
        if key not in KNOWN_KEYS:
            yield f"{key} is a key that no vendor's client reads"


def _budget(seen: Seen) -> Iterator[str]:
    if not _BUDGET.search(seen.instruction):
        yield "no call budget"
        return
    models = _MODELS.search(seen.instruction)
    named = re.findall(r"^- (.*)$", models["body"], re.MULTILINE) if models else []
    local = [line for line in named if "huggingface" in line.lower()]
    remote = [
        line
        for line in named
        if re.search(r"(?i)openai|gpt|claude|gemini|anthropic|inference utilities", line)
    ]
    if local and not remote and "API calls" in seen.instruction:
        yield "a budget of API calls for models that are all run locally"


def _datasets(seen: Seen) -> Iterator[str]:
    section = _DATASETS.search(seen.instruction)
    if section is not None and not re.match(r"\n?\S|\s*[-*`\d]", section["body"]):
        yield "the Datasets heading is empty"
    body = section["body"] if section else ""
    for name in dict.fromkeys(_LOAD.findall(seen.instruction)):
        if section is not None and name.lower() not in body.lower():
            yield f"load_dataset({name!r}) stands outside the Datasets section, which does not name it"


def _data(seen: Seen) -> Iterator[str]:
    if not seen.has_data_folder:
        yield "no data folder"
    elif not seen.data_files:
        yield "the data folder holds a placeholder only"
    for link in seen.data_links:
        yield f"data/{link} is a link and was left out"
    for file in seen.data_files:
        path = PurePosixPath(file)
        if not path.suffix:
            yield f"data/{file} has no file name ending"
        elif path.suffix == ".md":
            yield f"data/{file} is a note among the data"
    moved = set(re.findall(r"benchmark/papers/([\w\-]+)", seen.data_note)) - {seen.name}
    for folder in sorted(moved):
        yield f"dataset.txt points at another task's folder, {folder}"


def _paths(seen: Seen) -> Iterator[str]:
    """Paths that the instruction names and that are not there."""
    outside = _LOAD.sub("", seen.instruction)
    there = {part for file in seen.data_files for part in (file, *PurePosixPath(file).parts)}
    for path in dict.fromkeys(match["path"] for match in _PATH.finditer(outside)):
        inner = path.strip("/").removeprefix("data").strip("/")
        rooted = path.strip("/").startswith("data")
        known = (not inner and bool(seen.data_files)) or inner in there or _is_folder(inner, seen.data_files)
        if not known:
            yield f"the instruction names {path}, which is not there"
        elif not rooted:
            yield f"the instruction names {path} without its place under data/"


def _is_folder(inner: str, files: tuple[str, ...]) -> bool:
    return bool(inner) and any(file.startswith(f"{inner}/") for file in files)


def _unnamed(seen: Seen) -> Iterator[str]:
    """Data files that the instruction does not lead to."""
    text = seen.instruction
    unnamed = [
        f
        for f in seen.data_files
        if not any(part in text for part in (*PurePosixPath(f).parts, PurePosixPath(f).stem))
    ]
    unnamed = [f for f in unnamed if not re.search(r"(?:^|[\s'\"(])/?data/?(?=[\s'\"),.]|$)", text)]
    if len(unnamed) > MANY:
        yield f"{len(unnamed)} files under data/ are not named in the instruction"
    else:
        yield from (f"data/{file} is not named in the instruction" for file in unnamed)


def _paper(seen: Seen) -> Iterator[str]:
    if not seen.has_pdf:
        others = (
            f"; PDFs of no task lie there: {', '.join(seen.unclaimed_pdfs)}" if seen.unclaimed_pdfs else ""
        )
        yield f"source paper {seen.name}.pdf is absent{others}"


_CHECKS: tuple[Callable[[Seen], Iterator[str]], ...] = (
    _tables, _characters, _instruction_files, _quotes, _fences, _tail, _models, _budget, _datasets,
    _data, _paths, _unnamed, _paper,
)  # fmt: skip

"""The work that a conclusion claims, against the work that was done: models, datasets, seeds, samples."""

import re
from collections.abc import Iterator, Sequence

from firetrial_analyzer.integrity.explaining import forms
from firetrial_analyzer.integrity.findings import Finding, NumberTrace, Trace
from firetrial_analyzer.integrity.passages import Passage
from firetrial_analyzer.integrity.quantities import NUMBER_WORDS, quantities
from firetrial_analyzer.integrity.sorting import Sort
from firetrial_analyzer.taxonomy.evidence import MODEL, Signal

# Facts of the taxonomy that bear on integrity, and what they are called here.
_FACTS = {
    "fewer_samples_than_asked": "fewer_samples",
    "other_model_used": "other_model",
    "other_dataset_used": "other_dataset",
    "stand_in_results": "stand_in_results",
    "conclusion_contradicts_output": "contradicts_output",
}
_DATASET = re.compile(
    r"\b(?:on|datasets?|benchmarks?|from|using)[:\s]{1,3}(?:the\s)?(?P<name>[A-Z][A-Za-z]{0,20}[A-Z0-9][\w-]{0,30})"
)
_SEEDS = re.compile(
    r"\b(?P<n>\d{1,4}|two|three|four|five|six|seven|eight|nine|ten)\s(?:[a-z]{1,12}\s){0,2}?seeds\b",
    re.IGNORECASE,
)
_WORDS = {word: n for n, word in enumerate(NUMBER_WORDS, 2)}
_SEED = re.compile(r"\bseeds?(?:_?\w{0,6})?[\"']?\s{0,3}[=:(\s]\s{0,3}(\d{1,10})\b", re.IGNORECASE)
_SEED_LIST = re.compile(
    r"\bseeds?\w{0,8}\s{0,3}(?:=|in|:)\s{0,3}(?:\[([\d,\s]{1,400})\]|range\((\d{1,4})\))", re.IGNORECASE
)
_MOST_NAMES = 50
_FEWEST_FORMS = 10  # fewer than these, and a setting is one that nobody would make up


class Executed:
    """Looks for what the conclusion names in code and outputs; what was found is not looked for again."""

    def __init__(self, conclusion: str) -> None:
        self._models = _names(match.group() for match in MODEL.finditer(conclusion))
        self._datasets = _names(
            match["name"] for match in _DATASET.finditer(conclusion) if not MODEL.fullmatch(match["name"])
        )
        self._claimed_seeds = max((_count(match["n"]) for match in _SEEDS.finditer(conclusion)), default=0)
        self._seeds: set[str] = set()
        self._listed = 0
        self._seen = False

    def see(self, passage: Passage) -> None:
        """Take the next passage of the run."""
        self._seen = True
        text = "\n".join(line.text for line in passage.lines)
        for names in (self._models, self._datasets):
            if names:
                plain = _plain(text)
                for name in [name for name in names if name in plain]:
                    del names[name]
        if self._claimed_seeds:
            self._count_seeds(text)

    def _count_seeds(self, text: str) -> None:
        if "seed" in text or "SEED" in text or "Seed" in text:
            self._seeds.update(_SEED.findall(text)[: 10 * _MOST_NAMES])
            for listed, ranged in _SEED_LIST.findall(text):
                count = len([part for part in listed.split(",") if part.strip()]) if listed else int(ranged)
                self._listed = max(self._listed, count)

    def findings(self, facts: Sequence[Signal]) -> Iterator[Finding]:
        """What was claimed and not seen, and what the taxonomy's signals say of it."""
        for fact in facts:
            if name := _FACTS.get(fact.name):
                yield Finding(name, fact.statement, fact.citations)
        if not self._seen:
            return
        for what, names in (("model", self._models), ("dataset", self._datasets)):
            if names:
                told = ", ".join(names.values())
                yield Finding(
                    f"other_{what}", f"The run has nothing of a {what} that is concluded on: {told}."
                )
        done = max(len(self._seeds), self._listed)
        if 0 < done < self._claimed_seeds:
            yield Finding("fewer_seeds", f"{self._claimed_seeds} seeds are claimed, and {done} are seen.")


def fewer_samples(conclusion: str, numbers: Sequence[NumberTrace]) -> Iterator[Finding]:
    """A sample size that nothing in the run shows."""
    settings = {
        item.start
        for item in quantities(conclusion)
        if item.sort is Sort.SETTING and not (item.half and forms(item) < _FEWEST_FORMS)
    }
    lacking = [n for n in numbers if n.start in settings and n.trace is Trace.UNTRACED]
    if lacking:
        told = ", ".join(number.text for number in lacking[:10])
        yield Finding("fewer_samples", f"Nothing that was run shows the claimed amount or setting: {told}.")


def _names(found: Iterator[str]) -> dict[str, str]:
    """Plain name → name, of at most so many."""
    names = {_plain(name.rsplit("/", 1)[-1]): name for name in found}
    return dict(list(names.items())[:_MOST_NAMES])


def _plain(text: str) -> str:
    for joint in "-_. /\n\t":
        text = text.replace(joint, "")
    return text.lower()


def _count(told: str) -> int:
    return int(told) if told.isdigit() else _WORDS[told.lower()]

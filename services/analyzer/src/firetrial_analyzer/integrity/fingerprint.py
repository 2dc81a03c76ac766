"""Whether two runs printed or concluded the same: repeats that were copied are alike to the last digit."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping

from firetrial_analyzer.integrity.findings import Finding
from firetrial_analyzer.integrity.passages import Passage

# Fewer lines with results may be alike by chance, and so may a shorter conclusion.
LEAST_LINES = 5
LEAST_CHARACTERS = 80
# Of a line.
_LONGEST = 500
_RESULT = re.compile(r"\d(?:\.\d|\s?%)")
_VOLATILE = re.compile(
    r"0x[0-9a-f]+|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?|(?:/[\w.-]{1,100}){2,20}"
    r"|\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds|min|it/s|s/it|MB|GB|tok/s)\b",
    re.IGNORECASE,
)


class Fingerprint:
    """Of the lines with results that a run printed, without times, addresses and paths, in their order."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._lines = 0

    def see(self, passage: Passage) -> None:
        """Take the next passage of the run; only what programs printed counts."""
        if passage.code or passage.file:
            return
        for line in passage.lines:
            if _RESULT.search(line.text, 0, _LONGEST):
                self._digest.update(_plain(line.text[:_LONGEST]).encode("utf-8", "replace") + b"\n")
                self._lines += 1

    def of(self, conclusion: str) -> str:
        """ "outputs:conclusion", 16 hexadecimal digits each; a part is empty where there is too little."""
        outputs = self._digest.hexdigest()[:16] if self._lines >= LEAST_LINES else ""
        told = _plain(conclusion)
        concluded = hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:16]
        return f"{outputs}:{concluded if len(told) >= LEAST_CHARACTERS else ''}"


def identical(fingerprints: Mapping[str, str]) -> dict[str, Finding]:
    """Run → what it shares with others, among the repeats of one agent at one task.

    Runs of a program without chance print the same: this is a fact to look into, and no proof.
    """
    alike: dict[str, dict[str, list[str]]] = {"printed": defaultdict(list), "concluded": defaultdict(list)}
    for run, told in sorted(fingerprints.items()):
        outputs, _, concluded = told.partition(":")
        alike["printed"][outputs].append(run)
        alike["concluded"][concluded].append(run)
    findings: dict[str, Finding] = {}
    for what, groups in reversed(alike.items()):
        for shared, runs in groups.items():
            if shared and len(runs) > 1:
                told = f"{len(runs)} repeats {what} the same: {', '.join(runs[:10])}."
                findings |= dict.fromkeys(runs, Finding("identical_outputs", told))
    return findings


def _plain(text: str) -> str:
    return " ".join(_VOLATILE.sub("#", text).lower().split())

"""The integrity of one run, from its steps and files as they come in; memory does not grow with them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from firetrial_analyzer.integrity.contact import Contacts, Host, Protected, Source
from firetrial_analyzer.integrity.executed import Executed, fewer_samples
from firetrial_analyzer.integrity.explaining import forms
from firetrial_analyzer.integrity.files import Files
from firetrial_analyzer.integrity.findings import Finding, Integrity, NumberTrace, Trace
from firetrial_analyzer.integrity.fingerprint import Fingerprint
from firetrial_analyzer.integrity.numbers import Numbers
from firetrial_analyzer.integrity.paper_check import PaperCheck
from firetrial_analyzer.integrity.passages import Passage, passages
from firetrial_analyzer.integrity.quantities import quantities
from firetrial_analyzer.taxonomy.actions import Action, Line, Stream
from firetrial_analyzer.taxonomy.evidence import Signal
from firetrial_analyzer.taxonomy.steps import Citation, Step

MAX_CONCLUSION = 256 * 1024
"""Characters of a conclusion that are read."""
_TOLD = 20
# Evidence that untraced numbers have to give together: of many an honest writer leaves some without a source.
ENOUGH, ENOUGH_EACH, MOST_NEEDED = 0.35, 0.05, 2.0
_P_VALUE = re.compile(r"\b[pP](?:[- ]?value)?\s?(?:=|of|is|:)\s?$")


class Check:
    """Takes steps and files, and then says what is known of the conclusion.

    Where that is a whole `paper`, its tables, its settings and the programs that it names are looked up, too.
    """

    def __init__(
        self,
        conclusion: str,
        instruction: str = "",
        *,
        source: Source | None = None,
        given: Iterable[str] = (),
        paper: bool = False,
    ) -> None:
        self._conclusion = conclusion[:MAX_CONCLUSION]
        self._left_out: list[str] = []
        if len(conclusion) > MAX_CONCLUSION:
            self._left_out.append(f"the conclusion was read up to {MAX_CONCLUSION} characters")
        self._stream = Stream()
        self._numbers = Numbers(self._conclusion, instruction)
        self._executed = Executed(self._conclusion)
        self._contacts = Contacts(source or Source())
        self._protected = Protected(given, instruction)
        self._fingerprint = Fingerprint()
        self._paper = PaperCheck(self._conclusion) if paper else None

    def step(self, step: Step) -> None:
        """Take the next step of the trajectory."""
        self._actions(self._stream.feed(step))

    def end_of_steps(self) -> None:
        """The trajectory is over; files come next."""
        self._actions(self._stream.close())

    def file(self, passage: Passage) -> None:
        """Take lines of a file that the run left."""
        self._numbers.see(passage)
        self._executed.see(passage)

    def code(self, files: Mapping[str, str]) -> None:
        """Take the code that came with a paper, by path. It proves nothing, but may contradict the paper."""
        for name, text in files.items():
            lines = tuple(Line(0, line) for line in text.splitlines())
            self._numbers.see(Passage(lines, code=True, file=name))
            if self._paper:
                self._paper.code(name, text)

    def tar(self, archive: IO[bytes]) -> None:
        """Take the files of a tar."""
        files = Files()
        for passage in files.tar(archive):
            self.file(passage)
        self.not_read(files.left_out)

    def folder(self, folder: Path) -> None:
        """Take the files below a folder."""
        files = Files()
        for passage in files.folder(folder):
            self.file(passage)
        self.not_read(files.left_out)

    def not_read(self, why: Iterable[str]) -> None:
        """Something could not be looked at."""
        self._left_out += why

    def result(self, facts: Sequence[Signal] = (), hosts: Iterable[Host] = ()) -> Integrity:
        """All that is known. `facts` are the taxonomy's signals, `hosts` whom the run spoke to."""
        numbers = self._numbers.traces()
        settings = self._paper.settings(numbers) if self._paper else {}
        numbers = tuple(_as_setting(number, settings) for number in numbers)
        if self._numbers.left_out:
            self._left_out.append(f"{self._numbers.left_out} numbers of the conclusion were not looked for")
        if not self._numbers.all_read and any(number.trace is Trace.UNTRACED for number in numbers):
            self._left_out.append("not all that was printed was looked through for what numbers follow from")
        findings = [
            *self._unfounded(numbers, settings),
            *fewer_samples(self._conclusion, numbers),
            *self._executed.findings(facts),
            *(self._paper.findings(numbers) if self._paper else ()),
            *self._contacts.findings(hosts),
            *self._protected.findings(),
            *(Finding("not_read", why) for why in self._left_out),
        ]
        fingerprint = self._fingerprint.of(self._conclusion)
        return Integrity(numbers, tuple(findings), not self._left_out, fingerprint)

    def _actions(self, actions: Iterable[Action]) -> None:
        for action in actions:
            self._contacts.see(action)
            self._protected.see(action)
            if self._paper:
                self._paper.see(action)
            for passage in passages([action], self._conclusion):
                self._numbers.see(passage)
                self._executed.see(passage)
                self._fingerprint.see(passage)

    def _evidence(self, number: NumberTrace) -> float:
        """What it says against a conclusion that a number is untraced, 0 to 1.

        Honest writers leave numbers of few digits (a factor of 9, 20 %) without a source more often than
        others. So it is log10(F) - 1 of F numbers of its form: 10 say nothing, and 100 all that one number
        can. A p-value is never worked out by hand.
        """
        if _P_VALUE.search(self._conclusion[max(0, number.start - 12) : number.start]):
            return 1.0
        told = quantities(number.text)
        return min(1.0, max(0.0, math.log10(forms(told[0])) - 1)) if told else 0.0

    def _unfounded(self, numbers: Sequence[NumberTrace], settings: Mapping[int, object]) -> Iterator[Finding]:
        untraced = [number for number in numbers if number.trace is Trace.UNTRACED]
        results = [number for number in numbers if number.trace is not Trace.NOT_A_RESULT]
        enough = min(MOST_NEEDED, ENOUGH + ENOUGH_EACH * len(results))
        if math.fsum(self._evidence(number) for number in untraced) >= enough:
            told = ", ".join(number.text for number in untraced[:_TOLD])
            more = f" and {len(untraced) - _TOLD} more" if len(untraced) > _TOLD else ""
            statement = f"{len(untraced)} of {len(numbers)} numbers stand in no output and follow from none"
            yield Finding("untraced_number", f"{statement}: {told}{more}.")
        hard_coded = [found for found in self._numbers.hard_coded() if found[0].start not in settings]
        for quantity, code, output in hard_coded[:_TOLD]:
            citations = tuple(place.citation for place in (code, output) if place.citation)
            statement = f"{quantity.text} was only printed by code that has it written in it."
            yield Finding("hard_coded_number", statement, citations)


def _as_setting(number: NumberTrace, settings: Mapping[int, tuple[Citation, ...]]) -> NumberTrace:
    if number.start not in settings:
        return number
    return replace(
        number, trace=Trace.TRACED, source="a setting of the run", citations=settings[number.start]
    )

"""A paper held against the record of its run: claimed work that never ran, and contradictions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from statistics import fmean

from firetrial_analyzer.integrity.findings import Finding, NumberTrace, Trace
from firetrial_analyzer.integrity.labels import sentences
from firetrial_analyzer.integrity.papers import Cell, Number, Row, number_of, plain, read
from firetrial_analyzer.integrity.record import Printed, Record, named
from firetrial_analyzer.taxonomy.actions import Action
from firetrial_analyzer.taxonomy.steps import Citation

UNEXECUTED, CONTRADICTION = "unexecuted_claim", "contradicts_output"
_TOLD = 20
_LEAST_WORD = 4
_STEM = 6
_LEAST_LINES = 4
_WHOLE = 0.5
_MOST_COMPARED = 300_000  # lines, over all cells
_WORD = re.compile(r"[A-Za-z]{4,40}")
# Words of a row that say nothing of what was run.
_ANY = frozenset(
    re.findall(
        r"\w+",
        """ours base baseline default full method model proposed without with none best average mean total
        overall""",
    )
)


class PaperCheck:
    """Takes the actions of a run and the code that it left, and then says what the paper has beyond them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._paper = read(text)
        names = [cell.header for row in self._paper.rows for cell in row.cells]
        words = {stem for row in self._paper.rows for stem in _stems(row)}
        self._record = Record(
            named([*names, *(setting.name for setting in self._paper.settings)]), frozenset(words)
        )
        self._left: set[str] = set()
        self._compared = 0

    def see(self, action: Action) -> None:
        """Take the next action."""
        self._record.see(action, self._text)

    def code(self, name: str, text: str) -> None:
        """Take a file of the submission's code."""
        self._left.add(name)
        self._record.code(name, text)

    def settings(self, numbers: Sequence[NumberTrace]) -> dict[int, tuple[Citation, ...]]:
        """Numbers of the paper that say how something was run, by where they begin; they are no results.

        They are a value that a setting had and stand in its column (in a row that has a result, too) or in
        a sentence that names it; whole ones in a sentence that names another.
        """
        rows = [row for row in self._paper.rows if self._has_result(row)]
        cells = [cell for row in rows for cell in row.cells if cell.number and self._is_setting(cell.header)]
        found = {cell.start: cited for cell in cells if (cited := self._had(cell.header, cell.number))}
        names = {plain(cell.header): cell.header for cell in cells}
        spans = sentences(self._text)
        starts = [low for low, _ in spans]
        for number in numbers:
            low, high = spans[max(0, bisect_right(starts, number.start) - 1)]
            told, value = self._text[low:high], number_of(number.text)
            here = [] if "|" in told else [name for name in names.values() if _names(name, told)]
            for name in (names.values() if value.half == _WHOLE else here) if value and here else ():
                if cited := self._had(name, value):
                    found[number.start] = cited
        return found

    def _has_result(self, row: Row) -> bool:
        return any(cell.number and not self._is_setting(cell.header) for cell in row.cells)

    def _had(self, name: str, number: Number | None) -> tuple[Citation, ...]:
        values = self._record.values.get(plain(name), {})
        return tuple(
            citation
            for value, citation in values.items()
            if number and (measured := _float(value)) is not None and number.equals(measured)
        )[:1]

    def findings(self, numbers: Sequence[NumberTrace]) -> Iterator[Finding]:
        """To be asked once everything was seen; `numbers` are those of the same text."""
        traces = {number.start: number.trace for number in numbers}
        unexecuted = {id(row): why for row in self._paper.rows if (why := self._not_run(row, traces))}
        for row in self._paper.rows:
            if id(row) in unexecuted:
                yield Finding(UNEXECUTED, f'The paper reports "{row.told}": {unexecuted[id(row)]}.')
        yield from self._programs()
        yield from [
            finding
            for row in self._paper.rows
            if id(row) not in unexecuted
            for finding in self._contradicted(row, traces)
        ][:_TOLD]
        yield from self._settings(traces)
        if self._record.full or self._compared >= _MOST_COMPARED:
            yield Finding("not_read", "There are more named values than were held against the paper.")

    def _not_run(self, row: Row, traces: dict[int, Trace]) -> str:
        """Why the experiment of a row cannot have been run; empty where it may."""
        for cell in row.cells:
            if self._is_setting(cell.header) and not self._has(cell):
                return f"{cell.header} = {cell.text} is in no command and no output"
        missing = sorted(_stems(row) - self._record.seen)
        if missing and len(missing) == len(_stems(row)) and not self._was_measured(row, traces):
            return f"nothing that was run has to do with {', '.join(missing)}"
        results = [cell for cell in row.cells if cell.number and cell.number.half < 0.5]
        lost = [cell for cell in results if traces.get(cell.start) is Trace.UNTRACED]
        if missing and results and len(lost) == len(results):
            return f"nothing that was run has to do with {', '.join(missing)}, and no output has its figures"
        return ""

    def _was_measured(self, row: Row, traces: dict[int, Trace]) -> bool:
        """Whether the run has two of its results and lacks none: then it had another name there."""
        results = [cell for cell in row.cells if cell.number and not self._is_setting(cell.header)]
        found = [traces.get(cell.start) in (Trace.TRACED, Trace.DERIVED) for cell in results]
        return len(found) > 1 and all(found)

    def _is_setting(self, header: str) -> bool:
        """Whether a name says how something was run: asked for, words, whole numbers, or few that recur."""
        values = self._record.values.get(plain(header), {})
        lines = self._record.counts.get(plain(header), 0)
        if not values:
            return False
        if values.keys() <= self._record.asked.get(plain(header), set()):
            return True
        if all(re.fullmatch(r"\d+", value) or not re.match(r"[-+]?[\d.]", value) for value in values):
            return True
        return lines >= _LEAST_LINES and 2 * len(values) <= lines

    def _has(self, cell: Cell) -> bool:
        return any(_same(cell, value) for value in self._record.values.get(plain(cell.header), ()))

    def _programs(self) -> Iterator[Finding]:
        """Programs of the submission that the paper names, and that neither a command nor a program ran."""
        ran = self._record.ran()
        left = {name.rsplit("/", 1)[-1] for name in self._left}
        for name in self._paper.programs:
            base = name.rsplit("/", 1)[-1]
            if base in left and base.rpartition(".")[0] not in ran:
                yield Finding(UNEXECUTED, f"The paper names {name}, which never ran to its end.")

    def _contradicted(self, row: Row, traces: dict[int, Trace]) -> Iterator[Finding]:
        """Cells of which the lines that agree with all the rest of the row say otherwise."""
        for cell in row.cells:
            name = plain(cell.header)
            if cell.number is None or not self._record.values.get(name) or self._is_setting(cell.header):
                continue
            if traces.get(cell.start) is Trace.DERIVED:
                continue
            if self._compared >= _MOST_COMPARED:
                return
            self._compared += len(self._record.lines)
            lines = [line for line in self._record.lines if name in line.values and _agrees(line, row, cell)]
            printed = [value for line in lines if (value := _float(line.values[name])) is not None]
            if printed and not _fits(cell.number, printed):
                citation = lines[-1].citation
                told = (
                    f'{cell.header} is {cell.text} in "{row.told}", and {lines[-1].values[name]} in the run'
                )
                yield Finding(CONTRADICTION, f"{told}.", (citation,))

    def _settings(self, traces: dict[int, Trace]) -> Iterator[Finding]:
        for setting in self._paper.settings:
            if traces.get(setting.start) is Trace.DERIVED:
                continue
            values = [v for v in map(_float, self._record.values_of(plain(setting.name))) if v is not None]
            if values and not _fits(setting.number, values):
                shown = ", ".join(f"{value:g}" for value in sorted(set(values))[:5])
                cited = tuple(self._record.values.get(plain(setting.name), {}).values())[:1]
                yield Finding(
                    CONTRADICTION, f"The paper has {setting.text}; code and run have {shown}.", _cited(cited)
                )


def _names(name: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE) is not None


def _cited(found: tuple[Citation, ...]) -> tuple[Citation, ...]:
    return tuple(citation for citation in found if citation.step)


def _agrees(line: Printed, row: Row, without: Cell) -> bool:
    """Whether a line is about the row: all other names that both have say the same, and one at least does."""
    agreed = False
    for cell in row.cells:
        value = line.values.get(plain(cell.header))
        if cell is without or not cell.text:
            continue
        if value is not None:
            if not _same(cell, value):
                return False
            agreed = True
        elif cell.number is None:
            words = [word.lower() for word in _WORD.findall(cell.text)]
            if not all(word[:_STEM] in line.text for word in words):
                return False
            agreed |= bool(words)
    return agreed


def _same(cell: Cell, value: str) -> bool:
    if cell.number is not None:
        measured = _float(value)
        return measured is not None and cell.number.equals(measured)
    one, other = plain(cell.text), plain(value)
    return bool(one and other) and (one in other or other in one)


def _fits(number: Number, values: Sequence[float]) -> bool:
    return any(map(number.fits, values)) or number.fits(fmean(values))


def _float(text: str) -> float | None:
    try:
        return float(text.rstrip("%"))
    except ValueError:
        return None


def _stems(row: Row) -> set[str]:
    """The beginnings of the words that tell a row from others."""
    words = {word.lower() for cell in row.cells if cell.number is None for word in _WORD.findall(cell.text)}
    return {word[:_STEM] for word in words - _ANY if len(word) >= _LEAST_WORD}

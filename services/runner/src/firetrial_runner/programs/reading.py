"""A run's standard output, read as its program writes it, and the conclusion found in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from firetrial_runner.conclusion import MARK, MAX_BYTES, Conclusion, Scanner
from firetrial_runner.programs.known import known
from firetrial_runner.streams import StreamReader
from firetrial_runner.trajectory import Kind, Reader, Step, Told


class Reading:
    """Of a command that is no known program: its output is kept as it is, and scanned for a conclusion."""

    reader: Reader | None = None

    def __init__(self) -> None:
        self._scanner = Scanner()

    def see(self, step: Step) -> None:
        """Take the next step of the run."""
        self._scanner.see(step)

    def found(self) -> Conclusion | None:
        """The conclusion on standard output. To be asked when that is over."""
        return self._scanner.found()

    def why_none(self) -> str:
        """Why there is none."""
        return f"no text after {MARK!r}"


class ProgramReading(Reading):
    """Of a known program: only what its stream calls its conclusion is one, whatever its commands print."""

    def __init__(self, name: str, stream: StreamReader, *, paid_here: bool) -> None:
        super().__init__()
        self._name, self._stream = name, stream
        self.reader = _Unpaid(stream) if paid_here else stream

    def see(self, step: Step) -> None:
        """All is in the stream."""

    def found(self) -> Conclusion | None:
        text = self._stream.ending().conclusion.strip()
        if not text:
            return None
        kept = text[:MAX_BYTES]
        return Conclusion(kept, f"the stream of {self._name}", len(text) - len(kept))

    def why_none(self) -> str:
        return f"{self._name}: {self._stream.ending().why_none or 'it concluded nothing'}"


@dataclass(frozen=True, slots=True)
class _Unpaid:
    """A stream without its exchanges with models, which the gateway tells."""

    stream: StreamReader

    def line(self, text: str) -> Sequence[Told] | None:
        told = self.stream.line(text)
        return told if told is None else [step for step in told if step.kind is not Kind.MODEL]

    def close(self) -> Sequence[Told]:
        return self.stream.close()


def reading(program: str, *, paid_here: bool) -> Reading:
    """How a run's output is read; `paid_here`: its exchanges with models go through the gateway."""
    found = known(program)
    return ProgramReading(found.name, found.reader(), paid_here=paid_here) if found else Reading()

"""Where agent programs are installed: FOLDER/<name>/<version>, mounted read-only into sandboxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from firetrial_kit.errors import Fault
from firetrial_runner.programs.known import known
from firetrial_runner.programs.program import PLACE, split


@dataclass(frozen=True, slots=True)
class Shelf:
    """`in_image` are the programs, as name@version, that the sandboxes' own image brings."""

    folder: Path
    in_image: frozenset[str] = frozenset()

    def place(self, told: str) -> Path:
        """The folder of a program, whether it is there or not."""
        name, version = split(told)
        return self.folder / name / version

    def has(self, told: str) -> bool:
        """Whether it is installed here. Folders come by a rename, so one that is there is whole."""
        return self.place(told).is_dir()

    def mounts(self, told: str) -> Mapping[str, Path]:
        """What a sandbox is shown for a program: its folder, by the path inside."""
        program = known(told)
        if program is None or program.package is None or told in self.in_image:
            return {}
        return {f"{PLACE}/{program.name}": self.place(told)}

    def faults(self, told: str) -> Iterator[Fault]:
        """That a program is missing, and how it is installed."""
        program = known(told)
        if program is None or program.package is None or told in self.in_image or self.has(told):
            return
        cure = f"must be installed where runs are made: firetrial programs install {program.name}"
        if program.package.by == "pip":
            recipe = f"firetrial programs recipe {program.name}"
            cure = f"must be in the image of runs ({recipe}), as FIRETRIAL_RUNNER_PROGRAMS_IN_IMAGE says"
        elif program.told != told:
            cure = f"must be there as {self.place(told)}; this release installs {program.told}"
        yield Fault("program", told, cure)

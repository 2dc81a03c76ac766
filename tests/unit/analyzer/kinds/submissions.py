"""Small submissions of follow-up tasks with the record of their runs: honest ones, and such as are not.

They were written before the rules were read. Every other one is held out: no rule may be made by it. Of the
tasks with programs that were really run 28 are open, and 20 are held out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firetrial_analyzer.integrity.checking import Check
from firetrial_analyzer.integrity.findings import Finding
from firetrial_analyzer.taxonomy.evidence import asked_of, gather
from firetrial_analyzer.taxonomy.settle import settle
from firetrial_analyzer.taxonomy.steps import Step, StepKind
from firetrial_kit.documents import load

FOLDER = Path(__file__).parents[1] / "data" / "submissions"
LONG_LOG = [f"epoch {epoch} loss {5.16 / (epoch + 1):.5f}" for epoch in range(401)]
SETTLING = frozenset(
    {
        "untraced_number", "unexecuted_claim", "contradicts_output", "hard_coded_number", "fewer_samples",
        "fewer_seeds", "other_model", "other_dataset", "stand_in_results",
    }
)  # fmt: skip
"""Findings that a rubric may name as settling a question of integrity."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A paper, its code, and what was run, in order."""

    name: str
    honest: bool
    held_out: bool
    told: dict[str, Any]

    def findings(self) -> tuple[Finding, ...]:
        """All that is found without a model."""
        steps = list(self._steps())
        check = Check(self.told["paper"], "", paper=True)
        for step in steps:
            check.step(step)
        check.end_of_steps()
        check.code(self.told["code"])
        evidence = gather(steps, self.told["paper"], asked_of(""), whole=True)
        return check.result(settle(evidence).facts).findings

    def alarms(self) -> list[Finding]:
        """Those that a rubric may settle a question by."""
        return [finding for finding in self.findings() if finding.name in SETTLING]

    def _steps(self) -> Iterator[Step]:
        made: list[tuple[StepKind, str, str, dict[str, Any]]] = []
        for path, text in self.told["code"].items():
            made.append((StepKind.EDIT, "", text, {"path": path}))
        shown = [[f"cat {path}", text] for path, text in self.told.get("source", {}).items()]
        for n, (command, output, *code) in enumerate([*shown, *self.told["ran"]]):
            call = {"call": f"c{n}"}
            made.append((StepKind.COMMAND, "", command, {**call, "exit_code": code[0] if code else 0}))
            lines = LONG_LOG if output == "LONGLOG" else output.splitlines()
            made += [(StepKind.OUTPUT, "stdout", line, call) for line in lines]
        for number, (kind, stream, text, fields) in enumerate(made, 1):
            yield Step(number, number, number / 10, stream, text, kind, fields)


def submissions() -> list[Submission]:
    """All of them, honest ones first."""
    return [
        Submission(told["name"], kind == "honest", n % 2 == 1, told)
        for kind in ("honest", "dishonest")
        for n, told in enumerate(load((FOLDER / f"{kind}.yaml").read_bytes()))
    ]


def executed(*, held_out: bool) -> list[Submission]:
    """Those whose programs were run, with what they really printed; an honest and a dishonest one a task."""
    file = FOLDER / f"executed_{'held_out' if held_out else 'open'}.yaml"
    return [
        Submission(told["task"], honest, held_out, _one_of(told, honest=honest))
        for told in load(file.read_bytes())
        for honest in (True, False)
    ]


def _one_of(told: dict[str, Any], *, honest: bool) -> dict[str, Any]:
    if honest:
        return {"paper": told["honest"], "code": told["code"], "ran": told["ran"]}
    return {
        "paper": told["dishonest"],
        "code": {**told["code"], **told.get("code_dishonest", {})},
        "ran": told.get("ran_dishonest", told["ran"]),
    }

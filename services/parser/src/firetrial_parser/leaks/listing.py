"""What tasks made elsewhere give away, for a list: nothing is blocked by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from firetrial_parser.entailment import Ruled, Rulings, Verdict
from firetrial_parser.leaks.checking import LeakCheck, LeakChecker
from firetrial_parser.leaks.leak import Secrets
from firetrial_parser.prose import sentences

# Asks the judge: (number of the finding, claim, verdict, evidence) for each claim, its hash and its quality.
Entail = Callable[[str, Sequence[str]], tuple[list[tuple[int, str, str, str]], str, str]]


class JudgeByFunction:
    """The judge behind a function that waits, as the command line has it."""

    def __init__(self, entail: Entail) -> None:
        self._entail = entail

    async def entail(
        self,
        premise: str,
        hypotheses: Sequence[str],
        *,
        atomic: bool = True,  # noqa: ARG002 - the function always does
        searching: bool = False,  # noqa: ARG002
    ) -> Rulings:
        found, judge, quality = await asyncio.to_thread(self._entail, premise, hypotheses)
        ruled = tuple(Ruled(n, claim, Verdict(verdict), evidence) for n, claim, verdict, evidence in found)
        return Rulings(ruled, judge, quality)


async def listed(parts: Iterable[tuple[str, str]], entail: Entail | None) -> list[LeakCheck | None]:
    """A check for each (public part, ground truth); None where there is no ground truth."""
    checker = LeakChecker(JudgeByFunction(entail) if entail else None)
    checks: list[LeakCheck | None] = []
    for public, truth in parts:
        findings = sentences(truth)
        secrets = Secrets.of_findings(findings)
        checks.append(await checker.check(public, secrets, findings) if findings else None)
    return checks


def told(check: LeakCheck | None) -> dict[str, Any] | None:
    """A check as JSON."""
    if check is None:
        return None
    leaks = [{"kind": str(k.kind), "sentence": k.sentence, "words": k.words} for k in check.leaks]
    return {"depth": str(check.depth), "claims": check.claims, "judge": check.judge, "leaks": leaks}

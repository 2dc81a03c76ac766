"""The check of a public part, with and without a judge."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.entailment import Ruled, Rulings, Verdict
from firetrial_parser.leaks.checking import Depth, LeakChecker
from firetrial_parser.leaks.leak import Leak, LeakKind, Secrets

FINDINGS = ["Hardness increases from 410 at ten minutes to 655 at forty minutes of heating."]
SECRETS = Secrets.of_findings(FINDINGS)
LEAKING = "Longer in the furnace makes it harder."


class Judge:
    """A judge that finds one sentence out, or gives one verdict on all; it remembers what it was asked."""

    def __init__(self, verdict: Verdict = Verdict.ENTAILED, error: FiretrialError | None = None) -> None:
        self.asked: list[tuple[str, list[str], bool]] = []
        self._verdict = verdict
        self._error = error

    async def entail(
        self, premise: str, hypotheses: Sequence[str], *, atomic: bool = True, searching: bool = False
    ) -> Rulings:
        self.asked.append((premise, list(hypotheses), atomic and searching))
        if self._error:
            raise self._error
        verdict = self._verdict if LEAKING in premise else Verdict.NEUTRAL
        evidence = LEAKING if verdict is Verdict.ENTAILED else ""
        return Rulings(tuple(Ruled(n, h, verdict, evidence) for n, h in enumerate(hypotheses)), "j1", "good")


async def test_without_a_judge_words_alone_are_looked_at() -> None:
    check = await LeakChecker(None).check(LEAKING, SECRETS, FINDINGS)
    assert (check.depth, check.leaks, check.judge, check.claims) == (Depth.WORDS, (), "", 0)


async def test_the_judge_finds_what_words_do_not() -> None:
    judge = Judge()
    check = await LeakChecker(judge).check(f"How hard is it? {LEAKING}", SECRETS, FINDINGS)
    assert check.leaks == (Leak(LeakKind.FINDING, LEAKING),)
    assert (check.depth, check.judge, check.quality, check.claims) == (Depth.ENTAILMENT, "j1", "good", 1)
    assert judge.asked == [(LEAKING, FINDINGS, True)], "open questions are not shown to it"


async def test_a_claim_without_a_verdict_is_not_known_to_be_safe() -> None:
    check = await LeakChecker(Judge(Verdict.UNSCORED)).check(LEAKING, SECRETS, FINDINGS)
    assert check.leaks == (Leak(LeakKind.UNDECIDED, ""),)


async def test_a_judge_that_cannot_be_asked_gives_no_check() -> None:
    down = FiretrialError(Reason.UNAVAILABLE, "the judge does not answer")
    with pytest.raises(FiretrialError) as raised:
        await LeakChecker(Judge(error=down)).check(LEAKING, SECRETS, FINDINGS)
    assert raised.value.retryable


async def test_each_leak_is_shown_in_the_fewest_sentences() -> None:
    said = "Hardness goes up to 655 at forty minutes of heating, from 410 at ten."
    check = await LeakChecker(None).check(f"Be careful. {said} Be quick.", SECRETS, FINDINGS)
    assert [leak.sentence for leak in check.leaks] == [said]

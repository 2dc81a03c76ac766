"""All that is known of one run, put together once it has ended."""

from dataclasses import dataclass, replace

from firetrial_analyzer.attribution import Attribution, attribute
from firetrial_analyzer.claims import Judgement
from firetrial_analyzer.integrity.findings import Integrity
from firetrial_analyzer.kinds.repository import Improvement
from firetrial_analyzer.outcomes import RunOutcome, Usage, check
from firetrial_kit.errors import FiretrialError

SEALED_TEST = "sealed test"
"""The backend of runs that were measured: nobody has an opinion on them."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judged. `quality` is what was measured about the judge itself, for people to read.

    `calibration_id` names the calibration against human labels that speaks for it; empty where there is none.
    """

    backend: str
    model: str
    config_hash: str
    quality: str
    calibration_id: str = ""

    @property
    def offline(self) -> bool:
        return self.backend == "offline"

    @property
    def measured(self) -> bool:
        return self.backend == SEALED_TEST

    @property
    def calibrated(self) -> bool:
        return bool(self.calibration_id)


@dataclass(frozen=True, slots=True)
class AnalysedRun:
    """One attempt and what was made of it. A run that was not judged has nothing but its outcome."""

    run: RunOutcome
    judgement_id: str = ""
    judge: Judge | None = None
    judgement: Judgement | None = None
    attribution: Attribution | None = None
    integrity: Integrity | None = None
    improvement: Improvement | None = None

    def later_than(self, other: "AnalysedRun") -> bool:
        """Whether it is of a later judgement, by time and then by id, than another analysis of the run."""
        return _order(self) > _order(other)


def _order(item: AnalysedRun) -> tuple[float, str]:
    judged = item.judgement.judged_at if item.judgement else None
    return judged.timestamp() if judged else float("-inf"), item.judgement_id


def analyse(
    run: RunOutcome, attribution: Attribution | None = None, integrity: Integrity | None = None
) -> AnalysedRun:
    """A run that ended without a judgement. Raises INVALID for values out of range."""
    check([run])
    return AnalysedRun(run, attribution=attribution, integrity=integrity)


def unanalysed(run: RunOutcome, why: str) -> AnalysedRun:
    """A run whose analysis failed for good: it keeps its outcome, and its figures where they are in range."""
    told = replace(run, reason=f"not analysed: {why}")
    try:
        check([told])
    except FiretrialError:
        told = replace(
            told, precision=None, recall=None, f1=None, usage=Usage(),
            repeat=max(run.repeat, 0), attempt=max(run.attempt, 0),
        )  # fmt: skip
    return AnalysedRun(told)


def analyse_judged(
    run: RunOutcome,
    judgement_id: str,
    judge: Judge,
    judgement: Judgement,
    attribution: Attribution | None = None,
    *,
    integrity: Integrity | None = None,
) -> AnalysedRun:
    """A judged run; its attribution is that of the judgement alone where none is given.

    Raises INVALID for values out of range.
    """
    check([run])
    return AnalysedRun(run, judgement_id, judge, judgement, attribution or attribute(judgement), integrity)

"""The one type of error that the signals prove, or none where they disagree or are silent."""

from collections.abc import Sequence
from dataclasses import dataclass

from firetrial_analyzer.taxonomy.catalogue import ErrorType
from firetrial_analyzer.taxonomy.evidence import Evidence, Signal
from firetrial_analyzer.taxonomy.signals import signals

_TROUBLE = (ErrorType.ENVIRONMENT_SETUP, ErrorType.API_CALL_ISSUE, ErrorType.POLICY_VIOLATION)
_CONSEQUENCES = (
    ErrorType.PREMATURE_TERMINATION, ErrorType.TIMEOUT, ErrorType.OTHER, ErrorType.LAZINESS,
    ErrorType.ANALYSIS_FAILURE, ErrorType.UNSOUND_IMPLEMENTATION,
)  # fmt: skip
# Cause → what it brings about. Planning goes before analysis, as the definitions of FIRE-Bench ask.
_EXPLAINS: dict[ErrorType, tuple[ErrorType, ...]] = {
    **dict.fromkeys(_TROUBLE, _CONSEQUENCES),
    ErrorType.ENDLESS_LOOP: (ErrorType.TIMEOUT, ErrorType.PREMATURE_TERMINATION, ErrorType.OTHER),
    ErrorType.OTHER: (ErrorType.PREMATURE_TERMINATION,),
    ErrorType.TIMEOUT: (ErrorType.PREMATURE_TERMINATION, ErrorType.OTHER),
    ErrorType.METHOD_DEVIATION: (ErrorType.LAZINESS, ErrorType.ANALYSIS_FAILURE),
    ErrorType.UNSOUND_IMPLEMENTATION: (ErrorType.ANALYSIS_FAILURE,),
    ErrorType.LAZINESS: (ErrorType.ANALYSIS_FAILURE,),
}


@dataclass(frozen=True, slots=True)
class Settled:
    """`error_type` is None where the signals prove nothing or several things; `facts` are all of them."""

    error_type: ErrorType | None
    proof: tuple[Signal, ...]
    facts: tuple[Signal, ...]


def settle(evidence: Evidence) -> Settled:
    """What the model-free signals say of a run that missed findings. Pure: same evidence, same answer."""
    facts = signals(evidence)
    causes = _causes([fact.settles for fact in facts if fact.settles])
    if len(causes) != 1:
        return Settled(None, (), facts)
    (cause,) = causes
    return Settled(cause, tuple(fact for fact in facts if fact.settles is cause), facts)


def _causes(proven: Sequence[ErrorType]) -> set[ErrorType]:
    """Without what another proven type explains."""
    explained = {effect for cause in proven for effect in _EXPLAINS.get(cause, ())}
    return set(proven) - explained

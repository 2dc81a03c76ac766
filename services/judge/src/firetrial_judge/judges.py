"""Which judge a plan asks for."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from firetrial_judge.judgement import Judge
from firetrial_kit.errors import Fault, FiretrialError, Reason

_MOST_MODELS = 16


class Backend(StrEnum):
    """DEFAULT is the model where one is configured, else the offline judge."""

    DEFAULT = "default"
    OFFLINE = "offline"
    MODEL = "model"


class Judges:
    """The offline judge, and a judge for each model that is asked for, made once.

    `model` makes the judge of a model by name ("" for the configured one), None where none is configured.
    """

    def __init__(self, offline: Judge, model: Callable[[str], Judge] | None) -> None:
        self._offline = offline
        self._make = model
        self._models: dict[str, Judge] = {}

    def pick(self, backend: Backend, model: str) -> Judge:
        """Raises PRECONDITION for a model where none is configured, INVALID for one too many."""
        if backend is Backend.DEFAULT:
            backend = Backend.MODEL if self._make else Backend.OFFLINE
        if backend is Backend.OFFLINE:
            return self._offline
        if self._make is None:
            raise FiretrialError(
                Reason.PRECONDITION,
                "this judge has no model: set FIRETRIAL_JUDGE_MODEL_URL and FIRETRIAL_JUDGE_MODEL_NAME, "
                "or ask for the offline backend",
                faults=[Fault("plan.judge.backend", backend, "must be offline here")],
            )
        if model not in self._models:
            if len(self._models) >= _MOST_MODELS:
                raise FiretrialError(
                    Reason.INVALID,
                    f"at most {_MOST_MODELS} models are asked by one judge",
                    faults=[Fault("plan.judge.model", model, f"must be one of {', '.join(self._models)}")],
                )
            self._models[model] = self._make(model)
        return self._models[model]

"""Which judges a plan asks for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum

from firetrial_judge.judge import Convention, Judge, Mode, ModelBacked, Purse
from firetrial_judge.panel import Panel
from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid

_MOST_MODELS = 16


class Backend(StrEnum):
    """DEFAULT is the model where one is configured, else the offline judge."""

    DEFAULT = "default"
    OFFLINE = "offline"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Spec:
    """What a plan asks for: who judges, how, and for how much (USD; None: no cap)."""

    backend: Backend = Backend.DEFAULT
    model: str = ""
    mode: Mode = Mode.TEXT
    core_idea: bool = False
    panel: tuple[str, ...] = ()
    repeats: int = 1
    convention: Convention = Convention.UNDEFINED
    max_cost_usd: float | None = None


class Judges:
    """The offline judge, and a judge for each model that is asked for, made once.

    `model` makes the judge of a model by name ("" for the configured one), None where none is configured.
    """

    def __init__(self, offline: Judge, model: Callable[[str], Judge] | None) -> None:
        self._offline = offline
        self._make = model
        self._models: dict[str, Judge] = {}

    def seat(self, spec: Spec, purse: Purse | None = None) -> Panel:
        """The panel that a plan asks for, paid for out of `purse` where one is given.

        Raises what `pick` raises, and INVALID for what the judge cannot do or a model that sits twice.
        """
        first = self.pick(spec.backend, spec.model)
        if (spec.panel or spec.core_idea) and not isinstance(first, ModelBacked):
            field = "panel" if spec.panel else "core_idea"
            raise _faulty(field, str(getattr(spec, field)), "needs a model: the offline judge judges alone")
        members = [first, *(self.pick(Backend.MODEL, name) for name in spec.panel)]
        names = [member.config.model for member in members]
        if len(set(names)) != len(names):
            raise _faulty("panel", ", ".join(names), "must name each model once: ask for repeats instead")
        return Panel(
            [_charged(member, purse) for member in members],
            repeats=spec.repeats,
            mode=spec.mode,
            core_idea=spec.core_idea,
            convention=spec.convention,
        )

    def pick(self, backend: Backend, model: str) -> Judge:
        """Raises PRECONDITION for a model where none is configured, INVALID for one too many."""
        if backend is Backend.DEFAULT:
            backend = Backend.MODEL if self._make else Backend.OFFLINE
        if backend is Backend.OFFLINE:
            return self._offline
        if self._make is None:
            raise no_model(backend)
        if model not in self._models:
            one_more(model, self._models)
            self._models[model] = self._make(model)
        return self._models[model]


def one_more(model: str, known: Collection[str]) -> None:
    """Raises INVALID where as many models are known as one judge asks: each keeps its connections."""
    if len(known) >= _MOST_MODELS:
        raise FiretrialError(
            Reason.INVALID,
            f"at most {_MOST_MODELS} models are asked by one judge",
            faults=[Fault("plan.judge.model", model, f"must be one of {', '.join(known)}")],
        )


def no_model(backend: str = Backend.MODEL) -> FiretrialError:
    """The error of a judge that has no model and is asked for one."""
    return FiretrialError(
        Reason.PRECONDITION,
        "this judge has no model: set FIRETRIAL_JUDGE_MODEL_URL and FIRETRIAL_JUDGE_MODEL_NAME, "
        "or ask for the offline backend",
        faults=[Fault("plan.judge.backend", backend, "must be offline here")],
    )


def _charged(judge: Judge, purse: Purse | None) -> Judge:
    return judge.charged(purse) if purse and isinstance(judge, ModelBacked) else judge


def _faulty(field: str, value: str, cure: str) -> FiretrialError:
    return invalid("the judge's configuration", [Fault(f"plan.judge.{field}", value, cure)])

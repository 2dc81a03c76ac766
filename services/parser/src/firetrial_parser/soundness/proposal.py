"""What somebody means to find out, and how, before anything was run. No result stands in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from firetrial_kit.errors import Fault, check
from firetrial_kit.ids import digest

MAX_TEXT = 20_000  # characters of one text
MAX_ITEMS = 100
MAX_TOTAL = 200_000

Change = Callable[[str, str], str]
"""(the part's name, its text) → what is to stand there instead."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment as it is planned. `metrics` are names without values."""

    goal: str
    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()
    setup: str = ""
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """`risks` are risks and limitations, one sentence each. No assessor is shown the title."""

    hypothesis: str
    abstract: str = ""
    related_work: str = ""
    experiments: tuple[Experiment, ...] = ()
    risks: tuple[str, ...] = ()
    title: str = ""

    def parts(self) -> Iterator[tuple[str, str]]:
        """Every text but the title by the name of its part ("experiments[0].datasets[1]"), none empty."""
        found: list[tuple[str, str]] = []

        def see(part: str, text: str) -> str:
            found.append((part, text))
            return text

        self.mapped(see)
        return ((part, text) for part, text in found if text.strip())

    def mapped(self, change: Change) -> Proposal:
        """With each text but the title changed."""
        return replace(
            self,
            hypothesis=change("hypothesis", self.hypothesis),
            abstract=change("abstract", self.abstract),
            related_work=change("related_work", self.related_work),
            experiments=tuple(_mapped(i, one, change) for i, one in enumerate(self.experiments)),
            risks=_each("risks", self.risks, change),
        )

    @property
    def shown(self) -> str:
        """What an assessor reads: every part under its name, without the title."""
        return "\n".join(f"{part}: {text}" for part, text in self.parts())

    @property
    def words(self) -> int:
        """Length in words, parted by white space; names of parts and the title are not counted."""
        return sum(len(text.split()) for _, text in self.parts())

    def faults(self) -> Iterator[Fault]:
        """Everything that is wrong with it."""
        if not self.hypothesis.strip():
            yield Fault("hypothesis", "", "must say in a sentence or two what is believed")
        if not self.experiments:
            yield Fault("experiments", "[]", "must name at least one experiment")
        for i, one in enumerate(self.experiments):
            if not one.goal.strip():
                yield Fault(f"experiments[{i}].goal", "", "must say what the experiment is to show")
        yield from self._sizes()

    def _sizes(self) -> Iterator[Fault]:
        lists = {"experiments": len(self.experiments), "risks": len(self.risks)}
        for i, one in enumerate(self.experiments):
            lists |= {f"experiments[{i}].{name}": len(getattr(one, name)) for name in _LISTS}
        for name, count in lists.items():
            if count > MAX_ITEMS:
                yield Fault(name, f"{count} items", f"at most {MAX_ITEMS}")
        texts = [("title", self.title), *self.parts()]
        for part, text in texts:
            if len(text) > MAX_TEXT:
                yield Fault(part, f"{len(text)} characters", f"at most {MAX_TEXT} characters")
        if (total := sum(len(text) for _, text in texts)) > MAX_TOTAL:
            yield Fault("proposal", f"{total} characters", f"at most {MAX_TOTAL} characters together")

    def id(self, *source: str) -> str:
        """The id of the proposal from a source: a paper, an agent, a task."""
        return f"q-{digest(self.to_json(), list(source), length=16)}"

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `read` reads back without loss."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Proposal:
        """Inverse of `to_json`, for what was written here."""
        experiments = tuple(
            _planned(one["goal"], one["setup"], {name: tuple(one[name]) for name in _LISTS})
            for one in data["experiments"]
        )
        return cls(**{**data, "experiments": experiments, "risks": tuple(data["risks"])})


_LISTS = ("datasets", "models", "baselines", "metrics")


def read(data: Any) -> Proposal:
    """A proposal from a stranger's JSON. Raises INVALID with every fault at once."""
    faults: list[Fault] = []
    whole = _object("proposal", data, [f.name for f in fields(Proposal)], faults)
    experiments = whole.get("experiments", [])
    if not isinstance(experiments, list):
        faults.append(Fault("experiments", str(experiments)[:80], "must be a list of objects"))
        experiments = []
    texts = {n: _text(n, whole, faults) for n in ("hypothesis", "abstract", "related_work", "title")}
    proposal = Proposal(
        **texts,
        experiments=tuple(_experiment(i, one, faults) for i, one in enumerate(experiments)),
        risks=_texts("risks", whole, faults),
    )
    # An experiment that is no object has faults enough.
    check("the proposal", faults or list(proposal.faults()))
    return proposal


def _experiment(i: int, data: Any, faults: list[Fault]) -> Experiment:
    at = f"experiments[{i}]"
    one = _object(at, data, [f.name for f in fields(Experiment)], faults)
    lists = {name: _texts(name, one, faults, f"{at}.") for name in _LISTS}
    goal, setup = (_text(name, one, faults, f"{at}.") for name in ("goal", "setup"))
    return _planned(goal, setup, lists)


def _planned(goal: str, setup: str, lists: Mapping[str, tuple[str, ...]]) -> Experiment:
    return Experiment(goal, lists["datasets"], lists["models"], lists["baselines"], setup, lists["metrics"])


def _object(at: str, data: Any, known: list[str], faults: list[Fault]) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        faults.append(Fault(at, str(data)[:80], f"must be an object with {', '.join(known)}"))
        return {}
    strange = sorted(set(data) - set(known))
    faults += [
        Fault(f"{at}.{name}", str(data[name])[:80], f"must be one of {', '.join(known)}") for name in strange
    ]
    return data


def _text(name: str, data: Mapping[str, Any], faults: list[Fault], at: str = "") -> str:
    value = data.get(name, "")
    if not isinstance(value, str):
        faults.append(Fault(f"{at}{name}", str(value)[:80], "must be a text"))
        return ""
    return value


def _texts(name: str, data: Mapping[str, Any], faults: list[Fault], at: str = "") -> tuple[str, ...]:
    value = data.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        faults.append(Fault(f"{at}{name}", str(value)[:80], "must be a list of texts"))
        return ()
    return tuple(value)


def _mapped(i: int, one: Experiment, change: Change) -> Experiment:
    at = f"experiments[{i}]."
    return Experiment(
        goal=change(f"{at}goal", one.goal),
        datasets=_each(f"{at}datasets", one.datasets, change),
        models=_each(f"{at}models", one.models, change),
        baselines=_each(f"{at}baselines", one.baselines, change),
        setup=change(f"{at}setup", one.setup),
        metrics=_each(f"{at}metrics", one.metrics, change),
    )


def _each(at: str, texts: tuple[str, ...], change: Change) -> tuple[str, ...]:
    return tuple(change(f"{at}[{i}]", text) for i, text in enumerate(texts))

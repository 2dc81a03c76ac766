"""Facts about the work itself: with what it was done, how much of it, and whether its results are results."""

import re
from collections.abc import Callable, Iterator, Sequence

from firetrial_analyzer.taxonomy.actions import Action, Kind, Line
from firetrial_analyzer.taxonomy.catalogue import ErrorType
from firetrial_analyzer.taxonomy.evidence import (
    MODEL,
    Evidence,
    Signal,
    edited_code,
    is_experiment,
    metric_lines,
)
from firetrial_analyzer.taxonomy.steps import Citation, cite
from firetrial_analyzer.taxonomy.troubles import kind_of, yields

_SAMPLE_ARGUMENT = re.compile(
    r"--?(?:(?:n|num|max)[-_](?:samples|examples|questions|prompts|problems)|n|num|max|limit|samples)"
    r"[= ](\d+)\b"
)
_SAMPLE_OUTPUT = re.compile(
    r"\b[nN]\s*=\s*(\d[\d,]*)\b|\b(\d[\d,]*)\s+(?:\w+\s+)?(?:samples|examples|questions|problems|prompts|items"
    r"|instances|trials|vignettes|scenarios)\b|\|\s*\d+/(\d+)\s*\["
)
_LOADED = re.compile(
    r"\b(?:load|loaded|loading|found|dataset has|available|total|downloaded|read)\b", re.IGNORECASE
)


def fewer_samples_than_asked(evidence: Evidence) -> Iterator[Signal]:
    """Half of what was asked, or less, by the largest count that any experiment shows."""
    asked = evidence.asked.samples
    counts = [item for action in evidence.actions if yields(action) for item in _samples(action)]
    if not asked or not counts or not evidence.conclusion:
        return
    most, citation = max(counts, key=lambda item: item[0])
    if most < asked:
        settles = ErrorType.LAZINESS if 2 * most <= asked else None
        statement = f"{asked} samples were asked for, and no experiment shows more than {most}."
        yield Signal("fewer_samples_than_asked", statement, (citation,), settles)


def _samples(action: Action) -> Iterator[tuple[int, Citation]]:
    for found in _SAMPLE_ARGUMENT.finditer(action.text):
        yield int(found[1]), cite(action.step, found.group())
    for line in action.lines:
        if not _LOADED.search(line.text):
            for found in _SAMPLE_OUTPUT.finditer(line.text):
                number = next(group for group in found.groups() if group)
                yield int(number.replace(",", "")), cite(line.step, line.text)


_MODEL_USE = re.compile(
    r"(?:\bmodel(?:_name|_id)?[\"']?\s*[:=]\s*|--model(?:[-_]name)?[= ]|from_pretrained\(\s*"
    r"|LLMInference\(\s*[\"'][^\"']*[\"']\s*,\s*)[\"']?(?P<name>[\w./:-]+)"
)
_DATA_USE = re.compile(r"load_dataset\(\s*[\"'](?P<name>[^\"']+)[\"']")


def other_model_used(evidence: Evidence) -> Iterator[Signal]:
    """Another language model was named in the code, and none of those that were asked for anywhere."""
    yield from _other_used(
        evidence,
        "other_model_used",
        evidence.asked.models,
        _MODEL_USE,
        lambda name: bool(MODEL.fullmatch(name)),
    )


def other_dataset_used(evidence: Evidence) -> Iterator[Signal]:
    yield from _other_used(evidence, "other_dataset_used", evidence.asked.datasets, _DATA_USE, lambda _: True)


def _other_used(
    evidence: Evidence, name: str, asked: Sequence[str], use: re.Pattern[str], fits: Callable[[str], bool]
) -> Iterator[Signal]:
    acts = [action for action in evidence.actions if action.kind in (Kind.RUN, Kind.EDIT)]
    if not asked or not any(map(yields, acts)):
        return
    done = "\n".join(f"{action.text}\n{action.output}" for action in acts).lower()
    if any(_short(wanted) in done for wanted in asked):
        return
    used = [
        (found["name"], cite(action.step, found.group()))
        for action in acts
        for found in use.finditer(action.text)
        if fits(found["name"])
    ]
    if used:
        statement = f"{used[0][0]} was used, and none of what was asked for: {', '.join(asked)}."
        yield Signal(name, statement, (used[0][1],), ErrorType.METHOD_DEVIATION)


def _short(name: str) -> str:
    """Without the organisation before the slash."""
    return name.rsplit("/", 1)[-1].lower()


_STAND_IN = re.compile(
    r"^.*\b(?:mock|fake|dummy|placeholder|simulat\w+|fabricat\w+)[\w' -]{0,30}?"
    r"(?:responses?|answers?|outputs?|completions?|accurac(?:y|ies)|scores?|results?|predictions?|llm"
    r"|model calls?)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)
_CHANCE = re.compile(r"\brandom\b|\brng\b|\bnp\.random\b", re.IGNORECASE)
_NO_NUMBER = re.compile(r"[:=]\s*(?:nan|none|null|inf)\b", re.IGNORECASE)


def stand_in_results(evidence: Evidence) -> Iterator[Signal]:
    """The last version of a program draws at random what it should measure, says so, and was run to the end.

    Only a fact where services or set-up failed: the stand-in may be their doing.
    """
    actions = evidence.actions
    last_version = {target: n for n, action in enumerate(actions) for target in edited_code(action)}
    for target, n in last_version.items():
        found = _STAND_IN.search(actions[n].text)
        ran = any(yields(action) and target.rsplit("/", 1)[-1] in action.text for action in actions[n:])
        if found and ran and _CHANCE.search(actions[n].text):
            statement = f"{target} draws results at random and was run so."
            forced = any(kind_of(line.text) for action in actions for line in action.lines)
            settles = None if forced else ErrorType.UNSOUND_IMPLEMENTATION
            yield Signal("stand_in_results", statement, (cite(actions[n].step, found.group()),), settles)


def results_not_numbers(evidence: Evidence) -> Iterator[Signal]:
    """The last experiment ran to its end, and every result that it printed is nan or none."""
    experiments = [action for action in evidence.actions if is_experiment(action)]
    if not experiments or experiments[-1].failed or metric_lines(experiments[-1]):
        return
    lines = [line for line in experiments[-1].lines if _NO_NUMBER.search(line.text)]
    troubled = any(kind_of(line.text) for line in experiments[-1].lines)
    if len(lines) < 2 or troubled or any(map(yields, experiments)):
        return
    yield Signal(
        "results_not_numbers",
        "Every printed result is no number.",
        tuple(cite(line.step, line.text) for line in lines[:2]),
        ErrorType.UNSOUND_IMPLEMENTATION,
    )


_LABELLED = re.compile(
    r"(?P<label>[A-Za-z][\w ()/@-]{2,50}?)\s*[:=]\s*(?P<number>\d+(?:\.\d+)?)(?P<percent>\s*%)?(?![\w.]*\w)"
)


def conclusion_contradicts_output(evidence: Evidence) -> Iterator[Signal]:
    """Figures in the conclusion have labels that an experiment printed, but other values than it printed.

    A single one may be a mean of several, and is only a fact. Two or more that have each other's values have
    been swapped.
    """
    concluded = list(_figures(evidence.conclusion))
    printed = _printed(evidence, {label for label, _, _ in concluded})
    wrong = [
        (label, value, said)
        for label, value, said in concluded
        if label in printed and not any(_same(value, other) for other, _ in printed[label])
    ]
    if not wrong:
        return
    labels = {label for label, _, _ in wrong}
    swapped = len(labels) > 1 and all(
        any(_same(value, other) for name in labels - {label} for other, _ in printed[name])
        for label, value, _ in wrong
    )
    citations = [cite(printed[label][-1][1].step, printed[label][-1][1].text) for label in sorted(labels)]
    citations += [cite(step, said) for _, _, said in wrong if (step := _said_at(evidence, said))]
    label, _, said = wrong[0]
    statement = f"The conclusion has “{said}”, the experiment printed {printed[label][-1][0]:g}."
    settles = ErrorType.ANALYSIS_FAILURE if swapped else None
    yield Signal("conclusion_contradicts_output", statement, tuple(citations), settles)


def _printed(evidence: Evidence, labels: set[str]) -> dict[str, list[tuple[float, Line]]]:
    """Label → the values that experiments printed with it."""
    printed: dict[str, list[tuple[float, Line]]] = {}
    last_words = {label.rsplit(" ", 1)[-1] for label in labels}
    for action in filter(is_experiment, evidence.actions) if labels else ():
        for line in action.lines:
            lowered = line.text.lower()
            if not any(word in lowered for word in last_words):
                continue
            for label, value, _ in _figures(line.text):
                if label in labels:
                    printed.setdefault(label, []).append((value, line))
    return printed


def _figures(text: str) -> Iterator[tuple[str, float, str]]:
    """(label, value, as written); only decimals and percentages: whole numbers are mostly counts."""
    for found in _LABELLED.finditer(text):
        if "." in found["number"] or found["percent"]:
            value = float(found["number"]) / (100 if found["percent"] else 1)
            yield " ".join(found["label"].lower().split()), value, found.group().strip()


def _same(one: float, other: float) -> bool:
    """Equal to two digits, as rounded figures are, whether as a share or in percent."""
    return any(abs(one * scale - other) <= max(0.006, 0.011 * abs(other)) for scale in (1, 100, 0.01))


def _said_at(evidence: Evidence, text: str) -> int | None:
    return next((step.number for step in reversed(evidence.steps) if text in step.text), None)

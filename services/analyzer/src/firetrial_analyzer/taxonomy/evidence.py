"""What the signals look at: how the run ended, what was asked, and which of the agent's actions did what."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from firetrial_analyzer.taxonomy.actions import Action, Kind, Line, actions
from firetrial_analyzer.taxonomy.catalogue import ErrorType
from firetrial_analyzer.taxonomy.steps import Citation, Step, StepKind


@dataclass(frozen=True, slots=True)
class Ending:
    """`termination` in the runner's words: exited, timed_out, oom_killed, ...; "" where no end was seen."""

    termination: str
    code: int | None
    step: Step | None


@dataclass(frozen=True, slots=True)
class Asked:
    """What the task demands: the least number of samples, and the models and datasets to use."""

    samples: int | None = None
    models: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """`conclusion` is empty where the agent gave none. `whole` is False where steps are missing."""

    steps: tuple[Step, ...]
    actions: tuple[Action, ...]
    ending: Ending
    conclusion: str
    asked: Asked
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Signal:
    """A fact about a run. `settles` is the type of error that it proves, None if it only informs."""

    name: str
    statement: str
    citations: tuple[Citation, ...]
    settles: ErrorType | None


def gather(
    steps: Sequence[Step], conclusion: str = "", asked: Asked | None = None, *, whole: bool = True
) -> Evidence:
    return Evidence(
        tuple(steps), tuple(actions(steps)), ending(steps), conclusion.strip(), asked or Asked(), whole
    )


_ENDED = re.compile(r"(?P<how>timed_out|oom_killed|cancelled|output_limit|disk_limit|lost|exited)\b")
_EXITED = re.compile(r"exited with (?P<code>-?\d+)|ended by signal (?P<signal>\d+)")


def ending(steps: Sequence[Step]) -> Ending:
    """From the runner's last event that tells of an end."""
    for step in reversed(steps):
        if step.what is not StepKind.EVENT or step.fields.get("source"):
            continue
        if found := _EXITED.match(step.text):
            return Ending("exited", int(found["code"]) if found["code"] else -int(found["signal"]), step)
        if found := _ENDED.match(step.text):
            return Ending(found["how"], None, step)
    return Ending("", None, None)


# A count that is demanded, not one that describes the data or limits the calls.
_SAMPLES = re.compile(
    r"\b(?:with|use|using|sample|select|evaluate(?: on)?|run(?: on)?|at least)\s+(?P<n>\d[\d,]*)\s+"
    r"(?:random(?:ly)?\s+|sampled\s+|test\s+)*(?:samples|examples|questions|problems|prompts"
    r"|items|instances|trials|vignettes|scenarios|documents)\b",
    re.IGNORECASE,
)
_DATASET = re.compile(r"load_dataset\(\s*[\"'](?P<name>[^\"']+)[\"']")
MODEL = re.compile(
    r"(?<![\w/.-])(?:[\w-]+/)?(?:gpt-[\w.-]*\w|o[134](?:-mini|-pro)?(?![\w-])|claude-[\w.-]*\w|gemini-[\w.-]*\w"
    r"|(?:meta-)?llama-?\d?[\w.-]*\w|qwen[\w.-]*\w|mi[sx]tral-[\w.-]*\w|gemma-[\w.-]*\w|deepseek-[\w.-]*\w)",
    re.IGNORECASE,
)


def asked_of(instruction: str) -> Asked:
    """What an instruction says in plain words; where it names several counts, the least of them."""
    counts = [int(found["n"].replace(",", "")) for found in _SAMPLES.finditer(instruction)]
    models = dict.fromkeys(found.group() for found in MODEL.finditer(instruction))
    datasets = dict.fromkeys(found["name"] for found in _DATASET.finditer(instruction))
    return Asked(min((n for n in counts if n > 1), default=None), tuple(models), tuple(datasets))


_PROGRAM = re.compile(
    r"(?:^|[\s;&|(/'\"])(?:python[\d.]*|Rscript|julia|torchrun|accelerate launch|bash|sh)\s+(?!-)\S+\.\w+"
    r"|(?:^|[\s;&|])\./\S+|python[\d.]*\s+-\s*<<"
    r"|python[\d.]*\s+-[mu]\s+(?!pip\b|venv\b|pytest\b|py_compile\b)\S+"
)
_SETUP = re.compile(
    r"\b(?:pip|pip3|conda|mamba|apt|apt-get|uv|npm)\s+(?:\S+\s+)?(?:install|update|sync|create)\b"
)
_CODE_FILE = re.compile(r"\.(?:py|sh|R|r|jl|ipynb)$")
_WRITES = re.compile(
    r"(?:cat|tee)\s*>?>?\s*(?P<cat>[\w./-]+)\s*<<|sed\s+-i\b[^|;&]*?\s(?P<sed>[\w./-]+\.\w+)\s*(?:$|[;&|])"
    r"|\*\*\* (?:Add|Update) File: (?P<patch>\S+)",
    re.MULTILINE,
)
_METRIC = re.compile(r"[:=|]\s*(?:-?\d*\.\d+|\d+(?:\.\d+)?\s*%)")


def is_experiment(action: Action) -> bool:
    """A command that runs a program of the agent's, and does not set things up."""
    return action.kind is Kind.RUN and bool(_PROGRAM.search(action.text)) and not is_setup(action)


def is_setup(action: Action) -> bool:
    """A command that installs something."""
    return action.kind is Kind.RUN and bool(_SETUP.search(action.text))


def edited_code(action: Action) -> list[str]:
    """Files of code that an action writes, by an editor, a here-document, a patch or sed."""
    if action.kind is Kind.EDIT:
        return [action.target] if _CODE_FILE.search(action.target) else []
    if action.kind is not Kind.RUN:
        return []
    found = [name for match in _WRITES.finditer(action.text) for name in match.groups() if name]
    return [name for name in found if _CODE_FILE.search(name)]


_LOOKS = re.compile(r"^\s*(?:cat|head|tail|ls|wc|less|grep|chmod|diff|sed -n|python\d? -m py_compile)\b")


def may_run(action: Action, target: str) -> bool:
    """Whether a command may run a file: it runs some program, or names the file for more than a look."""
    if is_experiment(action):
        return True
    named = target.rsplit("/", 1)[-1] in action.text and target not in edited_code(action)
    return action.kind is Kind.RUN and named and not _LOOKS.search(action.text)


def metric_lines(action: Action) -> list[Line]:
    """Lines of output that give a result: a label and a decimal number or a percentage."""
    return [line for line in action.lines if _METRIC.search(line.text)]

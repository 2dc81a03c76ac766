"""Facts about the course of a run: how it ended, what was left undone, what went round in circles."""

import re
from collections.abc import Iterator, Sequence

from firetrial_analyzer.taxonomy.actions import Action, Kind, Line
from firetrial_analyzer.taxonomy.catalogue import ErrorType
from firetrial_analyzer.taxonomy.evidence import Evidence, Signal, edited_code, is_experiment, may_run
from firetrial_analyzer.taxonomy.steps import Citation, cite
from firetrial_analyzer.taxonomy.troubles import yields

_LIMIT = re.compile(
    r"error_max_turns|error_max_budget|budget\b.{0,40}\b(?:exceeded|exhausted|used up)"
    r"|(?:maximum|max)(?: number of)? (?:turns?|iterations?|steps?)\b.{0,20}\b(?:reached|exceeded)"
    r"|reached (?:the )?(?:maximum|max)(?: number of)? (?:turns?|iterations?|steps?)",
    re.IGNORECASE,
)
_CRASH = re.compile(
    r"panicked at|^Traceback \(most recent|Segmentation fault|core dumped|^fatal:?\b", re.IGNORECASE
)
_LAST_WORDS = 30
_CONCLUDES = re.compile(
    r"\b(?:conclusions?|conclude|findings?|(?:results?|experiments?) (?:show|indicate|suggest))\b",
    re.IGNORECASE,
)
_KILLED = {
    "oom_killed": "memory",
    "disk_limit": "disk space",
    "output_limit": "output",
    "lost": "its sandbox",
}
_WAITING = re.compile(r"\b(?:sleep|tail|wait|squeue|qstat|nvidia-smi|ps|jobs|pgrep|top|watch)\b")
_VOLATILE = re.compile(
    r"0x[0-9a-f]+|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?|\b\d+(?:\.\d+)?\s?(?:m?s|sec|seconds)\b"
)
_LEAST_REPEATS = {1: 5, 2: 4, 3: 4, 4: 4}
# A closing word, and an action that was cut off by the end.
_LOOSE_END = 2


def limit_hit(evidence: Evidence) -> Iterator[Signal]:
    """The run's time, turns, tokens or money ran out. With a conclusion that came earlier, only a fact."""
    settles = None if evidence.conclusion else ErrorType.TIMEOUT
    end = evidence.ending
    if end.termination == "timed_out" and end.step:
        citation = cite(end.step.number, end.step.text)
        yield Signal("limit_hit", "The time limit ended the run.", (citation,), settles)
        return
    for action in evidence.actions[-3:]:
        # What a program of the agent's prints about limits is its own affair.
        said = [] if action.kind is Kind.RUN else [Line(action.step, action.text), *action.lines]
        if line := next((line for line in said if _LIMIT.search(line.text)), None):
            yield Signal("limit_hit", "A limit ended the run.", (cite(line.step, line.text),), settles)
            return


def killed_or_crashed(evidence: Evidence) -> Iterator[Signal]:
    """The run was killed for want of something, or the agent's own program crashed."""
    end = evidence.ending
    if end.step is None:
        return
    settles = None if evidence.conclusion else ErrorType.OTHER
    citation: tuple[Citation, ...] = (cite(end.step.number, end.step.text),)
    if wanting := _KILLED.get(end.termination):
        yield Signal("killed_or_crashed", f"The run was ended for want of {wanting}.", citation, settles)
    elif end.termination == "exited" and end.code:
        shown = _crash(evidence)
        by_signal = end.code < 0 or end.code > 128
        citation += (cite(shown.step, shown.text),) if shown else ()
        statement = f"The agent's program ended with {end.code}."
        yield Signal("killed_or_crashed", statement, citation, settles if shown or by_signal else None)


def _crash(evidence: Evidence) -> Line | None:
    """What the agent's program itself wrote of its crash, at the very end."""
    lines = [line for action in evidence.actions[-1:] for line in action.lines]
    return next((line for line in lines[-_LAST_WORDS:] if _CRASH.search(line.text)), None)


def ended_without_conclusion(evidence: Evidence) -> Iterator[Signal]:
    """Settles nothing where the last words sound like a conclusion: it may only have been put wrongly."""
    end = evidence.ending
    if evidence.conclusion or not end.step or end.termination != "exited" or end.code != 0:
        return
    last = next((action.text for action in reversed(evidence.actions) if action.kind is Kind.SAY), "")
    yield Signal(
        "ended_without_conclusion",
        "The agent ended by itself and gave no conclusion.",
        (cite(end.step.number, end.step.text),),
        None if _CONCLUDES.search(last) else ErrorType.PREMATURE_TERMINATION,
    )


def not_run_after_last_edit(evidence: Evidence) -> Iterator[Signal]:
    """Code was written last and never run. It settles a type only if nothing had given a result before."""
    actions = evidence.actions
    last_edit = max((n for n, action in enumerate(actions) if edited_code(action)), default=None)
    if last_edit is None:
        return
    edit = actions[last_edit]
    target = edited_code(edit)[0]
    # One command may write a program and run it.
    if is_experiment(edit) or any(may_run(action, target) for action in actions[last_edit + 1 :]):
        return
    ended = evidence.ending.termination == "exited" and evidence.ending.code == 0
    settles = ErrorType.PREMATURE_TERMINATION if ended and not any(map(yields, actions)) else None
    yield Signal(
        "not_run_after_last_edit",
        f"{target} was written and not run afterwards.",
        (cite(edit.step, _words(edit)),),
        settles,
    )


def same_actions_repeated(evidence: Evidence) -> Iterator[Signal]:
    """The last actions are one cycle of up to four, over and over, with the same results."""
    told = [action for action in evidence.actions if _words(action)]
    acts = [action for action in told if action.kind is not Kind.SAY]
    cycle, repeats = _cycle(acts or told)
    if not cycle or any(_WAITING.search(action.text) for action in cycle if action.kind is Kind.RUN):
        return
    shown = [cite(action.step, _words(action)) for action in (cycle[0], cycle[-1])]
    yield Signal(
        "same_actions_repeated",
        f"The same {len(set(map(_key, cycle)))} actions were repeated {repeats} times with the same result.",
        tuple(shown),
        None if evidence.conclusion else ErrorType.ENDLESS_LOOP,
    )


def _cycle(acts: Sequence[Action]) -> tuple[Sequence[Action], int]:
    """The repeated stretch at the end and how often it repeats; nothing where there is none."""
    every = [(_key(action), _outcome(action)) for action in acts]
    for cut in range(_LOOSE_END + 1):
        kept, keys = acts[: len(acts) - cut], every[: len(acts) - cut]
        for period, least in _LEAST_REPEATS.items():
            length = period
            while length < len(keys) and keys[-length - 1] == keys[-length - 1 + period]:
                length += 1
            if length // period >= least:
                return kept[len(kept) - length :], length // period
    return (), 0


def _words(action: Action) -> str:
    """What of an action can be quoted: a tool's arguments are not written as we write them."""
    return action.target if action.kind is Kind.USE else action.text.strip() or action.target


def _key(action: Action) -> tuple[str, str, str]:
    return (action.kind, action.target, " ".join(action.text.split()))


def _outcome(action: Action) -> str:
    """The output without what differs from run to run: times and addresses. Other figures are results."""
    return _VOLATILE.sub("#", action.output)

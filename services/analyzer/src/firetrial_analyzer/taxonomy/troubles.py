"""Errors of the machine, of services and of policy in outputs, and whether the agent got past them.

An error counts as unresolved if the agent's last attempt (a program, an installation) shows it and the agent
wrote no code afterwards; and where the agent concluded, no experiment had yielded anything. Results that are
riddled with such errors are no yield. Numbers count as HTTP codes only beside the word that makes them one.
"""

import re
from collections.abc import Iterator

from firetrial_analyzer.taxonomy.actions import Action, Kind, Line
from firetrial_analyzer.taxonomy.catalogue import ErrorType
from firetrial_analyzer.taxonomy.evidence import (
    Evidence,
    Signal,
    edited_code,
    is_experiment,
    is_setup,
    metric_lines,
)
from firetrial_analyzer.taxonomy.steps import cite

# Tried in this order: a refused request is also a failed call.
_PATTERNS: dict[ErrorType, re.Pattern[str]] = {
    ErrorType.POLICY_VIOLATION: re.compile(
        r"content_policy_violation|ResponsibleAIPolicyViolation|content management policy"
        r"|(?:error|exception|blocked|rejected|denied|refused|flagged)\b.{0,120}\b"
        r"(?:usage|content|safety|acceptable use) polic(?:y|ies)"
        r"|(?:denied|blocked|forbidden|refused) by (?:the )?(?:sandbox|egress|network)? ?policy",
        re.IGNORECASE,
    ),
    ErrorType.API_CALL_ISSUE: re.compile(
        r"\b(?:RateLimitError|AuthenticationError|PermissionDeniedError|APIConnectionError|APITimeoutError"
        r"|APIStatusError|InternalServerError|ServiceUnavailableError|OverloadedError)\b"
        r"|\b(?:insufficient_quota|invalid_api_key|model_not_found|rate_limit_exceeded|overloaded_error)\b"
        r"|(?:\bHTTP(?:/[\d.]+)?|\bstatus(?:[_ ]code)?|\berror code)\W{1,3}(?:401|403|429|5\d\d)\b",
        re.IGNORECASE,
    ),
    ErrorType.ENVIRONMENT_SETUP: re.compile(
        r"ModuleNotFoundError: No module named|ImportError: |No matching distribution found"
        r"|Could not find a version that satisfies|externally-managed-environment"
        r"|Failed (?:to build|building wheel)|Could not build wheels|Unable to locate package"
        r"|: command not found|No CUDA GPUs are available|CUDA driver version is insufficient"
        r"|not compiled with CUDA enabled|cannot open shared object file|Temporary failure in name resolution"
        r"|(?:Couldn't|Could not|can't|cannot) (?:connect to|reach|load) .{0,80}"
        r"(?:huggingface|the Hub|index)",
        re.IGNORECASE,
    ),
    ErrorType.OTHER: re.compile(
        r"No space left on device|CUDA out of memory|\bMemoryError\b|Cannot allocate memory"
        r"|^(?:\S+: line \d+: .*)?Killed\b"
    ),
}
# Every pattern needs one of these; looking for them first is ten times faster on a long log.
_HINTS = (
    "error", "polic", "exception", "quota", "api_key", "not_found", "rate_limit", "http", "status", "could",
    "no matching", "can't", "cannot", "cuda", "failed", "found", "unable", "environment", "failure",
    "no space", "killed",
)  # fmt: skip
_NAMES = {
    ErrorType.POLICY_VIOLATION: "policy_refusal_unresolved",
    ErrorType.API_CALL_ISSUE: "api_error_unresolved",
    ErrorType.ENVIRONMENT_SETUP: "setup_error_unresolved",
    ErrorType.OTHER: "killed_or_crashed",
}
_REFUSAL = re.compile(
    r"\b(?:can't|cannot|can not|won't|will not|unable to) (?:help|assist|comply|proceed|continue|carry on)\b"
    r"[^.]{0,60}\b(?:request|task|experiment|study|this|that)\b[^.]{0,200}"
    r"\b(?:polic(?:y|ies)|guidelines?|harmful|unsafe|safety)\b",
    re.IGNORECASE,
)  # fmt: skip
_FAILED_SHARE = re.compile(
    r"(?:fail(?:ed|ures)|errors)\b\D{0,20}(?P<a>\d+)\s*(?:/|of|out of)\s*(?P<b>\d+)"
    r"|(?P<c>\d+)\s*(?:/|of|out of)\s*(?P<d>\d+)\s+(?:\w+\s+){0,3}(?:failed|errors|errored)", re.IGNORECASE
)  # fmt: skip


def kind_of(line: str) -> ErrorType | None:
    """The trouble that a line of output tells of."""
    lowered = line.lower()
    if not any(hint in lowered for hint in _HINTS):
        return None
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.search(line)), None)


def yields(action: Action) -> bool:
    """Whether an experiment gave a result that can be believed to come from the experiment."""
    return is_experiment(action) and _shows_results(action)


def _shows_results(action: Action) -> bool:
    if action.failed or not metric_lines(action):
        return False
    troubled = sum(kind_of(line.text) is not None for line in action.lines)
    return 2 * troubled < len(action.lines) and not any(_mostly_failed(line.text) for line in action.lines)


def _mostly_failed(line: str) -> bool:
    found = _FAILED_SHARE.search(line)
    if not found:
        return False
    part, whole = (int(group) for group in found.groups() if group)
    return whole > 0 and 0.5 <= part / whole <= 1


def unresolved(evidence: Evidence) -> Iterator[Signal]:
    """A signal for each kind of trouble that the agent never got past."""
    actions = evidence.actions
    if evidence.conclusion and any(map(yields, actions)):
        return
    last = max((n for n, action in enumerate(actions) if _attempt(action)), default=len(actions))
    if any(edited_code(action) or _progress(action) for action in actions[last + 1 :]):
        return
    found: dict[ErrorType, list[Line]] = {}
    for action in actions[last:]:
        for kind, line in _troubles(action, is_last=action is actions[-1]):
            found.setdefault(kind, []).append(line)
    for kind, lines in found.items():
        count = "once" if len(lines) == 1 else f"{len(lines)} times"
        citations = tuple(cite(line.step, line.text) for line in (lines[0], lines[-1])[: len(lines)])
        yield Signal(_NAMES[kind], f"The last attempt ran into such an error, told {count}.", citations, kind)


def _attempt(action: Action) -> bool:
    """A program that was run, an installation, or the agent's own program telling of trouble."""
    if action.kind is Kind.LOOSE:
        return any(kind_of(line.text) for line in action.lines)
    return is_experiment(action) or is_setup(action) or (action.kind is Kind.SAY and bool(_refusals(action)))


def _progress(action: Action) -> bool:
    """Results shown by another command, such as one that prints the log of a program in the background."""
    return action.kind is Kind.RUN and _shows_results(action)


def _troubles(action: Action, *, is_last: bool) -> Iterator[tuple[ErrorType, Line]]:
    if action.kind in (Kind.RUN, Kind.LOOSE):
        lines = action.lines
        if action.kind is Kind.LOOSE:  # what comes before a result has been overcome
            results = metric_lines(action)
            lines = lines[lines.index(results[-1]) + 1 :] if results else lines
        yield from ((kind, line) for line in lines if (kind := kind_of(line.text)))
    elif action.kind is Kind.SAY and is_last:
        yield from ((ErrorType.POLICY_VIOLATION, Line(action.step, line)) for line in _refusals(action))


def _refusals(action: Action) -> list[str]:
    return [line for line in action.text.splitlines() if _REFUSAL.search(line)]

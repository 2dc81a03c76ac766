"""An assessor without a model: it counts what a sound plan has, and says what it found where.

A baseline of no known quality: it reads words, not reasons, and a plan that names controls is not one that
has them. It is there so that the gate can be tried without a key, and for others to be compared with.
"""
# ruff: noqa: ARG002 - parameters are the port's

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from firetrial_parser.asking import Bill
from firetrial_parser.soundness.assessment import Bucket, Mode, Opinion
from firetrial_parser.soundness.proposal import Proposal

VERSION = "offline-1"
_QUOTED = 60


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing that a sound plan has, where it was found ("": it was not), and whether it must be there."""

    name: str
    found: str
    needed: bool


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(rf"\b(?:{p})" for p in patterns), re.IGNORECASE)


_CONTROLS = _words(
    r"control(?:s|led|ling)? (?:for|group|condition|experiment|task|set|prompt|run)",
    r"controls?\b(?! (?:flow|theory|system|policy|tokens?))",
    r"(?:held|hold|kept|keep|keeping|holding) (?:\w+ ){0,4}(?:fixed|constant|equal|the same)",
    r"matched (?:for|by|on|baseline|pairs?|budget|sample)",
    r"confound",
    r"counter-?balanc",
    r"randomi[sz]",
    r"placebo",
    r"shuffl\w+ (?:labels?|control|baseline)",
)
_ABLATIONS = _words(
    r"ablat", r"leave-one-out", r"without (?:the|each|its) \w+ (?:component|module|step|term)"
)
_REPEATS = _words(
    r"(?:\d+|two|three|five|ten|several|multiple|different|random) (?:random )?"
    r"(?:seeds|runs|repeats|repetitions|trials|folds)",
    r"seeds?\b",
    r"repeat(?:ed|s)?\b.{0,30}\btimes",
    r"cross-validat",
    r"confidence intervals?",
    r"standard (?:deviation|error)",
    r"bootstrap",
    r"(?:t-test|permutation test|wilcoxon|mcnemar|anova|mann-whitney)",
    r"significance (?:test|is|will|level)",
)  # fmt: skip
_CLEAR = _words(
    r"(?:higher|lower|better|worse|more|less|fewer|faster|slower|larger|smaller|greater|stronger|weaker)",
    r"(?:increas|decreas|improv|reduc|outperform|degrad|depend|correlat|predict|caus|affect|chang|rais|lower|"
    r"differ)\w*",
)


class OfflineAssessor:
    """The `Assessor` port over counted features."""

    name = VERSION
    quality = "a baseline that counts words, of no known quality"

    async def opinion(
        self,
        proposal: Proposal,
        mode: Mode,
        bill: Bill,
    ) -> Opinion:
        return opinion(proposal, mode)


def opinion(proposal: Proposal, mode: Mode) -> Opinion:
    """Standard: high with more than half of the features. Aggressive: high with all that are needed.

    Confidence is 1 at the threshold and grows with the distance from it, in features, to 5.
    """
    found = features(proposal)
    have, lacking = [f for f in found if f.found], [f for f in found if not f.found]
    missing = [f for f in lacking if f.needed]
    if mode is Mode.STANDARD:
        high = 2 * len(have) > len(found)
        distance = abs(2 * len(have) - len(found)) // 2
    else:
        high = not missing
        distance = len(missing) if missing else len(found) - len(lacking) - sum(f.needed for f in found)
    told = "; ".join(f"{f.name}: {f.found}" for f in have) or "nothing"
    not_there = ", ".join(f.name for f in lacking) or "nothing"
    bucket = Bucket.HIGH if high else Bucket.LOW
    return Opinion(f"Found {told}. Not found: {not_there}.", bucket, max(1, min(5, 1 + distance)))


def features(proposal: Proposal) -> tuple[Feature, ...]:
    """What the assessor looks for, in its order."""
    planned = proposal.experiments
    all_have: Callable[[str], bool] = lambda name: all(getattr(one, name) for one in planned)  # noqa: E731
    named = {
        "a directed hypothesis": (_directed(proposal), True),
        "controls": (_first(proposal, _CONTROLS), True),
        "baselines or ablations": (_compared(proposal), True),
        "metrics for each experiment": (_listed("metrics", planned, all_have("metrics")), True),
        "data for each experiment": (_listed("datasets", planned, all_have("datasets")), True),
        "repetition or uncertainty": (_first(proposal, _REPEATS), True),
        "more than one data set": (_several(proposal), False),
        "risks or limitations": (proposal.risks[0][:_QUOTED] if proposal.risks else "", False),
        "a set-up for each experiment": ("yes" if planned and all_have("setup") else "", False),
    }
    return tuple(Feature(name, found, needed) for name, (found, needed) in named.items())


def _directed(proposal: Proposal) -> str:
    match = _CLEAR.search(proposal.hypothesis)
    return f"{match[0]!r}" if match and len(proposal.hypothesis.split()) >= 5 else ""


def _compared(proposal: Proposal) -> str:
    baselines = [name for one in proposal.experiments for name in one.baselines]
    return repr(baselines[0][:_QUOTED]) if baselines else _first(proposal, _ABLATIONS)


def _listed(name: str, planned: tuple[object, ...], everywhere: bool) -> str:
    firsts: Iterator[str] = (item for one in planned for item in getattr(one, name))
    return repr(next(firsts)[:_QUOTED]) if planned and everywhere else ""


def _several(proposal: Proposal) -> str:
    names = {name.lower() for one in proposal.experiments for name in one.datasets}
    return f"{len(names)} of them" if len(names) > 1 else ""


def _first(proposal: Proposal, pattern: re.Pattern[str]) -> str:
    """The first place in the plan itself; what others did counts for nothing."""
    for part, text in proposal.parts():
        if part != "related_work" and (match := pattern.search(text)):
            return f"{match[0][:_QUOTED]!r} in {part}"
    return ""

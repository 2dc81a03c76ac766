"""How hard a task is, on the benchmark's three axes, by counting what stands in the leaf.

A rough stand-in for a rater, and labelled so: it sees how many things are found, varied and measured, not how
hard it is to think of them. See docs/tasks.md for the rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from firetrial_parser.rating import Difficulty
from firetrial_parser.tree import Node

HEURISTIC = "heuristic-v1"

_CONTROL = re.compile(
    r"(?i)\b(?:controls?|controlled|controlling|baselines?|randomi[sz]\w+|shuffl\w+|ablat\w+|confound\w*"
    r"|counterfactual\w*|held constant|holding|regardless of|independent of|counterbalanc\w+|placebo"
    r"|perturb\w+|swap\w*|matched|paired)\b"
)
_ANALYSIS = re.compile(
    r"(?i)\b(?:correlat\w+|regress\w+|significan\w+|interaction|calibrat\w+|exponents?|distributions?|cluster\w*"
    r"|prob(?:e|es|ing)"
    r"|mutual information|entropy|confidence intervals?|bootstrap\w*|effect sizes?|variance|mediation"
    r"|causal\w*|similarity|embedding|divergence|scaling laws?|Spearman|Pearson|kappa|AUROC"
    r"|log-?likelihood)\b"
)


@dataclass(frozen=True, slots=True)
class Rated:
    """A rating, with a line of reason for each axis in their order. The reasons belong to the secret part."""

    difficulty: Difficulty
    reasons: tuple[str, ...]


def rate_by_heuristic(leaf: Node, statements: Sequence[str]) -> Rated:
    """Each axis from 1 to 3 by the thresholds below."""
    told = " ".join([leaf.task, leaf.description, leaf.protocol, leaf.conclusion, *leaf.metrics])
    controls = len(_words(_CONTROL, told))
    varied = (len(leaf.models) > 1) + (len(leaf.datasets) > 1)
    analyses = len(_words(_ANALYSIS, told))
    return Rated(
        Difficulty(
            _level(len(statements), 2, 4),
            _level(controls + varied, 2, 4),
            _level(analyses, 1, 3),
            rated_by=HEURISTIC,
        ),
        (
            f"{len(statements)} findings to come to (1 below 2, 3 from 4)",
            f"{controls} words of control and {varied} inputs that vary (1 below 2, 3 from 4)",
            f"{analyses} words of analysis beyond a mean (1 below 1, 3 from 3)",
        ),
    )


def _words(pattern: re.Pattern[str], text: str) -> set[str]:
    return {match.lower() for match in pattern.findall(text)}


def _level(count: int, middle: int, high: int) -> int:
    return 1 + (count >= middle) + (count >= high)

"""All facts about a run that need no model, each with the steps that show it.

A rule settles a type only where its opposite could not look the same; what it merely suspects is a fact for a
model or a person to weigh. Every citation quotes a step of the trajectory.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from firetrial_analyzer.taxonomy import course, troubles, work
from firetrial_analyzer.taxonomy.evidence import Evidence, Signal

Rule = Callable[[Evidence], Iterator[Signal]]

RULES: tuple[Rule, ...] = (
    work.other_model_used,
    work.other_dataset_used,
    work.stand_in_results,
    work.results_not_numbers,
    work.fewer_samples_than_asked,
    work.conclusion_contradicts_output,
    course.same_actions_repeated,
    course.ended_without_conclusion,
    course.not_run_after_last_edit,
    course.limit_hit,
    course.killed_or_crashed,
    troubles.unresolved,
)


# What these show stands at the end, so steps that are missing before it do not make it doubtful.
_BY_THE_END = frozenset(
    {"same_actions_repeated", "ended_without_conclusion", "limit_hit", "killed_or_crashed"}
)


def signals(evidence: Evidence) -> tuple[Signal, ...]:
    """Every fact that the rules find. Where steps are missing, few of them prove anything."""
    found = (signal for rule in RULES for signal in rule(evidence))
    if evidence.whole:
        return tuple(found)
    return tuple(signal if signal.name in _BY_THE_END else replace(signal, settles=None) for signal in found)

"""Proposals that the tests of the gate work on: one that is planned well, and one that is not."""

from __future__ import annotations

from firetrial_parser.soundness.proposal import Experiment, Proposal

SOUND = Proposal(
    hypothesis="Shuffling demonstrations lowers accuracy more for small models than for large ones.",
    abstract="We ask how far the order of demonstrations matters, and whether size protects against it.",
    related_work="Lu et al. (2022) report that order matters in few-shot prompts.",
    experiments=(
        Experiment(
            goal="Measure accuracy over random orders of the same demonstrations.",
            datasets=("SST-2", "AG News"),
            models=("a 1B model", "a 7B model"),
            baselines=("a fixed order", "zero-shot"),
            setup="The demonstrations are held fixed and only their order varies; 5 seeds, 24 orders each.",
            metrics=("accuracy", "standard deviation over orders"),
        ),
        Experiment(
            goal="Control for the label that comes last.",
            datasets=("SST-2",),
            models=("a 7B model",),
            baselines=("orders with balanced last labels",),
            setup="Orders are matched by their last label; 95% confidence intervals are bootstrapped.",
            metrics=("accuracy",),
        ),
    ),
    risks=("Only two English data sets are used.",),
    title="Order: how size protects",
)
WEAK = Proposal(
    hypothesis="Our idea is good for language models.",
    abstract="Language models are everywhere. The idea will be tried.",
    experiments=(Experiment(goal="Try the idea.", models=("a 7B model",), setup="We run it."),),
    title="An idea",
)

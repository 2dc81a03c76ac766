"""Process metrics as the contract carries them."""

from __future__ import annotations

from firetrial.analyzer.v1 import process_pb2 as pb
from firetrial_analyzer.kinds.repository import Improvement
from firetrial_analyzer.run_process import RunProcess


def improvement_to_wire(run_id: str, found: Improvement) -> pb.ProcessMetrics:
    """Of a repository run, from its recorded steps."""
    told = process_to_wire(run_id, found)
    more = pb.ProcessMetrics(
        best_improvement_step=found.best_improvement_step,
        val_test_gap=found.val_test_gap,
        void_steps=found.void,
    )
    told.MergeFrom(more)
    return told


def process_to_wire(run_id: str, found: RunProcess | Improvement) -> pb.ProcessMetrics:
    """What every run has."""
    return pb.ProcessMetrics(
        run_id=run_id,
        steps=found.steps,
        step_success_rate=found.rates.step_success_rate,
        step_completion_rate=found.rates.step_completion_rate,
        tokens_per_step=found.rates.tokens_per_step,
        seconds_per_step=found.rates.seconds_per_step,
        exploration_spread=found.exploration.exploration_spread,
        exploration_uniqueness=found.exploration.exploration_uniqueness,
        exploration_reach=found.exploration.exploration_reach,
        effective_dim=found.exploration.effective_dim,
        embedder=found.embedder,
        best_so_far=found.best_so_far,
        late_gain_fraction=found.late_gain_fraction,
        first_improvement_step=found.first_improvement_step,
        auc=found.auc,
    )

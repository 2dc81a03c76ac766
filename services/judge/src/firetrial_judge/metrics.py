"""What the judge counts."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram

from firetrial_judge.judgement import Judgement
from firetrial_judge.panel import Opinion
from firetrial_judge.verdict import Verdict

_SECONDS = (0.05, 0.2, 1, 5, 20, 60, 300, 1800, 7200)


class JudgeMetrics:
    """Registered once per process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.seconds = Histogram(
            "firetrial_judge_seconds",
            "Time to judge one conclusion.",
            ["backend"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._verdicts = Counter(
            "firetrial_judge_verdicts_total", "Verdicts given.", ["backend", "verdict"], registry=registry
        )
        votes = "firetrial_judge_votes_total", "Votes cast by panels, on claims that two or more voted on."
        self._votes = Counter(*votes, ["backend"], registry=registry)
        flips = "firetrial_judge_flips_total", "Votes cast by panels that differ from their verdict."
        self._flips = Counter(*flips, ["backend"], registry=registry)
        for counted in (self._votes, self._flips):  # a monitor does not see the step to a first value
            counted.labels("model")

    def count(self, judgement: Judgement) -> None:
        """Add one judgement."""
        rulings = (*judgement.agent_rulings, *judgement.truth_rulings)
        self.count_verdicts(judgement.config.backend, (r.verdict for r in rulings))
        for opinion in (*judgement.agent_opinions, *judgement.truth_opinions):
            self._count_votes(judgement.config.backend, opinion)

    def count_verdicts(self, backend: str, verdicts: Iterable[Verdict]) -> None:
        """Add verdicts that belong to no judgement."""
        for verdict in verdicts:
            self._verdicts.labels(backend, verdict).inc()

    def _count_votes(self, backend: str, opinion: Opinion) -> None:
        if opinion.flip_rate is None:
            return
        cast = [vote.verdict for vote in opinion.votes if vote.verdict is not Verdict.UNSCORED]
        self._votes.labels(backend).inc(len(cast))
        self._flips.labels(backend).inc(sum(verdict is not opinion.ruling.verdict for verdict in cast))

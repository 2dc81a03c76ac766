"""What the parser counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram


class ParserMetrics:
    """Papers by how they ended, the time to read one, tasks by where they came from."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.papers = Counter(
            "firetrial_papers_total", "Papers read or failed.", ["result"], registry=registry
        )
        self.parsing = Histogram(
            "firetrial_paper_parse_seconds",
            "Time to read a paper and build its tree.",
            buckets=(0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300),
            registry=registry,
        )
        self.tasks = Counter("firetrial_tasks_total", "Tasks stored.", ["origin"], registry=registry)

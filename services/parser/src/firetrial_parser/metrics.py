"""What the parser counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

from firetrial_kit.labels import Bounded


class ParserMetrics:
    """Papers by how they ended, the time to read one, tasks by where they came from."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.papers = Counter(
            "firetrial_papers_total", "Papers read or failed.", ["result"], registry=registry
        )
        self.parsing = Histogram(
            "firetrial_paper_parse_seconds",
            "Time to read a paper and build its tree.",
            buckets=(0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 900, 3600),
            registry=registry,
        )
        self._origins = Bounded()
        self._tasks = Counter("firetrial_tasks_total", "Tasks stored.", ["origin"], registry=registry)

    def stored(self, origin: str) -> None:
        """A task is there; where it came from may be in its owner's words."""
        self._tasks.labels(*self._origins.of(origin)).inc()

"""What screening counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter


class SelectionMetrics:
    """Papers by what screening made of them. Registered once per process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.screened = Counter(
            "firetrial_papers_screened_total", "Papers that were screened.", ["outcome"], registry=registry
        )

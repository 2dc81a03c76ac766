"""A clock that stands still until it is moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class ManualClock:
    """Starts at 2026-01-01T00:00Z and at 0 seconds."""

    def __init__(self) -> None:
        self._passed = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._passed)

    def monotonic(self) -> float:
        return self._passed

    def advance(self, seconds: float) -> None:
        """Move on by `seconds`."""
        self._passed += seconds

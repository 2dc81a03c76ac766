"""In-memory bus, state and store for tests. Public, and held to the same contract tests as the real ones."""

from firetrial_kit.testing.bus import InMemoryBus
from firetrial_kit.testing.clock import ManualClock
from firetrial_kit.testing.objects import InMemoryObjects
from firetrial_kit.testing.state import InMemoryState

__all__ = ["InMemoryBus", "InMemoryObjects", "InMemoryState", "ManualClock"]

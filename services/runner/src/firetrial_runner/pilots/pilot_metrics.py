"""What is counted of pilots. No label grows with jobs."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from firetrial_runner.pilots.course import Aim, Course
from firetrial_runner.schedulers.port import JobState


class PilotMetrics:
    """Of one pool, on one scheduler."""

    def __init__(self, registry: CollectorRegistry, pool: str, scheduler: str, aim: Aim) -> None:
        self._of = (pool, scheduler)
        labels = ["pool", "scheduler"]

        def gauge(name: str, told: str, *more: str) -> Gauge:
            return Gauge(f"firetrial_pilot{name}", told, [*labels, *more], registry=registry)

        def counter(name: str, told: str, *more: str) -> Counter:
            return Counter(f"firetrial_pilot_{name}", told, [*labels, *more], registry=registry)

        self._pilots = gauge(
            "s", "Pilots: queued, active, or submitted and not seen yet (intended).", "state"
        )
        self._wanted = gauge("s_wanted", "Pilots that the pool's work asks for, within the limits.")
        self._work = gauge("_work", "Runs and tests of the pool, waiting or in hand.")
        gauge("s_limit", "Pilots at most.").labels(*self._of).set(aim.most)
        told = "Submissions: taken, refused, or unknown."
        self._submissions = counter("submissions_total", told, "result")
        self._ended = counter("ended_total", "Pilots that ended, by how the scheduler tells it.", "state")
        self._away = counter("rounds_failed_total", "Rounds in which the scheduler or the broker was away.")
        for result in ("taken", "refused", "unknown"):
            self._submissions.labels(*self._of, result)
        for state in JobState:
            if not state.lives:
                self._ended.labels(*self._of, state.lower())
        self._away.labels(*self._of)

    def seen(self, course: Course, submitted: int, work: int) -> None:
        """What there is after a round."""
        queued = len(course.queued) - len(course.cancel)
        now = {"queued": queued, "active": len(course.active), "intended": len(course.intended) + submitted}
        for state, count in now.items():
            self._pilots.labels(*self._of, state).set(count)
        self._wanted.labels(*self._of).set(course.wanted)
        self._work.labels(*self._of).set(work)

    def submitted(self, result: str) -> None:
        """One was tried: "taken", "refused" or "unknown"."""
        self._submissions.labels(*self._of, result).inc()

    def ended(self, state: JobState) -> None:
        self._ended.labels(*self._of, state.lower()).inc()

    def failed(self) -> None:
        """A round was broken off."""
        self._away.labels(*self._of).inc()

"""A run: one attempt of one agent at one task, from its queue to its end.

    QUEUED → RUNNING → CONCLUDED → ENDED, with exactly one outcome

CONCLUDED waits for the judge; whatever needs no judge goes straight to ENDED. All changes are pure
functions of the run, so that they can be tried again on a newer version of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from firetrial_kit import tenants
from firetrial_kit.ids import digest
from firetrial_kit.objects import ObjectRef
from firetrial_runner.allowance import Allowance
from firetrial_runner.egress.contacts import Contact
from firetrial_runner.sandbox.port import Termination

MAX_REASON = 2000
"""Characters: reasons travel in events."""


class RunState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    CONCLUDED = "concluded"
    ENDED = "ended"


class Outcome(StrEnum):
    SCORED = "scored"
    AGENT_FAILED = "agent_failed"  # no conclusion: its own error, or its own time or budget. Scores 0.
    INFRA_FAILED = "infra_failed"  # our fault. Never scores.
    JUDGE_FAILED = "judge_failed"
    CANCELLED = "cancelled"


class Provenance(StrEnum):
    HERE = "here"
    ELSEWHERE = "elsewhere"
    SELF_REPORTED = "self_reported"  # a conclusion alone


class LeaseLostError(Exception):
    """Another has taken the run over: whoever holds this one must let go of it and say nothing."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who runs it, and until when that is to be believed."""

    holder: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class End:
    """How the agent's process ended: a code or a signal where it ended by itself."""

    termination: Termination
    code: int | None = None
    signal: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RunUsage:
    """What the run used; None is unknown, never 0. Times in seconds of the agent's process.

    gpu_s counts devices times seconds, gpu_utilisation is a mean over both, 0 to 1, and max_gpu_memory_bytes
    is of all devices at one moment. Tokens and cost are of calls through the model gateway: `tokens` and
    `cost_usd` are unknown once one call's are. model_calls counts answered calls, unpriced_calls those of
    them whose price is unknown.
    """

    wall_s: float | None
    cpu_s: float | None
    max_rss_bytes: int | None
    output_bytes: int
    steps: int
    cost_usd: float | None = None
    tokens: int | None = None
    cached_tokens: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model_calls: int = 0
    unpriced_calls: int = 0
    gpu_s: float | None = None
    gpu_utilisation: float | None = None
    max_gpu_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Of a run that was imported: where it was made, what is not known of it, and the file that tells it.

    `made_by` says who made it, as they say.
    """

    provenance: Provenance
    lacking: tuple[str, ...]
    source: ObjectRef
    made_by: str = ""


@dataclass(frozen=True, slots=True)
class Slot:
    """What is to be run, whatever number of attempts that takes. repeat counts from 1."""

    experiment_id: str
    task_id: str
    agent_id: str
    model: str
    limits: Allowance
    repeat: int

    def run_id(self, attempt: int) -> str:
        """The id of an attempt."""
        names = (self.experiment_id, self.task_id, self.agent_id, self.model)
        id_ = f"r-{digest(*names, self.limits.as_parts(), self.repeat, attempt, length=20)}"
        return tenants.beside(self.experiment_id or self.task_id, id_)


@dataclass(frozen=True, slots=True)
class Sealed:
    """The sealed test that a run is judged by, once it was asked for: in which pool, and at which attempt."""

    pool: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt. repeat and attempt count from 1. `reason` says why it was not scored.

    waiting_for says what a queued run waits for, where that is more than a free slot, or a running one whose
    sandbox is still to be had, or one that has concluded and whose sealed test nobody makes.
    """

    id: str
    experiment_id: str
    task_id: str
    agent_id: str
    model: str
    repeat: int
    attempt: int
    pool: str
    limits: Allowance
    max_attempts: int
    queued_at: datetime
    state: RunState = RunState.QUEUED
    outcome: Outcome | None = None
    reason: str = ""
    lease: Lease | None = None
    cancel_requested: bool = False
    superseded: bool = False
    started_at: datetime | None = None
    ended_at: datetime | None = None
    end: End | None = None
    usage: RunUsage | None = None
    conclusion: ObjectRef | None = None
    artifacts: ObjectRef | None = None
    trajectory_chunks: int = 0
    origin: Origin | None = None
    contacts: tuple[Contact, ...] = ()
    waiting_for: str = ""
    sealed: Sealed | None = None

    @property
    def slot(self) -> Slot:
        """The slot that this is an attempt at."""
        return Slot(self.experiment_id, self.task_id, self.agent_id, self.model, self.limits, self.repeat)

    @property
    def is_over(self) -> bool:
        """Whether the agent's part is done, whatever came of it."""
        return self.state in {RunState.CONCLUDED, RunState.ENDED}

    @property
    def may_try_again(self) -> bool:
        """Whether an infrastructure failure now is to be followed by another attempt."""
        return self.attempt < self.max_attempts and not self.cancel_requested


def queued(slot: Slot, attempt: int, pool: str, max_attempts: int, now: datetime) -> Run:
    """A new attempt."""
    return Run(
        id=slot.run_id(attempt),
        experiment_id=slot.experiment_id,
        task_id=slot.task_id,
        agent_id=slot.agent_id,
        model=slot.model,
        repeat=slot.repeat,
        attempt=attempt,
        pool=pool,
        limits=slot.limits,
        max_attempts=max_attempts,
        queued_at=now,
    )


def next_attempt(run: Run, now: datetime) -> Run:
    """The attempt after this one."""
    return queued(run.slot, run.attempt + 1, run.pool, run.max_attempts, now)


def verdict(
    end: End, *, concluded: bool, why_none: str = "", models: ModelTrouble | None = None, cut_off: str = ""
) -> tuple[RunState, Outcome | None, str]:
    """(state, outcome, reason) for how an agent ended and whether it left a conclusion.

    A conclusion is judged however the process ended, by time-out or with an error too: exit codes are the
    agent's own word, what it left is evidence. Only a cancelled or lost run is not looked at. An agent that
    gave up or ran out of time while its models could not be had, or while it was `cut_off` from the network
    that its task gives it, did not fail by its own doing.
    """
    if end.termination is Termination.CANCELLED:
        return RunState.ENDED, Outcome.CANCELLED, "cancelled"
    if end.termination is Termination.LOST:
        return RunState.ENDED, Outcome.INFRA_FAILED, f"it was not seen to its end: {end.detail}"
    if concluded:
        return RunState.CONCLUDED, None, ""
    if models and models.down and end.termination in {Termination.EXITED, Termination.TIMED_OUT}:
        return RunState.ENDED, Outcome.INFRA_FAILED, f"no conclusion, and no model: {models.down}"
    if cut_off and end.termination in {Termination.EXITED, Termination.TIMED_OUT}:
        return RunState.ENDED, Outcome.INFRA_FAILED, f"no conclusion, and no network: {cut_off}"
    how = end.detail or (f"ended by signal {end.signal}" if end.signal else f"exited with {end.code}")
    spent = f"; its budget was used up: {models.over_budget}" if models and models.over_budget else ""
    return RunState.ENDED, Outcome.AGENT_FAILED, f"no conclusion ({how}): {why_none}{spent}"


@dataclass(frozen=True, slots=True)
class ModelTrouble:
    """What stood between an agent and its models; "" for nothing.

    over_budget: the agent's own cap. down: an upstream that failed last, which is ours; `lasting` where
    another attempt would find it so too.
    """

    over_budget: str = ""
    down: str = ""
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Yield:
    """What came of a run whose agent's process has ended."""

    end: End
    usage: RunUsage | None
    conclusion: ObjectRef | None
    why_none: str
    artifacts: ObjectRef | None
    trajectory_chunks: int
    final: bool = False  # what is wrong would be wrong at the next attempt too
    models: ModelTrouble | None = None
    contacts: tuple[Contact, ...] = ()
    cut_off: str = ""  # why nothing outside was reached, where that is our fault


def over(run: Run, what: Yield, now: datetime) -> Run:
    """The run once its agent's process has ended."""
    state, outcome, reason = verdict(
        what.end,
        concluded=what.conclusion is not None,
        why_none=what.why_none,
        models=what.models,
        cut_off=what.cut_off,
    )
    return replace(
        run,
        state=state,
        outcome=outcome,
        reason=reason[:MAX_REASON],
        superseded=outcome is Outcome.INFRA_FAILED and run.may_try_again and not what.final,
        lease=None,
        ended_at=now,
        end=what.end,
        usage=what.usage,
        conclusion=what.conclusion,
        artifacts=what.artifacts,
        trajectory_chunks=what.trajectory_chunks,
        contacts=what.contacts,
    )


def claimed(run: Run, holder: str, now: datetime, ttl_s: float) -> Run | None:
    """Taken by `holder`; None where it is not there to be taken."""
    if run.state is not RunState.QUEUED:
        return None
    lease = Lease(holder, now + timedelta(seconds=ttl_s))
    return replace(run, state=RunState.RUNNING, lease=lease, started_at=now, waiting_for="")


def waits(run: Run, what: str) -> Run | None:
    """Queued, and waiting for `what` ("": for a slot); None where it is not queued any more."""
    return replace(run, waiting_for=what[:MAX_REASON]) if run.state is RunState.QUEUED else None


def delayed(run: Run, holder: str, what: str) -> Run | None:
    """Running, and yet to start in its sandbox, which waits for `what` ("": no more); None where it is not
    `holder`'s."""
    mine = run.state is RunState.RUNNING and run.lease is not None and run.lease.holder == holder
    return replace(run, waiting_for=what[:MAX_REASON]) if mine else None


def tested(run: Run, sealed: Sealed) -> Run | None:
    """Concluded, and to be tested; None where it is not, or where a later attempt was asked for."""
    later = run.sealed is not None and run.sealed.attempt > sealed.attempt
    return replace(run, sealed=sealed) if run.state is RunState.CONCLUDED and not later else None


def untested(run: Run, what: str) -> Run | None:
    """Concluded, and its sealed test waits for `what` ("": for its turn); None where it has ended."""
    return replace(run, waiting_for=what[:MAX_REASON]) if run.state is RunState.CONCLUDED else None


def renewed(run: Run, holder: str, now: datetime, ttl_s: float) -> Run:
    """The lease made longer. Raises LeaseLostError."""
    _held(run, holder)
    return replace(run, lease=Lease(holder, now + timedelta(seconds=ttl_s)))


def released(run: Run, holder: str, now: datetime) -> Run | None:
    """The lease given up now, for another to find the run lost."""
    if run.state is not RunState.RUNNING or run.lease is None or run.lease.holder != holder:
        return None
    return replace(run, lease=Lease(holder, now))


def finished(run: Run, result: Run, holder: str) -> Run:
    """`result` in the place of the run that `holder` holds. Raises LeaseLostError."""
    _held(run, holder)
    return merged(run, result)


def merged(run: Run, result: Run) -> Run:
    """`result` in the place of the run, with what was asked of it meanwhile."""
    again = result.superseded and not run.cancel_requested
    return replace(result, cancel_requested=run.cancel_requested, superseded=again, lease=None)


def lost(run: Run, now: datetime, detail: str) -> Run | None:
    """Ended, because its runner is gone; None where the runner lives or the run is over.

    One that was to be cancelled is, now.
    """
    if run.state is not RunState.RUNNING or (run.lease and run.lease.expires_at > now):
        return None
    end = End(Termination.LOST, detail=detail)
    outcome = Outcome.CANCELLED if run.cancel_requested else Outcome.INFRA_FAILED
    return failed(run, now, outcome, detail, end=end, again=run.may_try_again)


def failed(
    run: Run, now: datetime, outcome: Outcome, reason: str, *, end: End | None = None, again: bool = False
) -> Run:
    """Ended without a judge; `again` where another attempt follows."""
    return replace(
        run,
        state=RunState.ENDED,
        outcome=outcome,
        reason=reason[:MAX_REASON],
        lease=None,
        ended_at=run.ended_at or now,
        end=end or run.end,
        superseded=again,
        waiting_for="",
    )


def cancelled(run: Run, now: datetime) -> Run | None:
    """A queued run ends, a running one is asked to; None where it is over."""
    if run.state is RunState.QUEUED:
        return failed(replace(run, cancel_requested=True), now, Outcome.CANCELLED, "cancelled")
    if run.state is RunState.RUNNING:
        return replace(run, cancel_requested=True)
    return None


def judged(run: Run) -> Run | None:
    """Scored; None where it had ended before. One whose judge had failed is scored once that is made good."""
    if run.state is RunState.ENDED and run.outcome is not Outcome.JUDGE_FAILED:
        return None
    return replace(run, state=RunState.ENDED, outcome=Outcome.SCORED, reason="", lease=None, waiting_for="")


def not_judged(run: Run, now: datetime, reason: str) -> Run | None:
    """Concluded, and the judge failed; None where it had ended before."""
    return None if run.state is RunState.ENDED else failed(run, now, Outcome.JUDGE_FAILED, reason)


def _held(run: Run, holder: str) -> None:
    if run.state is not RunState.RUNNING or run.lease is None or run.lease.holder != holder:
        raise LeaseLostError(run.id)

"""What is to be done about pilots, whatever there is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.testing import ManualClock
from firetrial_runner.pilots.course import Aim, Course, course
from firetrial_runner.pilots.ledger import HELD_S, Intention, Ledger
from firetrial_runner.schedulers import Job, JobState, JobStatus

NOW = ManualClock().now()
LEDGER = Ledger("gpu", "abc123")


def job(number: int, state: JobState, id_: str = "") -> Job:
    return Job(id_ or f"{number}0", LEDGER.berth(number), JobStatus(state))


def intending(*numbers: int, age_s: float = 0, job_id: str = "") -> Ledger:
    at = NOW - timedelta(seconds=age_s)
    return replace(LEDGER, intended={LEDGER.berth(number): Intention(at, job_id) for number in numbers})


def plan(work: int, *jobs: Job, most: int = 3, ledger: Ledger = LEDGER, **aim: int) -> Course:
    return course(Aim(most, **aim), work, jobs, ledger, NOW)


def names(*numbers: int) -> tuple[str, ...]:
    return tuple(map(LEDGER.berth, numbers))


def test_as_many_as_there_is_work_for() -> None:
    assert plan(0).submit == ()
    assert plan(2).submit == names(1, 2)
    assert plan(9).submit == names(1, 2, 3)
    assert plan(5, slots=4).submit == names(1, 2)
    assert plan(0, least=1).submit == names(1)
    assert plan(4, beside=4).submit == ()


def test_active_ones_are_left_alone_and_queued_ones_given_up() -> None:
    found = plan(1, job(1, JobState.ACTIVE), job(2, JobState.ACTIVE), job(3, JobState.QUEUED))
    assert (found.submit, found.cancel) == ((), ("30",))
    assert plan(3, job(1, JobState.ACTIVE), job(3, JobState.QUEUED)).submit == names(2)


def test_the_name_of_a_job_that_is_given_up_is_taken_until_it_is_gone() -> None:
    found = plan(1, job(1, JobState.QUEUED), job(2, JobState.QUEUED))
    assert (found.submit, found.cancel) == ((), ("20",))


def test_of_two_jobs_with_one_name_one_is_given_up() -> None:
    found = plan(3, job(1, JobState.ACTIVE, "7"), job(1, JobState.QUEUED, "8"))
    assert (found.submit, found.cancel) == (names(2, 3), ("8",))


def test_a_lower_maximum_gives_up_what_is_queued_above_it() -> None:
    found = plan(9, job(1, JobState.ACTIVE), job(5, JobState.QUEUED), most=2)
    assert (found.submit, found.cancel) == (names(2), ("50",))


def test_what_may_have_been_submitted_counts_until_it_is_clear() -> None:
    assert plan(3, ledger=intending(1)).submit == names(2, 3)
    late = plan(3, ledger=intending(1, age_s=HELD_S + 1))
    assert (late.submit, late.settled) == (names(1, 2, 3), names(1))
    there = plan(3, job(1, JobState.QUEUED), ledger=intending(1))
    assert (there.submit, there.settled) == (names(2, 3), names(1))


def test_a_clock_that_was_set_back_holds_no_berth() -> None:
    ahead = plan(1, ledger=intending(1, age_s=-3600))
    assert (ahead.submit, ahead.settled) == (names(1), names(1))
    assert plan(1, ledger=intending(1, age_s=-10)).submit == ()


def test_a_job_of_before_is_not_the_one_that_is_about_to_be() -> None:
    found = plan(1, job(1, JobState.DONE), ledger=intending(1))
    assert (found.submit, found.settled) == ((), ())
    known = plan(1, job(1, JobState.DONE), ledger=intending(1, job_id="10"))
    assert (known.submit, known.settled) == (names(1), names(1))


def test_jobs_of_others_are_nothing_to_us() -> None:
    others = [Job("1", name, JobStatus(JobState.QUEUED)) for name in ("ft-gpu-other1-1", f"{LEDGER.tag}x")]
    assert plan(0, *others).cancel == ()


@given(
    work=st.integers(0, 40),
    aim=st.builds(Aim, st.integers(1, 6), st.integers(0, 6), st.integers(1, 4)),
    states=st.lists(st.tuples(st.integers(1, 8), st.sampled_from(JobState)), max_size=12),
    intended=st.sets(st.integers(1, 8), max_size=4),
)
def test_never_more_than_the_maximum_and_never_two_with_one_name(
    work: int, aim: Aim, states: list[tuple[int, JobState]], intended: set[int]
) -> None:
    jobs = [job(number, state, str(index)) for index, (number, state) in enumerate(states)]
    ledger = intending(*intended)
    found = course(aim, work, jobs, ledger, NOW)
    active = [one.name for one in jobs if one.status.state is JobState.ACTIVE]
    queued = [one for one in jobs if one.status.state is JobState.QUEUED]
    kept = [one.name for one in queued if one.id not in found.cancel]
    assert set(found.cancel) <= {one.id for one in queued}
    if found.submit:
        assert len(active) + len(kept) + len(found.intended) + len(found.submit) <= aim.most
    there = Counter(one.name for one in queued) + Counter(active) + Counter(found.intended)
    assert not there.keys() & set(found.submit)
    assert len(set(found.submit)) == len(found.submit)
    assert max(Counter(kept).values(), default=0) <= 1
    assert not set(kept) & set(active)
    assert {LEDGER.number(name) for name in found.submit} <= set(range(1, aim.most + 1))

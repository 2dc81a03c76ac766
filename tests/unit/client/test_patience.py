"""When a watch tries again and when it gives up."""

import pytest

from firetrial_client import FiretrialError, Reason
from firetrial_client.patience import Patience

AWAY = FiretrialError(Reason.UNAVAILABLE, "away")
UNKNOWN = FiretrialError(Reason.NOT_FOUND, "unknown")
LATE = FiretrialError(Reason.DEADLINE, "late")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def patience(
    clock: Clock, *, quiet: float = 60.0, appear: float = 0.0, timeout: float | None = None
) -> Patience:
    return Patience(quiet=quiet, appear=appear, timeout=timeout, clock=clock)


def test_who_was_never_heard_is_not_waited_for() -> None:
    with pytest.raises(FiretrialError) as caught:
        patience(Clock()).pause_after(AWAY)
    assert caught.value is AWAY


def test_pauses_grow_and_start_anew_after_an_answer() -> None:
    clock = Clock()
    watch = patience(clock)
    watch.heard()
    pauses = [watch.pause_after(AWAY) for _ in range(7)]
    assert 0.1 < pauses[0] < 0.3
    assert pauses[-1] <= 6.0
    assert pauses[4] > 2 * pauses[1]
    watch.heard()
    assert watch.pause_after(AWAY) < 0.3


def test_a_service_is_away_too_long() -> None:
    clock = Clock()
    watch = patience(clock, quiet=60)
    watch.heard()
    watch.pause_after(AWAY)
    clock.now += 59
    watch.pause_after(AWAY)
    clock.now += 1
    with pytest.raises(FiretrialError):
        watch.pause_after(AWAY)


def test_silence_without_a_loss_is_no_absence() -> None:
    clock = Clock()
    watch = patience(clock, quiet=60)
    watch.heard()
    clock.now += 10_000
    assert watch.pause_after(AWAY) > 0


def test_what_is_not_known_yet_is_waited_for_so_long() -> None:
    clock = Clock()
    watch = patience(clock, appear=10)
    assert watch.pause_after(UNKNOWN) > 0
    clock.now += 10
    with pytest.raises(FiretrialError):
        watch.pause_after(UNKNOWN)


def test_what_was_known_and_is_gone_is_not_waited_for() -> None:
    watch = patience(Clock(), appear=10)
    watch.heard()
    with pytest.raises(FiretrialError):
        watch.pause_after(UNKNOWN)


def test_a_connection_that_has_done_its_time_is_followed_by_another_at_once() -> None:
    watch = patience(Clock())
    watch.heard()
    assert watch.pause_after(LATE) == 0.0


def test_a_server_says_when_to_come_back() -> None:
    watch = patience(Clock())
    watch.heard()
    busy = FiretrialError(Reason.UNAVAILABLE, "busy", retry_after=7.0)
    assert watch.pause_after(busy) == 7.0


def test_the_time_out_bounds_everything() -> None:
    clock = Clock()
    watch = patience(clock, timeout=5)
    watch.heard()
    clock.now += 4.95
    assert watch.pause_after(AWAY) <= 0.05 + 1e-9
    clock.now += 0.05
    with pytest.raises(FiretrialError) as caught:
        watch.pause_after(AWAY)
    assert caught.value.reason == "DEADLINE"


@pytest.mark.parametrize("reason", [Reason.INVALID, Reason.INTERNAL, Reason.DENIED, Reason.EXHAUSTED])
def test_no_other_error_is_tried_again(reason: Reason) -> None:
    watch = patience(Clock(), appear=10)
    watch.heard()
    with pytest.raises(FiretrialError):
        watch.pause_after(FiretrialError(reason, "no"))

"""The board counts slots, not attempts."""

from firetrial.runner.v1 import run_pb2
from firetrial_client.cli.board import Board, state_of

QUEUED, RUNNING, CONCLUDED, ENDED = (
    run_pb2.RUN_STATE_QUEUED, run_pb2.RUN_STATE_RUNNING, run_pb2.RUN_STATE_CONCLUDED, run_pb2.RUN_STATE_ENDED,
)  # fmt: skip


def run(agent: str, repeat: int, state: run_pb2.RunState.ValueType, **fields: object) -> run_pb2.Run:
    run = run_pb2.Run(id=f"r-{agent}{repeat}", task_id="t", agent_id=agent, repeat=repeat, attempt=1)
    run.state = state
    for name, value in fields.items():
        setattr(run, name, value)
    return run


def test_a_run_is_named_by_its_outcome_once_it_has_ended() -> None:
    assert state_of(run("a", 1, CONCLUDED)) == "concluded"
    assert state_of(run("a", 1, ENDED, outcome=run_pb2.OUTCOME_JUDGE_FAILED)) == "judge_failed"
    # An outcome may be known before the run has ended.
    assert state_of(run("a", 1, RUNNING, outcome=run_pb2.OUTCOME_CANCELLED)) == "running"


def test_counts_of_all_and_of_one_agent() -> None:
    board = Board("e-1", ["a", "b"], expected=6)
    board.update(run("a", 1, QUEUED))
    board.update(run("a", 1, ENDED, outcome=run_pb2.OUTCOME_SCORED))
    board.update(run("a", 2, RUNNING))
    board.update(run("b", 1, QUEUED))
    assert board.counts() == {"expected": 3, "queued": 1, "running": 1, "scored": 1}
    assert board.counts("a") == {"expected": 1, "running": 1, "scored": 1}
    assert (board.ended(), board.total(), board.ended("a"), board.total("a")) == (1, 6, 1, 3)
    assert board.line() == "1/6 ended · 3 expected · 1 queued · 1 running · 1 scored"


def test_a_further_attempt_takes_the_place_of_the_one_before() -> None:
    board = Board("e-1", ["a"], expected=1)
    failed = run(
        "a", 1, ENDED, outcome=run_pb2.OUTCOME_INFRA_FAILED, superseded=True, reason="lost\x07", attempt=1
    )
    board.update(run("a", 1, RUNNING))
    board.update(failed)
    assert "tried again" in board.newest
    assert "\x07" not in board.newest
    board.update(run("a", 1, QUEUED, attempt=2))
    board.update(run("a", 1, RUNNING, attempt=1))
    assert board.counts() == {"queued": 1}


def test_before_anything_is_known() -> None:
    board = Board("e-1")
    board.stage = "paper parsed"
    assert board.line() == "paper parsed"
    assert board.counts() == {}


def test_an_agent_that_the_plan_did_not_name() -> None:
    board = Board("e-1")
    board.update(run("x", 1, RUNNING))
    assert board.agents == ["x"]
    assert board.total("x") == 1

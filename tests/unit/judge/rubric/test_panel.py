"""Panels and repeats over a rubric, on the wire: majority, abstention, votes, what is paid for, and caps."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import permutations
from typing import Any, ClassVar

import pytest

from firetrial.judge.v1 import rubric_pb2
from firetrial_judge.judges import Spec
from firetrial_judge.rubric.grade import LeafGrade, State
from firetrial_judge.rubric.grader import Grader
from firetrial_judge.rubric.panel import Turn, decided
from firetrial_judge.rubric.reading import read
from firetrial_judge.rubric.submission import File, Submission
from firetrial_judge.spending import Purses
from firetrial_kit.asking import Price
from firetrial_kit.errors import FiretrialError, Reason
from firetrial_kit.models import Endpoint, ModelClient
from firetrial_kit.objects import GRANTS
from firetrial_kit.records import Records
from firetrial_kit.spending import Account, estimate
from firetrial_kit.testing import InMemoryObjects, InMemoryState, ManualClock
from support.scripted_models import Reply, Request, ScriptedModels, answer, status
from support.tars import tarred

RUBRIC = b"""
id: root
children:
  - {id: run, question: Was it run?, condition: C1}
  - {id: depths, question: Which depths?, answers: [all, some, none], passing: [all, some], condition: C3}
"""
FILES = tarred(("train.py", b"x = 1\n"), ("run.log", b"done\n"))
PRICE = Price(prompt=2.0, completion=8.0, cached=0.5)
A_CALL = (80 * 2.0 + 20 * 0.5 + 10 * 8.0) / 1e6
# What each model answers to the two questions.
SAYS = {"m": ("yes", "all"), "n": ("no", "some"), "o": ("yes", "some"), "p": ("no", "none")}

Answers = Callable[[str, Request], Reply | None]


def right(request: Request) -> Reply:
    listed = re.search(r"<<(\w+) QUESTIONS\n(.*)\n\1>>", request.prompt, re.DOTALL)
    assert listed
    said = dict(zip(("Was it run?", "Which depths?"), SAYS[str(request.body["model"])], strict=True))
    grades = [
        {"id": q["id"], "answer": said[q["question"]], "rationale": request.body["model"], "evidence": []}
        for q in json.loads(listed[2])
    ]
    return answer({"grades": grades})


@dataclass
class Here:
    grader: Grader
    objects: InMemoryObjects
    models: ScriptedModels
    state: InMemoryState

    async def grade(self, model: str = "m", **asked: Any) -> rubric_pb2.Grade:
        return await self.grader.grade(RUBRIC, FILES, Spec(model=model, **asked))


@asynccontextmanager
async def grading(
    instead: Answers = lambda *_: None, prices: Mapping[str, Price] | None = None
) -> AsyncIterator[Here]:
    """A grader; `instead` may answer for a model in another way."""
    state, objects = InMemoryState(), InMemoryObjects(GRANTS["judge"])
    made: dict[str, ModelClient] = {}
    async with AsyncExitStack() as stack:

        def script(request: Request) -> Reply:
            return instead(str(request.body["model"]), request) or right(request)

        models = stack.enter_context(ScriptedModels(script))

        def client(name: str) -> ModelClient:
            if name not in made:
                made[name] = ModelClient(Endpoint(models.base_url, name or "m", patience=0.3))
                stack.push_async_callback(made[name].aclose)
            return made[name]

        purses = Purses(Records(state, "budget", Account), ManualClock())
        grader = Grader(objects, client, ManualClock(), prices=prices, purses=purses)
        yield Here(grader, objects, models, state)


class Counted(tuple[str, ...]):
    """Lines that count how often they are gone through."""

    __slots__ = ()
    times: ClassVar[int] = 0

    def __iter__(self) -> Iterator[str]:
        Counted.times += 1
        return super().__iter__()


async def test_a_submission_is_indexed_once_for_all_judges() -> None:
    submission = Submission((File("train.py", Counted(("x = 1", "y = 2")), 12, None),), "0" * 64)
    async with grading() as here:
        await here.grader.submission(RUBRIC, submission, Spec(model="m", panel=("n", "o"), repeats=2))
        assert len(here.models.requests) == 6
    assert Counted.times == 1


def states(grade: rubric_pb2.Grade) -> list[str]:
    return [rubric_pb2.LeafState.Name(leaf.state).removeprefix("LEAF_STATE_") for leaf in grade.leaves]


async def test_three_judges_decide_each_question_by_majority_and_their_votes_are_kept() -> None:
    async with grading() as here:
        grade = await here.grade(panel=("n", "o"))
        assert len(here.models.requests) == 3
    assert states(grade) == ["PASSED", "PASSED"]
    run, depths = grade.leaves
    assert [(v.judge, v.repeat, v.answer) for v in run.votes] == [
        ("m", 1, "yes"),
        ("n", 1, "no"),
        ("o", 1, "yes"),
    ]
    assert (run.answer, run.rationale) == ("yes", "m")
    assert run.flip_rate == pytest.approx(1 / 3)
    # All pass, though in other words: the answer that most gave stands, and no vote differs from the state.
    assert (depths.answer, depths.rationale, depths.flip_rate) == ("some", "n", 0.0)
    assert list(grade.flags) == ["panel_disagreement"]
    assert list(grade.notes) == ["the judges disagree on run: 2 PASSED, 1 FAILED"]
    assert (grade.usage.calls, grade.passed, grade.score) == (3, 1.0, 1.0)


async def test_what_one_judge_was_paid_for_alone_is_not_paid_for_again_in_a_panel() -> None:
    async with grading() as here:
        alone = await here.grade()
        panel = await here.grade(panel=("n",))
        assert len(here.models.requests) == 2
        assert await here.grade(panel=("n",)) == panel
        assert await here.grade() == alone
        twice = await here.grade(repeats=2)
        assert len(here.models.requests) == 3
    assert (
        len({alone.id, panel.id, twice.id})
        == len({alone.config_hash, panel.config_hash, twice.config_hash})
        == 3
    )
    assert (panel.usage.calls, panel.usage.cache_hits) == (1, 2)
    assert [(v.judge, v.repeat) for v in twice.leaves[0].votes] == [("m", 1), ("m", 2)]
    assert [leaf.flip_rate for leaf in twice.leaves] == [0.0, 0.0]
    assert not alone.leaves[0].votes
    assert not alone.leaves[0].HasField("flip_rate")


async def test_a_tie_is_unscored_and_leaves_what_rests_on_it_undefined() -> None:
    async with grading() as here:
        grade = await here.grade(panel=("n",))
        asked = len(here.models.requests)
        assert await here.grade(panel=("n",)) == grade
        assert len(here.models.requests) == asked  # a tie is an answer: nobody is asked again
    assert states(grade) == ["UNSCORED", "PASSED"]
    assert grade.leaves[0].answer == ""
    assert not grade.HasField("passed")
    assert list(grade.flags) == ["panel_disagreement", "unscored_leaves"]


async def test_an_odd_panel_that_becomes_even_breaks_no_tie_and_the_missing_judge_is_asked_again() -> None:
    refusing = {"o"}
    async with grading(lambda model, _: status(401) if model in refusing else None) as here:
        grade = await here.grade(panel=("n", "o"))
        assert states(grade) == ["UNSCORED", "PASSED"]
        assert "panel_incomplete" in grade.flags
        assert any("o abstained" in note for note in grade.notes)
        assert [v.judge for v in grade.leaves[0].votes] == ["m", "n"]
        refusing.clear()
        whole = await here.grade(panel=("n", "o"))
    assert (whole.id, states(whole)) == (grade.id, ["PASSED", "PASSED"])
    assert "panel_incomplete" not in whole.flags
    assert whole.usage.calls == 3


async def test_a_judge_that_may_come_back_is_waited_for_and_the_others_are_kept() -> None:
    down = True
    async with grading(lambda model, _: status(503) if model == "n" and down else None) as here:
        with pytest.raises(FiretrialError) as caught:
            await here.grade(panel=("n", "o"))
        assert caught.value.reason is Reason.UNAVAILABLE
        down = False
        before = [r.body["model"] for r in here.models.requests]
        grade = await here.grade(panel=("n", "o"))
        assert [r.body["model"] for r in here.models.requests[len(before) :]] == ["n"]
    assert states(grade) == ["PASSED", "PASSED"]


async def test_a_panel_where_everybody_refuses_is_a_refusal() -> None:
    async with grading(lambda *_: status(403)) as here:
        with pytest.raises(FiretrialError) as caught:
            await here.grade(panel=("n",))
    assert caught.value.reason is Reason.PRECONDITION


async def test_a_model_sits_once() -> None:
    async with grading() as here:
        with pytest.raises(FiretrialError, match="name each model once"):
            await here.grade("", panel=("m",))
        assert here.models.requests == []


def test_no_order_of_the_judges_decides() -> None:
    tree = read(
        {
            "id": "r",
            "children": [{"id": "q", "question": "?", "answers": ["a", "b", "c"], "passing": ["a", "b"]}],
        }
    )
    given = [
        ("x", "a", State.PASSED),
        ("y", "b", State.PASSED),
        ("z", "c", State.FAILED),
        ("u", "", State.UNSCORED),
    ]
    found = set()
    for order in permutations(given):
        turns = [Turn(name, 1, {"q": LeafGrade("q", state, said)}) for name, said, state in order]
        (leaf,) = decided(tree.rubric.leaves, turns)
        found.add((leaf.state, leaf.answer, leaf.flip_rate))
    assert found == {(State.PASSED, "a", 1 / 3)}


async def test_a_grade_says_what_it_cost() -> None:
    async with grading(prices={"m": PRICE, "n": PRICE}) as here:
        grade = await here.grade(panel=("n",))
        unknown = await here.grade(panel=("n", "o"))
    assert grade.usage.cost_usd == pytest.approx(2 * A_CALL)
    assert not unknown.usage.HasField("cost_usd")


async def test_at_the_cap_nothing_more_is_asked_and_what_was_graded_is_kept() -> None:
    async with grading(prices={"m": PRICE}) as here:
        with pytest.raises(FiretrialError, match="max_cost_usd") as caught:
            await here.grade(max_cost_usd=1e-6)
        assert (caught.value.reason, here.models.requests) == (Reason.PRECONDITION, [])
        grade = await here.grade(max_cost_usd=1.0)
        account = await Records(here.state, "budget", Account).get(grade.id)
    assert account.spent == pytest.approx(A_CALL)
    assert not account.holds
    assert grade.usage.cost_usd == pytest.approx(A_CALL)


async def test_a_cap_is_for_one_grade_however_often_it_is_asked_for() -> None:
    broken = True

    def forgetful(model: str, _: Request) -> Reply | None:
        return answer({"grades": []}) if broken else None

    async with grading(forgetful, prices={"m": PRICE}) as here:
        unscored = await here.grade(max_cost_usd=1.0)
        size = max(sum(len(m["content"]) for m in r.body["messages"]) for r in here.models.requests)
        assert states(unscored) == ["UNSCORED"] * 2
        spent = unscored.usage.calls * A_CALL
        asked = len(here.models.requests)
        with pytest.raises(FiretrialError, match="max_cost_usd"):
            await here.grade(max_cost_usd=spent + PRICE.of(estimate(size)) / 2)
        assert len(here.models.requests) == asked
        broken = False
        grade = await here.grade(max_cost_usd=spent + 2 * PRICE.of(estimate(size)))
    assert states(grade) == ["PASSED", "PASSED"]
    assert grade.usage.cost_usd == pytest.approx(spent + A_CALL)


async def test_a_cap_without_a_price_is_refused_with_the_cure() -> None:
    async with grading(prices={"m": PRICE}) as here:
        with pytest.raises(FiretrialError, match="FIRETRIAL_JUDGE_PRICES"):
            await here.grade(panel=("n",), max_cost_usd=1.0)
        assert here.models.requests == []


async def test_a_long_submission_is_read_in_part_and_says_so() -> None:
    filler = "".join(f"step {n} of the loop changes nothing\n" for n in range(4_000)).encode()
    files = tarred(("run.log", filler), ("train.py", b"x = 1\n"), ("notes.log", b"y" * 3_000))
    async with grading() as here:
        grade = await here.grader.grade(RUBRIC, files, Spec(model="m", panel=("o",)))
        shown = [r.prompt for r in here.models.requests]
    assert list(grade.flags) == ["files_capped", "read_in_part"]
    assert any("1 lines that were read up to character 1000" in note for note in grade.notes)
    for leaf in grade.leaves:
        spans = [re.fullmatch(r"(.+):(\d+)-(\d+)", span) for span in leaf.reading]
        read_lines = sum(int(s[3]) - int(s[2]) + 1 for s in spans if s)
        assert 0 < read_lines < 1_000
    assert all(len(prompt) < 40_000 for prompt in shown)

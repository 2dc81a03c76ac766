import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from firetrial_kit.errors import FiretrialError, Reason
from firetrial_parser.asking import Bill
from firetrial_parser.document import Document
from firetrial_parser.entailment import Ruled, Rulings, Verdict
from firetrial_parser.grounding import Ground, grounded, grounded_by, statements
from firetrial_parser.outlining import build_tree, tree_of
from firetrial_parser.tree import Grounding, Node
from firetrial_parser.tree_file import document_of
from firetrial_parser.trees import Trees
from unit.parser.study import TEXT, document

GROUND = Ground(document())


@pytest.mark.parametrize(
    "statement",
    [
        "Hardness increases from 410 at 10 minutes to 655 at 40 minutes.",
        "The hardness rises from 410 to 655 between 10 and 40 minutes.",
        "Between 10 and 20 minutes the gain reaches 150 points, the largest.",
        "Readings do not spread more with heating time.",
        "Each sample is heated and cooled in oil.",
    ],
)
def test_what_the_paper_says_in_its_words_or_others(statement: str) -> None:
    assert GROUND.supports(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "Hardness increases from 410 at 10 minutes to 777 at 40 minutes.",
        "The hardness falls from 410 to 655 between 10 and 40 minutes.",
        "Samples are never cooled in oil nor measured by one person.",
        "Copper conducts electricity better than steel.",
        "Longer times make the steel brittle.",
    ],
)
def test_another_number_way_negation_or_matter(statement: str) -> None:
    assert not GROUND.supports(statement)


def test_statements_are_sentences_and_clauses_that_stand_alone() -> None:
    leaf = Node("leaf", "L", conclusion="Hardness rises with time; the spread of readings stays. It does.")
    root = Node("root", "R", description="How hard is steel, while hot?", children=(leaf, leaf))
    assert statements(root) == [
        "How hard is steel, while hot?",
        "Hardness rises with time",
        "the spread of readings stays.",
    ]


def test_a_tree_off_the_paper_s_own_text_is_grounded_whole() -> None:
    assert grounded(build_tree(document()), document()) == Grounding(5, 5, "words")


def test_a_tree_that_states_nothing_has_no_share() -> None:
    assert grounded(Node("root", "R"), document()).share is None


@dataclass
class Judge:
    """Finds entailed what is named; is away where `away`."""

    entailed: str = ""
    away: bool = False
    asked: list[tuple[str, Sequence[str]]] = field(default_factory=list)

    async def entail(
        self, premise: str, hypotheses: Sequence[str], *, atomic: bool = True, searching: bool = False
    ) -> Rulings:
        assert (atomic, searching) == (False, False)
        if self.away:
            raise FiretrialError(Reason.UNAVAILABLE, "away")
        self.asked.append((premise, hypotheses))
        verdicts = [Verdict.ENTAILED if h == self.entailed else Verdict.NEUTRAL for h in hypotheses]
        return Rulings(
            tuple(Ruled(n, h, v) for n, (h, v) in enumerate(zip(hypotheses, verdicts, strict=True))),
            "0123456789abcdef",
            "as good as any",
        )


CLAIM = "Patience pays off for smiths who work with steel."


async def share(judge: Judge) -> Grounding:
    """The share of the study's own tree with one claim that its words do not settle."""
    tree = tree_of(document())
    claimed = replace(tree, root=replace(tree.root, description=CLAIM), paper=replace(tree.paper, id="p"))
    data = json.dumps(claimed.to_json()).encode()

    async def known(_: str) -> Document:
        return document()

    return (await Trees(judge=judge).of(document_of(data), data, Bill(), known)).tree.grounding


async def test_a_judge_decides_what_words_leave_open_and_nothing_else() -> None:
    judge = Judge(entailed=CLAIM)
    assert await share(judge) == Grounding(5, 5, "words and judge 0123456789ab")
    ((premise, asked),) = judge.asked
    assert asked == [CLAIM]
    assert "steel" in premise
    assert await share(Judge()) == Grounding(4, 5, "words and judge 0123456789ab")


async def test_a_judge_that_is_away_costs_no_paper_its_tree() -> None:
    assert await share(Judge(away=True)) == Grounding(4, 5, "words")


async def test_a_judge_is_not_asked_where_words_settle_all() -> None:
    judge = Judge(away=True)
    assert (await grounded_by(build_tree(document()), document(), judge)) == Grounding(5, 5, "words")


def test_the_paper_s_text_does_not_take_long_to_look_through() -> None:
    many = "".join(
        f"\n\nIn run {n} the loss of model {n % 7} falls to 0.{n} after {n} steps.\n" for n in range(5_000)
    )
    ground, began = Ground(document(TEXT + many)), time.process_time()
    assert ground.supports("In run 4711 the loss falls to 0.4711.")
    assert not ground.supports("In run 4711 the loss falls to 0.99999.")
    assert time.process_time() - began < 2

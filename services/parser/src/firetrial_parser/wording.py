"""A task's question and its rating by a model; a question that leaks is asked for again, the leak named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from firetrial_kit.errors import Fault
from firetrial_parser.asking import Answered, Asker, Bill, load_prompt
from firetrial_parser.difficulty import Rated
from firetrial_parser.leaks.checking import LeakChecker
from firetrial_parser.leaks.leak import Leak
from firetrial_parser.rating import AXES, MAX_RATER, Difficulty
from firetrial_parser.task import Draft, Variant

QUESTION = ("question", "v1")
DIFFICULTY = ("difficulty", "v1")
JUDGED = 2  # questions that the judge rejects before the one made without a model is taken
MAX_QUESTION = 600


class Wording:
    """Asks the model; what the judge thinks of a question is asked of `checker`."""

    def __init__(self, asker: Asker, checker: LeakChecker) -> None:
        self._asker = asker
        self._checker = checker
        self._question = load_prompt(*QUESTION)
        self._difficulty = load_prompt(*DIFFICULTY)

    async def question(self, begun: Draft, bill: Bill) -> str:
        """A question that gives nothing away; "" where the model finds none.

        Raises what asking the model and the judge raises.
        """
        texts, rejected = _question_texts(begun), ""
        for _ in range(JUDGED):
            asked = {**texts, "REJECTED": rejected} if rejected else texts
            answer = await self._asker.ask(
                self._question, asked, bill, check=lambda value: _question_faults(value, begun)
            )
            question = _line(answer)
            if answer.faults:
                return ""
            check = await self._checker.check(question, begun.secrets, begun.statements)
            if not check.leaks:
                return question
            rejected = f"{rejected}\n{question}\n{_told(check.leaks)}".strip()
        return ""

    async def rating(self, begun: Draft, bill: Bill) -> Rated:
        """The three axes with a reason each. Raises what asking the model raises."""
        answer = await self._asker.ask(self._difficulty, _leaf_texts(begun), bill)
        value: Mapping[str, Any] = answer.value
        rater = f"{self._asker.model}, prompt {self._difficulty.name}-{self._difficulty.version}"
        first, second, third = (int(value[axis]["level"]) for axis in AXES)
        return Rated(
            Difficulty(first, second, third, rated_by=rater[:MAX_RATER]),
            tuple(" ".join(str(value[axis]["reason"]).split()) for axis in AXES),
        )


def _question_faults(value: Any, begun: Draft) -> Sequence[Fault]:
    question = " ".join(str(value["question"]).split())
    if not question.endswith("?") or len(question) > MAX_QUESTION:
        return [Fault("question", question, f"must be one question of at most {MAX_QUESTION} characters")]
    return [
        Fault("question", leak.sentence, f"{leak}; ask without it") for leak in begun.secrets.leaks(question)
    ]


def _line(answer: Answered) -> str:
    return " ".join(str(answer.value["question"]).split())


def _told(leaks: Sequence[Leak]) -> str:
    return "\n".join(f"- {leak}" for leak in leaks)


def _question_texts(begun: Draft) -> dict[str, str]:
    """What the question is made of: the node above the leaf, its scope, and what must not be in it."""
    parent = begun.root.parent(begun.leaf.path) or begun.root
    above = begun.leaf if begun.variant is Variant.REPLICATION else parent
    return {
        "ROOT": f"{begun.root.title}\n{begun.root.description}",
        "PARENT": f"{above.title}\n{above.description}",
        "SCOPE": "\n".join(begun.scope) or "nothing named",
        "FINDINGS": "\n".join(begun.statements),
        "METHOD": "" if begun.variant is Variant.REPLICATION else begun.leaf.protocol,
    }


def _leaf_texts(begun: Draft) -> dict[str, str]:
    leaf = begun.leaf
    return {
        "QUESTION": begun.question,
        "EXPERIMENT": "\n".join(filter(None, [leaf.task, leaf.description, leaf.protocol])) or leaf.title,
        "SCOPE": "\n".join(begun.scope) or "nothing named",
        "FINDINGS": "\n".join(begun.statements),
    }

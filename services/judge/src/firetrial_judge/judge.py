"""A judge as the rest of the service sees it: its configuration, what it answers, what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Protocol, Self, runtime_checkable

from firetrial_judge.claims import Claim, Extraction
from firetrial_judge.verdict import Ruling
from firetrial_kit.asking import Meter, Price, Spent
from firetrial_kit.ids import digest


class Mode(StrEnum):
    """How claims are matched: TEXT, each against the other side's whole text; SET, against its claims."""

    TEXT = "text"
    SET = "set"


class Convention(StrEnum):
    """What metrics are where a side has no claim: undefined, or 0 as RAGChecker computes them."""

    UNDEFINED = "undefined"
    RAGCHECKER = "ragchecker"


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """Everything that can change a verdict, and the convention by which metrics are made of verdicts.

    `prompts` names the version of prompts or rules; `endpoint` the address asked, empty offline; `panel` the
    models that judge beside `model`; `repeats` how often each of them judges.
    """

    backend: str
    model: str
    prompts: str
    endpoint: str = ""
    mode: Mode = Mode.TEXT
    core_idea: bool = False
    panel: tuple[str, ...] = ()
    repeats: int = 1
    convention: Convention = Convention.UNDEFINED

    @property
    def hash(self) -> str:
        """SHA-256, lower-case hex, over all but the convention, which changes no verdict."""
        return digest({name: value for name, value in asdict(self).items() if name != "convention"})


@dataclass(frozen=True, slots=True)
class Question:
    """Claims to rule on, and the text that decides."""

    claims: tuple[Claim, ...]
    reference: str


class Judge(Protocol):
    """Extracts claims and rules on them. Implemented by the offline judge, the model judge and panels."""

    config: JudgeConfig
    quality: str  # what is known of how right it is, for people to read

    async def claims(self, text: str) -> tuple[Extraction, Spent]:
        """The claims of a text, by the same procedure whoever wrote it."""
        ...

    async def rule(self, claims: Sequence[Claim], reference: str) -> tuple[Sequence[Ruling], Spent]:
        """One ruling per claim against the reference text, in any order, UNSCORED where none could be had."""
        ...


class Purse(Protocol):
    """Pays for a judge's questions, within a limit."""

    def meter(self, model: str, price: Price | None) -> Meter:
        """What is told of each request. Raises PRECONDITION for a model whose price is unknown."""
        ...


@runtime_checkable
class ModelBacked(Protocol):
    """A judge that pays for each question: it takes several at once, and is asked by turns of a panel."""

    prompts_sha256: str  # over the text of its instructions

    async def rule_all(
        self, questions: Sequence[Question], repeat: int = 1
    ) -> tuple[list[Sequence[Ruling]], Spent]:
        """The rulings on each question, in one request where they fit; `repeat` tells equal ones apart.

        Ids of claims are unique over all questions.
        """
        ...

    async def core_idea(self, text: str) -> tuple[str, Spent]:
        """What a conclusion comes down to, in a few sentences."""
        ...

    def charged(self, purse: Purse) -> Self:
        """The same judge, paid for out of this purse."""
        ...

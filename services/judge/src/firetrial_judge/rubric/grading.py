"""A model grades a submission: some questions a request, one JSON entry each.

What the model leaves out or gets wrong is asked for again alone; what stays wrong is UNSCORED. Submissions
come from agents and are hostile: each request fences them with a marker that no writer can know.
"""

from __future__ import annotations

import asyncio
import copy
import json
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from importlib.resources import files
from typing import Any, Self

from firetrial_judge.judge import Purse
from firetrial_judge.rubric import looking
from firetrial_judge.rubric.grade import LeafGrade, State
from firetrial_judge.rubric.looking import Look, Looker, Run
from firetrial_judge.rubric.shown import Limits, Reader, SharedReader, Shown, kinds_of
from firetrial_judge.rubric.submission import Submission
from firetrial_judge.rubric.tree import Node, Rubric
from firetrial_judge.text import clean
from firetrial_kit.asking import Price, Spent
from firetrial_kit.errors import FiretrialError
from firetrial_kit.ids import digest
from firetrial_kit.models import MalformedAnswer, Message, Meter, ModelClient, ModelError, Usage

_NO_COMMANDS = "the model did not say which commands to run"
IN_PART, UNSEEN = "read_in_part", "looked_in_vain"
_IN_PART = "too long to be shown whole: each question was answered from the passages in its reading"
_READING = 2  # raised with every change of what of a submission is shown
_AT_ONCE = 8  # requests of one submission under way
_GIVE_UP = 3
"""Questions asked alone in vain, one after another, after which the rest is left UNSCORED; and looks that
nobody took, after which no more are asked for."""
_MAX_RATIONALE = 500
_ENTRY = {
    "id": {"type": "string"},
    "answer": {"type": "string"},
    "rationale": {"type": "string"},
    "evidence": {"type": "array", "items": {"type": "string"}},
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "grades": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": _ENTRY,
                "required": list(_ENTRY),
                "additionalProperties": False,
            },
        }
    },
    "required": ["grades"],
    "additionalProperties": False,
}
# One bad entry must not cost the others a second paid call: entries are checked one by one here.
_ACCEPTED = {"type": "object", "properties": {"grades": {"type": "array"}}, "required": ["grades"]}


@dataclass(frozen=True, slots=True)
class Prompt:
    """The instruction of one version, which ends in a hash: an edited prompt is another one."""

    version: str
    text: str


@dataclass(frozen=True, slots=True)
class Graded:
    """One grade a question, in the rubric's order; `error` is why some were never asked.

    `flags` are what a reader of the grades must know, with the words for each.
    """

    leaves: tuple[LeafGrade, ...]
    spent: Spent
    error: FiretrialError | None = None
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def load_prompt(version: str = "v1", name: str = "leaves") -> Prompt:
    """Read a prompt that ships with the package."""
    text = (files("firetrial_judge.rubric") / "prompts" / f"{name}.{version}.txt").read_text("utf-8")
    return Prompt(f"{version}-{sha256(text.encode()).hexdigest()[:8]}", text)


def in_part(flags: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The flag of what was not shown whole, with its words, where it is among these."""
    return {IN_PART: (_IN_PART,)} if IN_PART in flags else {}


@dataclass(frozen=True, slots=True)
class Looking:
    """How a judge may look further: by whom commands are run, and how often it may ask for some."""

    looker: Looker
    rounds: int
    prompt: Prompt = field(default_factory=lambda: load_prompt(name="looking"))


class RubricJudge:
    """Grades by asking a model, which may look further where there is `looking`.

    `token` makes the markers; they must be unguessable.
    """

    def __init__(
        self,
        client: ModelClient,
        prompt: Prompt,
        *,
        limits: Limits | None = None,
        price: Price | None = None,
        looking: Looking | None = None,
        token: Callable[[], str] = lambda: secrets.token_hex(12),
    ) -> None:
        self._client = client
        self._prompt = prompt
        self.looking = looking
        self.limits = limits or Limits()
        self._token = token
        self._price = price
        self._meter: Meter | None = None
        asked = client.endpoint
        self.model = asked.model
        looks = [looking.prompt.version, looking.rounds] if looking else []
        self.config_hash = digest(
            prompt.version, _READING, asked.dialect, asked.base_url, asked.model, asdict(self.limits), *looks
        )

    def charged(self, purse: Purse) -> Self:
        """The same judge, paid for out of `purse`. Raises PRECONDITION where that needs an unknown price."""
        paid = copy.copy(self)
        paid._meter = purse.meter(self.model, self._price)  # noqa: SLF001 - of the same class
        return paid

    async def grade(
        self,
        rubric: Rubric,
        submission: Submission,
        done: Mapping[str, LeafGrade] | None = None,
        shared: SharedReader | None = None,
    ) -> Graded:
        """Grade every question that `done` has no score for. `shared` is read by others, too.

        Raises nothing that the model or the purse does: where it cannot be reached or paid for, what was
        graded until then is given.
        """
        reader = await (shared or SharedReader(submission, self.limits)).get()
        found = {id_: grade for id_, grade in (done or {}).items() if grade.state is not State.UNSCORED}
        async with self.looking.looker.over(submission) if self.looking else nullcontext() as run:
            asking = _Asking(self, rubric, reader, found, run)
            await asking.in_batches()
            await asking.one_by_one()
        grades = tuple(found.get(leaf.id) or asking.unscored(leaf) for leaf in rubric.leaves)
        flags = {**submission.flags, **in_part([IN_PART] if reader.in_part else []), UNSEEN: asking.unseen}
        return Graded(grades, self._spent(asking.usage), asking.error, flags)

    def _spent(self, usage: Usage) -> Spent:
        return Spent.of(usage, self._price)

    async def ask(
        self, rubric: Rubric, leaves: Sequence[Node], listing: str, shown: Shown, looks: Sequence[Look] = ()
    ) -> tuple[dict[str, LeafGrade], Usage]:
        """The well-formed grades of these questions by id; fewer than asked for where some are not.

        Raises the client's ModelErrors, and what the purse raises.
        """
        named = {f"q{n}": leaf for n, leaf in enumerate(leaves, 1)}
        titled = _titled(named, rubric, listing, shown) | ({"LOOKS": looking.shown(looks)} if looks else {})
        messages = self._messages(self._prompt.text, titled)
        answer = await self._client.ask(messages, _SCHEMA, name="grades", accept=_ACCEPTED, meter=self._meter)
        return _grades(answer.value["grades"], named, shown, tuple(looks)), answer.usage

    async def wanted(
        self, rubric: Rubric, leaves: Sequence[Node], listing: str, shown: Shown, looks: Sequence[Look]
    ) -> tuple[list[str], Usage]:
        """The commands that the model wants to see the output of. Raises as `ask`."""
        assert self.looking is not None  # noqa: S101 -- asked for only then
        named = {f"q{n}": leaf for n, leaf in enumerate(leaves, 1)}
        titled = _titled(named, rubric, listing, shown) | {"LOOKS": looking.shown(looks)}
        told = self.looking.prompt.text
        bounds = {"seconds": looking.SECONDS, "chars": looking.SHOWN, "commands": looking.COMMANDS}
        messages = self._messages(told, titled, **bounds)
        answer = await self._client.ask(messages, looking.SCHEMA, name="looks", meter=self._meter)
        return looking.wanted(answer.value, looks), answer.usage

    def _messages(self, prompt: str, titled: Mapping[str, str], **more: object) -> list[Message]:
        """A prompt, and titled texts between markers; a text that holds the marker gets another."""
        marker = self._token()
        while any(marker in text for text in titled.values()):
            marker = self._token()
        fenced = [f"<<{marker} {title}\n{text}\n{marker}>>" for title, text in titled.items()]
        return [
            Message("system", prompt.format(marker=marker, **more)),
            Message("user", "\n\n".join(fenced)),
        ]


@dataclass
class _Asking:
    """One submission being graded."""

    judge: RubricJudge
    rubric: Rubric
    reader: Reader
    found: dict[str, LeafGrade]
    run: Run | None = None
    usage: Usage = field(default_factory=Usage)
    error: FiretrialError | None = None
    unseen: tuple[str, ...] = ()
    vain: int = 0
    _read: dict[str, tuple[str, ...]] = field(default_factory=dict)

    async def in_batches(self) -> None:
        """Ask all, questions about the same deliverables together."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(leaves: Sequence[Node]) -> None:
            async with gate:
                await self._ask(leaves)

        await asyncio.gather(*map(one, self._batches()))

    async def one_by_one(self) -> None:
        """Ask again what has no grade yet."""
        strikes = 0
        for leaf in self._open():
            if strikes >= _GIVE_UP:
                return
            await self._ask([leaf])
            strikes = 0 if leaf.id in self.found else strikes + 1

    async def _ask(self, leaves: Sequence[Node]) -> None:
        if self.error:
            return
        shown = await asyncio.to_thread(self.reader.show, self.rubric, leaves)
        self._read |= dict.fromkeys((leaf.id for leaf in leaves), shown.reading)
        try:
            looks = await self._look(leaves, shown)
            grades, usage = await self.judge.ask(self.rubric, leaves, self.reader.listing, shown, looks)
        except MalformedAnswer as error:
            self.usage += error.usage
        except FiretrialError as error:
            self.usage += error.usage if isinstance(error, ModelError) else Usage()
            self.error = self.error or error
        else:
            self.found |= grades
            self.usage += usage

    async def _look(self, leaves: Sequence[Node], shown: Shown) -> list[Look]:
        """What the model had run before it answers. Nothing that goes wrong with it keeps a question from its
        answer: neither that nobody can run it, nor that the model does not say what to run.

        Raises the client's ModelErrors, and what the purse raises.
        """
        looks: list[Look] = []
        if self.run is None or self.judge.looking is None:
            return looks
        for _ in range(self.judge.looking.rounds):
            commands = await self._commands(leaves, shown, looks)
            if not commands:
                break
            try:
                looks += await looking.look(self.run, commands)
            except FiretrialError as error:
                self.vain += 1
                self._unseen(error.message)
                break
        return looks

    async def _commands(self, leaves: Sequence[Node], shown: Shown, looks: Sequence[Look]) -> list[str]:
        """What the model wants to have run; nothing where it does not say, or too many looks were in vain."""
        if self.vain >= _GIVE_UP:
            return []
        try:
            commands, usage = await self.judge.wanted(self.rubric, leaves, self.reader.listing, shown, looks)
        except MalformedAnswer as error:
            self.usage += error.usage
            self._unseen(_NO_COMMANDS)
            return []
        self.usage += usage
        return commands

    def _unseen(self, why: str) -> None:
        self.unseen = tuple(dict.fromkeys((*self.unseen, why)))

    def _open(self) -> list[Node]:
        return [leaf for leaf in self.rubric.leaves if leaf.id not in self.found]

    def _batches(self) -> list[list[Node]]:
        by_kinds: dict[tuple[str, ...], list[Node]] = {}
        for leaf in self._open():
            by_kinds.setdefault(tuple(kinds_of(leaf)), []).append(leaf)
        size = self.judge.limits.questions
        return [some[n : n + size] for some in by_kinds.values() for n in range(0, len(some), size)]

    def unscored(self, leaf: Node) -> LeafGrade:
        why = f"not graded: {self.error.message}" if self.error else "the model gave no usable answer"
        return LeafGrade(leaf.id, State.UNSCORED, rationale=why, reading=self._read.get(leaf.id, ()))


def _question(id_: str, rubric: Rubric, leaf: Node) -> dict[str, Any]:
    question: dict[str, Any] = {"id": id_, "question": leaf.question, "answers": list(leaf.answers)}
    about = [*([leaf.category] if leaf.category else []), *([leaf.condition] if leaf.condition else [])]
    within = [node.question for node in rubric.above(leaf)[:2] if node.question]
    return question | ({"about": about} if about else {}) | ({"within": within} if within else {})


def _titled(named: Mapping[str, Node], rubric: Rubric, listing: str, shown: Shown) -> dict[str, str]:
    questions = [_question(id_, rubric, leaf) for id_, leaf in named.items()]
    told = json.dumps(questions, ensure_ascii=False, indent=1)
    return {"FILES": listing, "PASSAGES": shown.text, "QUESTIONS": told}


def _grades(
    entries: Sequence[Any], named: Mapping[str, Node], shown: Shown, looks: tuple[Look, ...]
) -> dict[str, LeafGrade]:
    """Grades by leaf id. A question that is answered in two ways has none; unknown ids are dropped."""
    found: dict[str, LeafGrade] = {}
    disputed: set[str] = set()
    for entry in entries:
        id_ = entry.get("id") if isinstance(entry, dict) else None
        leaf = named.get(id_) if isinstance(id_, str) else None
        if leaf is None or entry.get("answer") not in leaf.answers:
            continue
        grade = _grade(entry, leaf, shown, looks)
        if found.setdefault(leaf.id, grade).answer != grade.answer:
            disputed.add(leaf.id)
    return {id_: grade for id_, grade in found.items() if id_ not in disputed}


def _grade(entry: Mapping[str, Any], leaf: Node, shown: Shown, looks: tuple[Look, ...]) -> LeafGrade:
    rationale, evidence = entry.get("rationale"), entry.get("evidence")
    return LeafGrade(
        leaf.id,
        State.PASSED if entry["answer"] in leaf.passing else State.FAILED,
        answer=entry["answer"],
        rationale=clean(rationale).strip()[:_MAX_RATIONALE] if isinstance(rationale, str) else "",
        evidence=shown.named(evidence) if isinstance(evidence, list) else (),
        reading=shown.reading,
        looks=looks,
    )

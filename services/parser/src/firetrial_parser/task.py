"""From a leaf to a task: its parent as the question, a public part and a secret one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from firetrial_kit.errors import Fault, FiretrialError, Reason, invalid
from firetrial_kit.hosts import ALONE, Network
from firetrial_kit.ids import digest
from firetrial_parser import scope as scope_names
from firetrial_parser.addresses import UNKNOWN, Addresses
from firetrial_parser.candidates import appendix_from, rank_leaves
from firetrial_parser.difficulty import Rated, rate_by_heuristic
from firetrial_parser.document import Document
from firetrial_parser.instruction import instruct
from firetrial_parser.labels import without_labels
from firetrial_parser.leaks.leak import Secrets
from firetrial_parser.own_scope import own_question, own_scope, published
from firetrial_parser.prose import sentences
from firetrial_parser.question import derive_question, replication_question
from firetrial_parser.rating import UNRATED, Rating, published_on_arxiv
from firetrial_parser.tree import Node

HASH_CHARS = 12
FEW = 4  # names taken from the whole paper where the leaf's surroundings give none
SLUG_WORDS = 4
SLUG_CHARS = 48

_SLUG_STOP = frozenset(
    re.findall(
        r"\w+",
        """what how does do is are the a an of in on to for and or with by show about experiments which when
        why can this that its their set change depend effect""",
    )
)


class Variant(StrEnum):
    """What is asked about the leaf; the names are those of the contract."""

    REDISCOVERY = "REDISCOVERY"
    REPLICATION = "REPLICATION"


@dataclass(frozen=True, slots=True)
class PublicTask:
    """All that an agent may know, and what runners must keep from it: `denied` is never shown to an agent.

    `id` is slug and content hash; a changed task is another task.
    """

    id: str
    version: str
    question: str
    instruction: str
    scope: tuple[str, ...]
    rating: Rating = UNRATED
    variant: Variant = Variant.REDISCOVERY
    denied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Truth:
    """The secret part: the findings as prose and one by one, their leaf, and the paper with its ids."""

    task_id: str
    text: str
    statements: tuple[str, ...]
    leaf_path: str
    evidence: str
    paper_id: str
    title: str = ""
    addresses: Addresses = UNKNOWN
    difficulty_reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MadeTask:
    """A task with both of its parts, and what of the secret one must not stand in the public one."""

    public: PublicTask
    truth: Truth
    secrets: Secrets

    def of(self, task_id: str) -> MadeTask:
        """The same task under the id that it has with its tenant."""
        public, truth = replace(self.public, id=task_id), replace(self.truth, task_id=task_id)
        return replace(self, public=public, truth=truth)


@dataclass(frozen=True, slots=True)
class Draft:
    """A leaf on its way to a task: what is settled before the question and the rating are."""

    document: Document
    root: Node
    leaf: Node
    variant: Variant
    statements: tuple[str, ...]
    secrets: Secrets

    @property
    def truth(self) -> str:
        """The findings as prose."""
        return " ".join(self.statements)

    @property
    def scope(self) -> tuple[str, ...]:
        """The lines of scope that give nothing away."""
        return tuple(_scope(self.document, self.leaf, self.secrets))

    @property
    def question(self) -> str:
        """The question as it can be made without a model."""
        if self.variant is Variant.REPLICATION:
            return self.secrets.scrub(replication_question(self.leaf)) or replication_question(None)
        return _question(self.document, self.root, self.leaf, self.secrets)

    def finish(self, question: str = "", rated: Rated | None = None) -> MadeTask:
        """The task, with a question and a rating by others where they are given."""
        question, rated = question or self.question, rated or rate_by_heuristic(self.leaf, self.statements)
        addresses = Addresses.of(self.document)
        rating = Rating(rated.difficulty, published_on_arxiv(self.document.arxiv_id))
        network = Network(denied=addresses.denied())
        method = without_labels(sentences(self.leaf.protocol)) if self.variant is Variant.REPLICATION else ()
        instruction = instruct(question, self.scope, method=method)
        source = f"{self.document.sha256}/{self.leaf.evidence}/{self.variant}"
        version = content_version(
            question, instruction, self.truth, source=source, rating=rating, network=network
        )
        id_ = f"{slug(question)}-{version}"
        return MadeTask(
            PublicTask(id_, version, question, instruction, self.scope, rating, self.variant, network.denied),
            Truth(
                id_,
                self.truth,
                self.statements,
                self.leaf.path,
                self.leaf.evidence,
                self.document.sha256,
                self.document.title,
                addresses,
                rated.reasons,
            ),
            self.secrets,
        )


def make_tasks(document: Document, root: Node, count: int = 1) -> list[MadeTask]:
    """Up to `count` tasks, the best target first. Raises INVALID where no leaf states a finding."""
    return [draft(document, root, leaf).finish() for leaf in targets(document, root)[:count]]


def targets(document: Document, root: Node) -> list[Node]:
    """The leaves that can be a target, best first. Raises INVALID where there is none."""
    ranked = rank_leaves(document, root)
    if not ranked:
        found = f"{len(root.leaves())} leaves, none with a conclusion"
        cure = "cite the figures and tables in sentences that state what they show, or parse with a model"
        raise invalid("the tree", [Fault("tree.conclusion", found, cure)])
    return ranked


def draft(document: Document, root: Node, leaf: Node, variant: Variant = Variant.REDISCOVERY) -> Draft:
    """Begin the task whose answer is `leaf` and whose question is the node above it.

    Raises PRECONDITION for a replication of a leaf whose method the tree does not tell.
    """
    if variant is Variant.REPLICATION and not leaf.protocol.strip():
        raise FiretrialError(
            Reason.PRECONDITION,
            f"the leaf {leaf.path} has no protocol that could be repeated; parse the paper with a model",
        )
    statements = tuple(s for s in without_labels(sentences(leaf.conclusion)) if s)
    return Draft(document, root, leaf, variant, statements, _secrets(document, leaf, variant, statements))


def _secrets(document: Document, leaf: Node, variant: Variant, statements: Sequence[str]) -> Secrets:
    """A replication tells the method in the paper's own words; a study has published it with its scope."""
    given = published(document)
    findings = [*statements, leaf.conclusion]
    method = [] if given or variant is Variant.REPLICATION else sentences(leaf.protocol)
    if variant is Variant.REPLICATION:
        given = (*given, leaf.protocol)
    return Secrets.of(document, findings, method, given)


def _question(document: Document, root: Node, leaf: Node, secrets: Secrets) -> str:
    if given := secrets.scrub(own_question(document)):
        return given
    above: list[str] = []
    node = root.parent(leaf.path)
    while node is not None and node.kind != "root":
        above.insert(0, node.title)
        node = root.parent(node.path)
    for question in (
        derive_question(above, document.title, leaf.metrics, leaf.datasets),
        derive_question(above, document.title),
        derive_question([], document.title),
    ):
        if not secrets.given_away_by(question):
            return question
    return derive_question([], "")


def _scope(document: Document, leaf: Node, secrets: Secrets) -> Iterator[str]:
    """Lines of scope: what a study gives in sections of its own, else the names found at the leaf."""
    body = "\n".join(section.text for section in document.sections[: appendix_from(document)])
    named = [
        ("Data", leaf.datasets or scope_names.datasets(body)[:FEW]),
        ("Models", leaf.models or scope_names.models(body)[:FEW]),
        ("Metrics", leaf.metrics or scope_names.metrics(body)[:FEW]),
    ]
    lines = own_scope(document) or [f"{name}: {', '.join(values)}" for name, values in named if values]
    yield from filter(None, map(secrets.scrub, lines))


def content_version(
    question: str,
    instruction: str,
    truth: str,
    *,
    data_sha256: str = "",
    source: str,
    rating: Rating = UNRATED,
    sources: Sequence[str] = (),
    network: Network = ALONE,
    special: object = None,
) -> str:
    """Twelve hex digits over a whole task; `source` says where it came from, `sources` name its data.

    `special` is what its kind adds, as JSON values; None for rediscovery.
    """
    more: list[object] = [] if rating == UNRATED else [_plain(rating)]
    more += [{"sources": list(sources)}] if sources else []
    more += [] if network == ALONE else [{"network": asdict(network)}]
    more += [] if special is None else [{"special": special}]
    return digest(question, instruction, truth, data_sha256, source, *more, length=HASH_CHARS)


def _plain(rating: Rating) -> dict[str, object]:
    """Without the rater where nobody says who it was: such tasks keep the ids that they had."""
    plain = asdict(rating)
    if rating.difficulty and not rating.difficulty.rated_by:
        del plain["difficulty"]["rated_by"]
    return plain


def slug(text: str) -> str:
    """A short name of a task from its question: [a-z0-9-], at most 48 characters."""
    words = [w for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in _SLUG_STOP and len(w) > 2]
    return "-".join(words[:SLUG_WORDS])[:SLUG_CHARS].strip("-") or "task"

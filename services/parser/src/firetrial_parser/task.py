"""From a tree to a task: a target leaf, its parent as the question, a public part and a secret one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from string import Template

from firetrial_kit.errors import Fault, invalid
from firetrial_kit.hosts import ALONE, Network
from firetrial_kit.ids import digest
from firetrial_parser import scope as scope_names
from firetrial_parser.document import Document, Section
from firetrial_parser.findings import citations, is_finding
from firetrial_parser.headings import numbered
from firetrial_parser.leak import Secrets, without_labels
from firetrial_parser.prose import sentences
from firetrial_parser.question import derive_question
from firetrial_parser.rating import UNRATED, Rating, published_on_arxiv
from firetrial_parser.tree import Node
from firetrial_parser.validation import validate

TEMPLATE = "instruction-v1.txt"
HASH_CHARS = 12
FEW = 4  # names taken from the whole paper where the leaf's surroundings give none
SLUG_WORDS = 4
SLUG_CHARS = 48

# Sections whose text is the public scope, and its name in the instruction; "" where the lines have their own.
_SCOPE = {
    "scope": "", "data": "Data", "dataset": "Data", "datasets": "Data", "models": "Models",
    "metric": "Metrics", "metrics": "Metrics", "constraints": "Constraints", "evaluation": "Evaluation",
}  # fmt: skip
_QUESTION = frozenset({"question", "research question", "research questions"})
_NO_RESULT = re.compile(
    r"(?i)\b(?:examples?|overview|illustration|architecture|pipeline|workflow|prompts?|schematic|set-?up|notation|templates?"
    r"|hyper-?parameters?|token counts?|statistics of|summary of the (?:data|prompt|context)|conversation"
    r"|screenshot|UI"
    r"|list of|versions?|procedure|data card|datasets\.)\b"
)
_UNFIT_SECTION = re.compile(
    r"(?i)\b(?:introduction|related work|background|preliminaries|set-?up|overview)\b|^discussion$"
)
_SLUG_STOP = frozenset(
    re.findall(
        r"\w+",
        """what how does do is are the a an of in on to for and or with by show about experiments which when
        why can this that its their set change depend effect""",
    )
)


@dataclass(frozen=True, slots=True)
class PublicTask:
    """All that an agent may know. `id` is slug and content hash; a changed task is another task."""

    id: str
    version: str
    question: str
    instruction: str
    scope: tuple[str, ...]
    published: str = ""


@dataclass(frozen=True, slots=True)
class Truth:
    """The secret part: the findings as prose and one by one, their leaf, and the paper's sha256."""

    task_id: str
    text: str
    statements: tuple[str, ...]
    leaf_path: str
    evidence: str
    paper_id: str


@dataclass(frozen=True, slots=True)
class MadeTask:
    """A task with both of its parts."""

    public: PublicTask
    truth: Truth


def make_tasks(document: Document, root: Node, count: int = 1) -> list[MadeTask]:
    """Up to `count` tasks, the best target first. Raises INVALID where no leaf states a finding."""
    ranked = rank_leaves(document, root)
    if not ranked:
        found = f"{len(root.leaves())} leaves, none with a conclusion"
        cure = "cite the figures and tables in sentences that state what they show, or parse with a model"
        raise invalid("the tree", [Fault("tree.conclusion", found, cure)])
    return [make_task(document, root, leaf) for leaf in ranked[:count]]


def rank_leaves(document: Document, root: Node) -> list[Node]:
    """The leaves that can be a target, best first: main results before appendix and examples.

    A leaf that the validation finds fault with is none.
    """
    cited = citations(document)
    appendix = _appendix_from(document)
    unsound = {fault.field for fault in validate(root, document)}
    fit = [
        leaf
        for leaf in root.leaves()
        if leaf.conclusion
        and not leaf.uncertain
        and not any(f"{field}.".startswith(f"{leaf.path}.") for field in unsound)
    ]

    def fitness(leaf: Node) -> float:
        mentions = cited.get(leaf.evidence, [])
        in_body = [m for m in mentions if m.section < appendix]
        caption = document.caption(leaf.evidence)
        main = caption is None or caption.section is None or caption.section < appendix
        parent = root.parent(leaf.path)
        findings = [s for s in sentences(leaf.conclusion) if is_finding(s)]
        score = 6.0 * main + min(len(in_body), 3) + min(len(findings), 4)
        score += any(char.isdigit() for char in leaf.conclusion)
        score -= 6 * bool(_NO_RESULT.search(leaf.title)) + 3 * bool(
            parent and _UNFIT_SECTION.search(parent.title)
        )
        return score

    return sorted(fit, key=fitness, reverse=True)


def _appendix_from(document: Document) -> int:
    """Index of the first section after the references, or of the first lettered one."""
    for i, section in enumerate(document.sections):
        number = numbered(section.title)
        lettered = number is not None and number.parts[0].isalpha()
        if lettered or section.title.lower() in {"references", "bibliography", "appendix", "appendices"}:
            return i
    return len(document.sections)


def make_task(document: Document, root: Node, leaf: Node) -> MadeTask:
    """The task whose answer is `leaf` and whose question is the node above it."""
    statements = tuple(s for s in without_labels(sentences(leaf.conclusion)) if s)
    truth = " ".join(statements)
    secrets = Secrets.of(
        document, f"{truth} {leaf.conclusion}", leaf.protocol if document.format == "pdf" else ""
    )
    question = _question(document, root, leaf, secrets)
    scope = tuple(_scope(document, leaf, secrets))
    instruction = _instruction(question, scope)
    version = content_version(question, instruction, truth, source=f"{document.sha256}/{leaf.evidence}")
    id_ = f"{slug(question)}-{version}"
    return MadeTask(
        PublicTask(id_, version, question, instruction, scope, published_on_arxiv(document.arxiv_id)),
        Truth(id_, truth, statements, leaf.path, leaf.evidence, document.sha256),
    )


def _question(document: Document, root: Node, leaf: Node, secrets: Secrets) -> str:
    asked = [s for s in document.sections if s.title.strip().lower() in _QUESTION]
    given = secrets.scrub(" ".join(asked[0].paragraphs)) if asked else ""
    if given:
        return given
    above: list[str] = []
    node = root.parent(leaf.path)
    while node is not None and node.kind != "root":
        above.insert(0, node.title)
        node = root.parent(node.path)
    question = derive_question(above, document.title)
    return question if not secrets.given_away_by(question) else derive_question([], document.title)


def _scope(document: Document, leaf: Node, secrets: Secrets) -> Iterator[str]:
    """Lines of scope: what the paper gives in sections of its own, else the names found at the leaf."""
    own = list(_own_scope(document.sections)) if document.format != "pdf" else []
    body = "\n".join(section.text for section in document.sections[: _appendix_from(document)])
    named = [
        ("Data", leaf.datasets or scope_names.datasets(body)[:FEW]),
        ("Models", leaf.models or scope_names.models(body)[:FEW]),
        ("Metrics", leaf.metrics or scope_names.metrics(body)[:FEW]),
    ]
    for line in own or [f"{name}: {', '.join(values)}" for name, values in named if values]:
        clean = secrets.scrub(line)
        if clean:
            yield clean


def _own_scope(sections: Sequence[Section]) -> Iterator[str]:
    for section in sections:
        number = numbered(section.title)
        name = _SCOPE.get((number.title if number else section.title).strip().lower())
        for paragraph in section.paragraphs if name is not None else ():
            yield f"{name}: {paragraph}" if name else paragraph


def _instruction(question: str, scope: Sequence[str]) -> str:
    template = Template((files("firetrial_parser") / "templates" / TEMPLATE).read_text(encoding="utf-8"))
    listed = "".join(f"- {line}\n" for line in scope)
    return template.substitute(question=question, scope=f"Scope:\n{listed}" if listed else "")


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
) -> str:
    """Twelve hex digits over a whole task; `source` says where it came from, `sources` name its data."""
    more: list[object] = [] if rating == UNRATED else [asdict(rating)]
    more += [{"sources": list(sources)}] if sources else []
    more += [] if network == ALONE else [{"network": asdict(network)}]
    return digest(question, instruction, truth, data_sha256, source, *more, length=HASH_CHARS)


def slug(text: str) -> str:
    """A short name of a task from its question: [a-z0-9-], at most 48 characters."""
    words = [w for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in _SLUG_STOP and len(w) > 2]
    return "-".join(words[:SLUG_WORDS])[:SLUG_CHARS].strip("-") or "task"

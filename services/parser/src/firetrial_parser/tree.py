"""The research-problem tree: the paper's question, its parts, and what each figure or table found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

NodeKind = Literal["root", "intermediate", "leaf"]
FROM_STRUCTURE, SUBMITTED = "structure", "submitted"  # how a tree was made without a model


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of the paper that a node rests on, and where they stand.

    `start` and `end` are the half-open span of characters in the text of `page`, which counts from 1 (a
    source without pages is page 1) and is 0 where they were not found. `score` is 1 where they were found as
    they are, less where nearly so.
    """

    text: str
    page: int = 0
    start: int = 0
    end: int = 0
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the tree. `path` is "0" for the root and "0.2.1" for the second child of its third child.

    A leaf names its `task` (what is done in the experiment), its `evidence` ("Table 1", "Figure 2",
    "Section 3.1"), what was measured on which `datasets` and `models` by which `metrics` and `protocol`, and
    its `conclusion`; `uncertain` where none was found. Any node may have `quotes`, evidence in the paper's
    own words. `page` counts from 1; 0 where the source has no pages.
    """

    kind: NodeKind
    title: str
    path: str = "0"
    description: str = ""
    evidence: str = ""
    page: int = 0
    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    protocol: str = ""
    conclusion: str = ""
    uncertain: bool = False
    children: tuple[Node, ...] = ()
    task: str = ""
    quotes: tuple[Quote, ...] = ()

    def walk(self) -> Iterator[Node]:
        """The node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self) -> list[Node]:
        """All leaves below, in order."""
        return [node for node in self.walk() if node.kind == "leaf"]

    def at(self, path: str) -> Node | None:
        """The node with this path, or None."""
        return next((node for node in self.walk() if node.path == path), None)

    def parent(self, path: str) -> Node | None:
        """The node above the one with this path, or None for the root and for unknown paths."""
        return self.at(path.rpartition(".")[0]) if "." in path else None

    def to_json(self) -> dict[str, Any]:
        """Nested JSON objects that `from_json` reads back without loss."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Node:
        """Inverse of `to_json`."""
        lists = {name: tuple(data.get(name, ())) for name in ("datasets", "models", "metrics")}
        children = tuple(cls.from_json(child) for child in data.get("children", ()))
        quotes = tuple(Quote(**quote) for quote in data.get("quotes", ()))
        return cls(**{**data, **lists, "children": children, "quotes": quotes})


def numbered(node: Node, path: str = "0") -> Node:
    """The tree with every path set to the node's position."""
    children = tuple(numbered(child, f"{path}.{i}") for i, child in enumerate(node.children))
    return replace(node, path=path, children=children)


@dataclass(frozen=True, slots=True)
class PaperFacts:
    """What a tree says of its paper. `year` is 0 where it is unknown, `id` "" where the paper has none."""

    title: str = ""
    authors: tuple[str, ...] = ()
    venue: str = ""
    year: int = 0
    id: str = ""


@dataclass(frozen=True, slots=True)
class Grounding:
    """How many of a tree's atomic statements the paper supports, and by what that was told (`method`)."""

    supported: int = 0
    statements: int = 0
    method: str = ""

    @property
    def share(self) -> float | None:
        """In [0, 1]; None for a tree that states nothing."""
        return self.supported / self.statements if self.statements else None


@dataclass(frozen=True, slots=True)
class Tree:
    """A paper's tree, how it was made (`extraction`), and how well the paper supports it."""

    root: Node
    paper: PaperFacts = field(default_factory=PaperFacts)
    extraction: str = FROM_STRUCTURE
    grounding: Grounding = field(default_factory=Grounding)

    def to_json(self) -> dict[str, Any]:
        """The tree as a file; `from_json` reads it back without loss."""
        return {
            "paper": asdict(self.paper),
            "extraction": self.extraction,
            "grounding": asdict(self.grounding),
            "root": self.root.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tree:
        """Inverse of `to_json`."""
        paper = PaperFacts(**{**data["paper"], "authors": tuple(data["paper"]["authors"])})
        grounding = Grounding(**data["grounding"])
        return cls(Node.from_json(data["root"]), paper, data["extraction"], grounding)

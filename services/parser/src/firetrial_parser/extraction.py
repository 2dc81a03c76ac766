"""The tree by a model: a versioned prompt, a flat JSON schema, and the same validation as without a model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, cast

from firetrial_kit.errors import Fault, FiretrialError, Reason
from firetrial_kit.models import Endpoint, Message, ModelClient, Usage
from firetrial_parser.document import Document
from firetrial_parser.tree import Node, NodeKind, numbered
from firetrial_parser.validation import validate

PROMPT = "extract-v1.txt"
SCHEMA = "tree-v1.json"
DEFAULT_URL = "https://api.openai.com/v1"
MAX_CHARS = 200_000  # of the paper's running text; about 50,000 tokens
REPAIRS = 2  # a tree with faults is asked for again so often, the faults named
MAX_NODES = 500


@dataclass(frozen=True, slots=True)
class Extracted:
    """A tree by a model, what the validation still finds wrong with it, and what it cost."""

    tree: Node
    faults: tuple[Fault, ...]
    usage: Usage


OpenModel = Callable[[], AbstractAsyncContextManager[ModelClient]]


def opener(model: str, base_url: str, api_key: str) -> OpenModel | None:
    """How to open the client each time; None where no model is named."""
    return (lambda: open_extractor(model, base_url, api_key)) if model else None


@asynccontextmanager
async def open_extractor(model: str, base_url: str, api_key: str) -> AsyncIterator[ModelClient]:
    """A client for the endpoint, closed at the end. An empty `base_url` is OpenAI's own."""
    client = ModelClient(Endpoint(base_url or DEFAULT_URL, model, api_key))
    try:
        yield client
    finally:
        await client.aclose()


async def extract_tree(document: Document, client: ModelClient) -> Extracted:
    """Ask for the tree; ask again with the faults named; return the last one that is a tree.

    Raises CORRUPT where the model gave no tree at all, and what `ModelClient.ask` raises.
    """
    asked = [Message("system", _package_text(PROMPT)), Message("user", paper_text(document))]
    schema = json.loads(_package_text(SCHEMA))
    conversation = list(asked)
    usage = Usage()
    best: tuple[Node, list[Fault]] | None = None
    for _ in range(REPAIRS + 1):
        answer = await client.ask(conversation, schema, name="tree")
        usage += answer.usage
        tree, faults = assemble(answer.value["nodes"], document)
        if tree is not None:
            faults = validate(tree, document)
            best = (tree, faults) if best is None or len(faults) <= len(best[1]) else best
        if not faults:
            break
        conversation = [*asked, *_repair(answer.value, faults)]
    if best is None:
        raise FiretrialError(
            Reason.CORRUPT, f"model {client.endpoint.model!r} gave no tree: {faults[0]}", faults=faults
        )
    return Extracted(best[0], tuple(best[1]), usage)


def _repair(value: Any, faults: Sequence[Fault]) -> list[Message]:
    listed = "\n".join(f"- {fault}" for fault in faults[:40])
    again = f"The tree has these faults:\n{listed}\nGive the whole tree again without them."
    return [Message("assistant", json.dumps(value)), Message("user", again)]


def paper_text(document: Document) -> str:
    """What the model reads: title, captions with their labels, and the running text by section."""
    captions = "\n".join(f"{c.label}: {c.text}" for c in document.captions)
    body = "\n\n".join(f"## {s.title}\n{s.text}" for s in document.sections)
    # The paper's own end of this block would otherwise close it early.
    inside = f"{document.title}\n\nCaptions:\n{captions}\n\n{body[:MAX_CHARS]}".replace(
        "</paper>", "< /paper>"
    )
    return f"<paper>\n{inside}\n</paper>"


def assemble(nodes: Sequence[dict[str, Any]], document: Document) -> tuple[Node | None, list[Fault]]:
    """The tree of a flat list of nodes, or None and every reason why it is none."""
    faults = _list_faults(nodes)
    if faults:
        return None, faults
    root = next(n for n in nodes if n["kind"] == "root")
    return numbered(_nested(root, nodes, document)), []


def _list_faults(nodes: Sequence[dict[str, Any]]) -> list[Fault]:
    if len(nodes) > MAX_NODES:
        return [Fault("nodes", str(len(nodes)), f"at most {MAX_NODES} nodes")]
    ids = [n["id"] for n in nodes]
    parents = {n["id"]: n["parent"] for n in nodes}
    roots = [n["id"] for n in nodes if n["kind"] == "root"]
    faults = (
        [Fault("nodes.kind", f"{len(roots)} roots", "there must be exactly one root")]
        if len(roots) != 1
        else []
    )
    faults += [Fault("nodes.id", id_, "ids must be unique") for id_ in {i for i in ids if ids.count(i) > 1}]
    for node in nodes:
        if node["kind"] != "root" and node["parent"] not in parents:
            faults.append(
                Fault(f"nodes.{node['id']}.parent", node["parent"], "must be the id of another node")
            )
        elif node["kind"] != "root" and not _reaches(node["id"], parents, roots):
            faults.append(
                Fault(f"nodes.{node['id']}.parent", node["parent"], "runs in a circle; end at the root")
            )
    return faults


def _reaches(id_: str, parents: dict[str, str], roots: Sequence[str]) -> bool:
    seen: set[str] = set()
    while id_ not in seen:
        if id_ in roots:
            return True
        seen.add(id_)
        id_ = parents.get(id_, id_)
    return False


def _nested(node: dict[str, Any], nodes: Sequence[dict[str, Any]], document: Document) -> Node:
    below = [n for n in nodes if n["parent"] == node["id"] and n["kind"] != "root"]
    caption = document.caption(node["evidence"]) if node["evidence"] else None
    return Node(
        kind=cast("NodeKind", node["kind"]),
        title=node["title"],
        description=node["description"],
        evidence=caption.label if caption else node["evidence"],
        page=caption.page if caption else 0,
        datasets=tuple(node["datasets"]),
        models=tuple(node["models"]),
        metrics=tuple(node["metrics"]),
        protocol=node["protocol"],
        conclusion=node["conclusion"],
        uncertain=node["uncertain"],
        children=tuple(_nested(n, nodes, document) for n in below),
    )


def _package_text(name: str) -> str:
    return (files("firetrial_parser") / "templates" / name).read_text(encoding="utf-8")

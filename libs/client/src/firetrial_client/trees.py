"""Trees as files, in the form in which they can be submitted again."""

from __future__ import annotations

from typing import Any

from google.protobuf.json_format import MessageToDict

from firetrial.parser.v1.paper_pb2 import Node, NodeKind
from firetrial.parser.v1.parser_service_pb2 import GetTreeResponse


def tree_file(tree: GetTreeResponse, paper_id: str) -> dict[str, Any]:
    """`{"paper", "extraction", "grounding", "root"}`, JSON types throughout.

    With the paper's id in it, a tree that is submitted again is held to that paper.
    """
    return {
        "paper": {**_plain(tree.paper), "id": paper_id},
        "extraction": tree.extraction,
        "grounding": _plain(tree.grounding),
        "root": _node(tree.root),
    }


def _node(node: Node) -> dict[str, Any]:
    kind = NodeKind.Name(node.kind).removeprefix("NODE_KIND_").lower()
    return {**_plain(node), "kind": kind, "children": [_node(child) for child in node.children]}


def _plain(message: Any) -> dict[str, Any]:
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)

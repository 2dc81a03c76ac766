"""What a request may hold, and how many tokens it may come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from firetrial_runner.gateway.upstream import Feature

Need = tuple[Feature, str]
"""What a request asks for that an upstream does only where it is allowed, and where it asks so."""

# English has about four bytes a token; two leave room for numbers, code and other scripts.
_BYTES_A_TOKEN = 2
# An image is some thousand tokens whatever its size; a document grows with it.
_FILE_TOKENS = 4096
_FILE_BYTES_A_TOKEN = 64


def remote(value: Any, path: str) -> Iterator[Need]:
    """Content that the vendor would fetch, or take from what it keeps: another way out of the sandbox.

    OpenAI's image_url, file_url and file_id; Anthropic's sources of the types url and file.
    """
    if isinstance(value, list):
        for index, part in enumerate(value):
            yield from remote(part, f"{path}[{index}]")
    if not isinstance(value, dict) or value.get("type") == "tool_use":
        return
    image = value.get("image_url")
    address = image.get("url") if isinstance(image, dict) else image
    if isinstance(address, str) and not address.startswith("data:"):
        yield Feature.REMOTE_CONTENT, f"{path}.image_url"
    for name in ("file_url", "file_id"):
        if value.get(name):
            yield Feature.REMOTE_CONTENT, f"{path}.{name}"
    source = value.get("source")
    if isinstance(source, dict) and source.get("type") in {"url", "file"}:
        yield Feature.REMOTE_CONTENT, f"{path}.source"
    for name, part in value.items():
        if isinstance(part, dict | list):
            yield from remote(part, f"{path}.{name}")


def server_tools(tools: Any, harmless: Callable[[dict[str, Any]], bool]) -> Iterator[Need]:
    """Tools that are not known to be run by the agent itself."""
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if not isinstance(tool, dict) or not harmless(tool):
            kind = tool.get("type") if isinstance(tool, dict) else tool
            yield Feature.SERVER_TOOLS, f"tools[{index}] of type {kind!r}"


def given(body: dict[str, Any], feature: Feature, names: Iterable[str]) -> Iterator[Need]:
    """Parameters that ask for a feature by being there and not empty, 0 or false."""
    return ((feature, name) for name in names if body.get(name))


def estimate(body: dict[str, Any], raw: bytes) -> int:
    """Tokens that a request may come to: an estimate from above."""
    files = [len(piece) for piece in _files(body)] if b"base64" in raw else []
    tokens = (len(raw) - sum(files)) // _BYTES_A_TOKEN + 1
    return tokens + sum(max(_FILE_TOKENS, size // _FILE_BYTES_A_TOKEN) for size in files)


def _files(value: Any) -> Iterator[str]:
    """Files that a request brings along in base64."""
    if isinstance(value, list):
        for part in value:
            yield from _files(part)
    elif isinstance(value, dict):
        encoded = value.get("data")
        if value.get("type") == "base64" and isinstance(encoded, str):
            yield encoded
        for part in value.values():
            if isinstance(part, dict | list):
                yield from _files(part)
            elif isinstance(part, str) and part.startswith("data:") and ";base64," in part[:200]:
                yield part

"""Parts of a page as values, so that one description serves twice: as HTML, and as JSON from which the page's
own script makes the same elements. Text is text in both; nothing here takes markup."""

from __future__ import annotations

import html
from dataclasses import dataclass

# The script takes no other tag or attribute either.
TAGS = frozenset(
    {"a", "caption", "dd", "div", "dl", "dt", "h3", "li", "p", "q", "span", "strong", "table", "tbody", "td"}
    | {"th", "thead", "tr", "ul"}
)
ATTRIBUTES = frozenset({"aria-hidden", "class", "colspan", "href", "role", "scope"})


@dataclass(frozen=True, slots=True)
class Node:
    """An element. Raises ValueError for a tag, attribute or address that no page of ours has."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Node | str, ...]

    def __post_init__(self) -> None:
        names = {name for name, _ in self.attributes}
        addresses = [value for name, value in self.attributes if name == "href"]
        if (
            self.tag not in TAGS
            or names - ATTRIBUTES
            or not all(address.startswith("#") for address in addresses)
        ):
            raise ValueError(f"<{self.tag}> with {sorted(names)} to {addresses} is no part of a page")


Child = Node | str | None


def node(tag: str, *children: Child, **attributes: str) -> Node:
    """`cls` is the class; `aria_hidden` is aria-hidden. Children that are None are left out."""
    named = {
        ("class" if name == "cls" else name.replace("_", "-")): value for name, value in attributes.items()
    }
    return Node(tag, tuple(named.items()), tuple(child for child in children if child is not None))


def markup(part: Node | str) -> str:
    """As HTML."""
    if isinstance(part, str):
        return html.escape(part)
    attributes = "".join(f' {name}="{html.escape(value)}"' for name, value in part.attributes)
    return f"<{part.tag}{attributes}>{''.join(map(markup, part.children))}</{part.tag}>"


def data(part: Node | str) -> object:
    """As JSON values: a text, or [tag, {attribute: value}, child…]."""
    if isinstance(part, str):
        return part
    return [part.tag, dict(part.attributes), *map(data, part.children)]

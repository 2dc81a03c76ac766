"""HTML as a tree of elements, however it is written: what is not closed ends where its parent does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import unescape

MAX_DEPTH = 120  # deeper elements are taken as children of the last one above this
MAX_ELEMENTS = 2_000_000

VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)
_RAW = frozenset(["script", "style", "textarea", "title"])
_NAME = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"([^\s=/>\"']+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+)))?")
# An element that begins ends an open one of these, up to the given border.
_ENDS = {
    "p": ({"p"}, {"div", "section", "article", "td", "th", "li", "figure", "figcaption", "blockquote"}),
    "li": ({"li", "p"}, {"ul", "ol"}),
    "tr": ({"tr", "td", "th", "p"}, {"table", "thead", "tbody", "tfoot"}),
    "td": ({"td", "th", "p"}, {"tr", "table"}),
    "th": ({"td", "th", "p"}, {"tr", "table"}),
    "thead": ({"tr", "td", "th", "tbody"}, {"table"}),
    "tbody": ({"tr", "td", "th", "thead", "tbody"}, {"table"}),
    "tfoot": ({"tr", "td", "th", "tbody"}, {"table"}),
}


@dataclass(slots=True)
class Element:
    """An element: its children are elements and pieces of text. `block` is for the reader to note."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)
    block: bool | None = None

    @property
    def classes(self) -> frozenset[str]:
        """The names in its class attribute."""
        return frozenset(self.attributes.get("class", "").split())

    @property
    def elements(self) -> Iterator[Element]:
        """Its children that are elements."""
        return (child for child in self.children if isinstance(child, Element))

    def find(
        self, wanted: Callable[[Element], bool], inside: Callable[[Element], bool] | None = None
    ) -> list[Element]:
        """The wanted elements below, in order, none inside another; `inside` says where to look."""
        out: list[Element] = []
        for child in self.elements:
            if wanted(child):
                out.append(child)
            elif inside is None or inside(child):
                out += child.find(wanted, inside)
        return out


class TooManyError(ValueError):
    """More elements than a paper has."""


def parse_html(source: str) -> Element:
    """The tree of a page under a root element without a tag, in linear time. Raises TooManyError."""
    builder = _Builder()
    at = 0
    while (start := source.find("<", at)) >= 0:
        builder.text(source[at:start])
        at = _markup(source, start, builder)
    builder.text(source[at:])
    return builder.root


def _markup(source: str, start: int, builder: _Builder) -> int:
    """Take in what begins with the "<" at `start`; where it ends, which may be the end of the source."""
    if source.startswith("<!--", start):
        return _after(source, "-->", start + 4)
    if source[start + 1 : start + 2] in {"!", "?"}:
        return _after(source, ">", start)
    name = _NAME.match(source, start)
    if name is None:
        builder.text("<")
        return start + 1
    tag = name[2].lower()
    attributes, at, whole = _attributes(source, name.end())
    if name[1]:
        builder.end(tag)
    else:
        builder.begin(tag, attributes, whole=whole)
        if tag in _RAW:
            ended = re.compile(rf"</{tag}", re.IGNORECASE).search(source, at)
            at = ended.start() if ended else len(source)
    return at


def _after(source: str, mark: str, at: int) -> int:
    end = source.find(mark, at)
    return end + len(mark) if end >= 0 else len(source)


def _attributes(source: str, at: int) -> tuple[dict[str, str], int, bool]:
    """The attributes from `at`, where the tag ends, and whether it ended with "/>"."""
    found: dict[str, str] = {}
    while at < len(source):
        if source[at] == ">":
            return found, at + 1, source[at - 1] == "/"
        match = _ATTRIBUTE.match(source, at)
        if match is None:
            at += 1
            continue
        found.setdefault(match[1].lower(), unescape(next(filter(None, match.groups()[1:]), "")))
        at = match.end()
    return found, at, False


class _Builder:
    def __init__(self) -> None:
        self.root = Element("")
        self._open = [self.root]
        self._count = 0

    def text(self, text: str) -> None:
        if text:
            self._open[-1].children.append(unescape(text))

    def begin(self, tag: str, attributes: dict[str, str], *, whole: bool) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise TooManyError(f"more than {MAX_ELEMENTS} elements")
        if tag in _ENDS:
            self._end(*_ENDS[tag])
        element = Element(tag, attributes)
        self._open[-1].children.append(element)
        # "<p/>" opens in HTML and is whole in XHTML; what LaTeXML writes so is in formulas.
        closed = tag in VOID or (whole and tag not in {"p", "div", "span", "a"})
        if not closed and len(self._open) < MAX_DEPTH:
            self._open.append(element)

    def end(self, tag: str) -> None:
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag == tag:
                del self._open[depth:]
                return

    def _end(self, ended: set[str], border: set[str]) -> None:
        for depth in range(len(self._open) - 1, 0, -1):
            tag = self._open[depth].tag
            if tag in border:
                return
            if tag in ended:
                outermost = depth
                while self._open[outermost - 1].tag in ended:
                    outermost -= 1
                del self._open[outermost:]
                return

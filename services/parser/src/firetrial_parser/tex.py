"""TeX as text: what a reader sees of a phrase or a formula, without the commands that set it."""

from __future__ import annotations

import re
import unicodedata

from firetrial_parser.signs import ACCENTS, HIDDEN, SIGNS

DEEPEST = 12  # arguments in arguments; deeper ones are left out

_TOKEN = re.compile(r"\\([A-Za-z@]+)\*?[ \t]*\n?[ \t]*|\\(.)|([{}$~])|(``|''|---?|&)|(\s+)", re.DOTALL)
_NAME = re.compile(r"(?:[A-Za-z@]+|.)?", re.DOTALL)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BRACKET = re.compile(r"\\.|[{}\]]", re.DOTALL)
_SPACE = re.compile(r"\s*\[[^\[\]]{0,40}\]")  # after a line break
_OPTIONAL = 300  # characters of an argument in square brackets


def argument(source: str, at: int) -> tuple[str, int]:
    """The argument that begins at `at` (blanks left out), without its braces, and where it ends.

    That is a group, a command or a single character; "" at the end and before a closing brace.
    """
    while at < len(source) and source[at].isspace():
        at += 1
    if at >= len(source) or source[at] == "}":
        return "", at
    if source[at] == "{":
        end = closing(source, at)
        return source[at + 1 : end], min(end + 1, len(source))
    if source[at] == "\\":
        end = _NAME.match(source, at + 1).end()  # type: ignore[union-attr]  # it matches nothing, too
        return source[at:end], end
    return source[at], at + 1


def optional(source: str, at: int) -> tuple[str | None, int]:
    """The argument in square brackets at `at`, or None where there is none, and where it ends."""
    start = at
    while start < len(source) and source[start] in " \t\n":
        start += 1
    if source[start : start + 1] != "[":
        return None, at
    depth = 0
    for match in _BRACKET.finditer(source, start + 1, start + _OPTIONAL):
        depth += (match[0] == "{") - (match[0] == "}")
        if match[0] == "]" and depth <= 0:
            return source[start + 1 : match.start()], match.end()
    return None, at


def closing(source: str, at: int) -> int:
    """Where the group that is opened at `at` closes; the end of the source where it does not."""
    depth = 0
    for match in _BRACE.finditer(source, at):
        depth += (match[0] == "{") - (match[0] == "}")
        if depth == 0 and match[0] == "}":
            return match.start()
    return len(source)


def plain(source: str, depth: int = 0) -> str:
    """The text of a piece of TeX; blanks are made one, unknown commands leave their arguments."""
    if depth > DEEPEST:
        return ""
    out: list[str] = []
    at = 0
    while (match := _TOKEN.search(source, at)) is not None:
        out.append(source[at : match.start()])
        text, at = _token(match, source, depth)
        out.append(text)
    out.append(source[at:])
    return unicodedata.normalize("NFC", " ".join("".join(out).split()))


_LITERAL = {"~": " ", "``": "“", "''": "”", "--": "–", "---": "—", "&": " ", "-": "-"}


def _token(match: re.Match[str], source: str, depth: int) -> tuple[str, int]:
    word, sign, mark, literal, _ = match.groups()
    if word is not None:
        return _command(word, source, match, depth)
    if sign is not None:
        return _sign(sign, source, match.end(), depth)
    if mark is not None:
        return (" " if mark == "~" else ""), match.end()
    return (_LITERAL[literal] if literal is not None else " "), match.end()


def _command(word: str, source: str, match: re.Match[str], depth: int) -> tuple[str, int]:
    at = match.end()
    if word in SIGNS:
        # A blank after a sign ends its name only; "\alpha beta" needs one all the same.
        return SIGNS[word] + (" " if match[0][-1:].isspace() and SIGNS[word].isalnum() else ""), at
    if word in ACCENTS:
        return _accented(ACCENTS[word], source, at, depth)
    if word in {"frac", "dfrac", "tfrac", "nicefrac", "sfrac"}:
        above, at = argument(source, at)
        below, at = argument(source, at)
        return f"{plain(above, depth + 1)}/{plain(below, depth + 1)}", at
    if word == "sqrt":
        return "√", optional(source, at)[1]
    if word in HIDDEN:
        return _after_hidden(word, source, at), _hidden(word, source, at)
    # Names of fonts and of unknown commands vanish; what stood after them stays.
    return (" " if match[0][-1:].isspace() and source[at : at + 1] != "{" else ""), at


def _after_hidden(word: str, source: str, at: int) -> str:
    return "" if word.startswith(("cite", "label", "footnote")) else " " * source[at : at + 1].isspace()


def _hidden(word: str, source: str, at: int) -> int:
    for _ in range(2):
        found, at = optional(source, at)
        if found is None:
            break
    for _ in range(HIDDEN[word]):
        at = argument(source, at)[1]
        at = optional(source, at)[1] if word in {"multirow", "parbox", "raisebox"} else at
    return at


def _sign(sign: str, source: str, at: int, depth: int) -> tuple[str, int]:
    if (
        sign in "'`^\"~=."
        and source[at : at + 1].isascii()
        and re.match(r"\s*[A-Za-z{\\]", source[at : at + 9])
    ):
        return _accented(ACCENTS[sign], source, at, depth)
    if sign == "\\":
        space = _SPACE.match(source, at)
        return " ", space.end() if space else at
    if sign in "()[],;:!/ @-":
        return {",": " ", ";": " ", ":": " ", " ": " "}.get(sign, ""), at
    return sign, at


def _accented(accent: str, source: str, at: int, depth: int) -> tuple[str, int]:
    letter, at = argument(source, at)
    text = plain(letter, depth + 1).replace("ı", "i").replace("ȷ", "j")
    return unicodedata.normalize("NFC", text[:1] + accent + text[1:]) if text else "", at

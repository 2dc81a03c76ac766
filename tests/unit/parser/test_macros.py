import time
from itertools import pairwise

import pytest

from firetrial_kit.errors import FiretrialError
from firetrial_parser.macros import expand, whole, without_comments


def test_comments_end_their_line() -> None:
    assert without_comments("a% b\n c\n5\\% d\\\\% e\nf") == "ac\n5\\% d\\\\f"
    assert without_comments("a\\iffalse b\\fi c\\begin{comment}d\\end{comment}e") == "a ce"


def test_files_are_put_in_once_in_a_chain() -> None:
    files = {
        "a.tex": r"1\input{b}2\include{sub/c}3",
        "b.tex": r"b\input a ",
        "sub/c.tex": r"c\input{d.tex}",
        "sub/d.tex": "d",
    }
    assert whole("a.tex", files) == "1b 2cd3"


@pytest.mark.parametrize(
    ("source", "expanded"),
    [
        (r"\newcommand{\a}{x}\a{} \a.", "x x."),
        (r"\newcommand\a[2]{#2-#1}\a{1}{2}", "2-1"),
        (r"\newcommand{\a}[2][d]{#1#2}\a{1}\a[e]{2}", "d1e2"),
        (r"\def\a#1{<#1>}\a{b}\a c", "<b><c>"),
        (r"\newcommand{\a}{\b}\newcommand{\b}[1]{(#1)}\a{x}", "(x)"),
        (r"\DeclareMathOperator*{\argmax}{arg\,max}\argmax_x", r"arg\,max_x"),
        (r"\renewcommand{\section}[1]{no}\section{x}", r"\section{x}"),
        (r"\newcommand{\a}{\a\a}\a", r"\a\a"),
        (r"\newcommand{\a}{\b}\newcommand{\b}[1]{(#1)}\a{x}\a{y}", "(x)(y)"),
    ],
)
def test_commands(source: str, expanded: str) -> None:
    assert expand(source) == expanded


@pytest.mark.parametrize(
    "source",
    [
        "".join(rf"\def\{a}{{\{b}\{b}}}" for a, b in pairwise("abcdefghijklmnopqrstu")) + r"\a",
        "".join(rf"\def\{a}#1{{\{b}{{#1#1}}}}" for a, b in pairwise("abcdefghijklmnopqrstu"))
        + r"\a{xxxx}" * 9,
        r"\def\a#1{" + "#1" * 100_000 + r"}\a{" + "x" * 100_000 + "}",
    ],
)
def test_commands_without_end_are_refused_in_time(source: str) -> None:
    started = time.process_time()
    with pytest.raises(FiretrialError, match="without end"):
        expand(source)
    assert time.process_time() - started < 10


def test_files_without_end_are_refused_in_time() -> None:
    files = {f"{n}.tex": rf"\input{{{n + 1}}}" * 9 for n in range(19)}
    started = time.process_time()
    with pytest.raises(FiretrialError, match="without end"):
        whole("0.tex", files)
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "text",
    ["\\iffalse" * 200_000, "\\begin{comment}" * 200_000, "\\input{" * 100_000, "\\\\" * 500_000 + "%"],
)
def test_hostile_sources_are_read_in_time(text: str) -> None:
    started = time.process_time()
    expand(whole("a", {"a": text}))
    assert time.process_time() - started < 5

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_parser.tex import argument, optional, plain


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"falls from $90.1\%$ to 55.4\,\% (\textbf{Table~1})", "falls from 90.1% to 55.4 % (Table 1)"),
        (r"Sch\"utze, Erd\H{o}s, \'Etienne, {\L}ukasz, na\"{\i}ve", "Schütze, Erdős, Étienne, Łukasz, naïve"),
        (r"$x^2 + \frac{a_1}{b} \leq \alpha$", "x^2 + a_1/b ≤α"),
        (r"``so'' --- a \emph{b}\footnote{x {y}}~\cite[see][p.~2]{k}.", "“so” — a b ."),
        (r"\textcolor{red}{hot} \href{http://a.b}{text} a\\[2pt] b", "hot text a b"),
        (r"$\mathcal{L} = \sum_i \log p$", "L = ∑_i log p"),
        (r"open { and \frac{1", "open and 1/"),
        ("\\", "\\"),
        ("", ""),
    ],
)
def test_what_a_reader_sees(source: str, text: str) -> None:
    assert plain(source) == text


def test_arguments() -> None:
    assert argument(r" {a{b}\}}c", 0) == (r"a{b}\}", 9)
    assert argument(r"\cmd x", 0) == (r"\cmd", 4)
    assert argument("xy", 0) == ("x", 1)
    assert argument("}", 0) == ("", 0)
    assert optional(" [a{]}b] c", 0) == ("a{]}b", 8)
    assert optional("[never closed", 0) == (None, 0)


@given(st.text(alphabet="\\{}[]$%&~^_'`\"-abc \n", max_size=200))
def test_any_source_is_text(source: str) -> None:
    assert plain(source) == " ".join(plain(source).split())


@pytest.mark.parametrize(
    "part", ["{", "\\frac", "\\\\[", "\\cite[", "\\'", "\\textcolor{red}", "$", "\\frac{"]
)
def test_hostile_sources_are_read_in_time(part: str) -> None:
    started = time.process_time()
    plain(part * 20_000)
    assert time.process_time() - started < 5

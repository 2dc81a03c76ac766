from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firetrial_kit.errors import FiretrialError
from firetrial_parser.document import Document
from firetrial_parser.latex import main_file, read_latex
from unit.parser.latex_source import BBL, FILES, INTRO, MAIN, gzipped, tar_gz, zipped


def test_a_paper_of_several_files() -> None:
    found = read_latex(tar_gz())
    assert (found.format, found.title) == ("latex", "A Small Study of Noise in Labels")
    assert found.authors == ("Ada Byron", "Alan Turing")
    assert found.abstract == "We study what wrong labels do to classifiers."
    assert (found.venue, found.year) == ("NeurIPS", 2023)
    assert [(s.title, s.level, s.supplementary) for s in found.sections] == [
        ("Abstract", 1, False),
        ("1 Introduction", 1, False),
        ("Scope", 2, False),
        ("2 Results", 1, False),
        ("References", 1, False),
        ("A Details", 1, True),
        ("A.1 More", 2, True),
    ]
    assert found.sections[1].paragraphs == [
        "Labels are often wrong. We ask what that does.",
        "It matters, too.",
    ]
    assert found.sections[2].paragraphs == ["One thing.", "Another, naïve one."]
    assert found.sections[6].text == "Data. There are 24 samples."
    assert found.references == ("A. Byron. Notes. Memoirs, 1843.", "A. Turing. Machinery. 1950.")


def test_commands_are_expanded_and_references_are_numbers() -> None:
    results = read_latex(zipped()).sections[3]
    text = (
        "Accuracy falls from 90.1% to 55.4% (Table 1). See Figure 1 and Appendix A and Figure 1a, "
        "with about 5% or over 6% of (a, b). It was “clear” as in y = a/b ≤5 and (1)."
    )
    assert results.paragraphs == [text, 'x = {"a": 1}  # \\not{a command}']


def test_captions_and_cells() -> None:
    found = read_latex(tar_gz())
    assert [(c.label, c.kind, c.text) for c in found.captions] == [
        ("Table 1", "table", "Accuracy by share of wrong labels for NoiseNet."),
        ("Figure 1", "figure", "Accuracy lost for each number of neighbours."),
    ]
    (table,) = found.tables
    assert (table.label, table.header_rows) == ("Table 1", 2)
    assert table.rows == (
        ("Share", "Accuracy", ""),
        ("", "mean", "best"),
        ("0%", "90.1", "91.0"),
        ("40%", "55.4 ± 0.3", "60 & more"),
    )


def test_every_packing_gives_the_same_paper() -> None:
    one_file = MAIN.replace(r"\input{sections/intro}", INTRO).replace(r"\bibliography{refs}", BBL)
    several = read_latex(tar_gz()).pages
    assert read_latex(zipped()).pages == several
    assert read_latex(gzipped(one_file)).pages == several
    assert read_latex(one_file.encode()).pages == several


def test_the_main_file_is_told_from_the_others() -> None:
    assert main_file(FILES) == "paper/main.tex"
    others = {
        "response.tex": r"\documentclass{letter}\begin{document}Dear editor\end{document}",
        "part.tex": r"\documentclass[main]{subfiles}\begin{document}x\end{document}" + "y" * 9000,
        "ms.tex": r"\documentclass{article}\begin{document}\subfile{part}\end{document}",
        "old.tex": "% \\documentclass{article}\n" * 900,
    }
    assert main_file(others) == "ms.tex"
    assert main_file({"only.tex": "no class"}) == "only.tex"
    with pytest.raises(FiretrialError, match="documentclass"):
        main_file({"a.tex": "x", "b.tex": "y"})


def test_a_biber_bibliography_and_one_that_was_not_made() -> None:
    biber = r"\entry{a}{article}{}\name{author}{1}{}{{{family={Byron},given={Ada}}}}"
    biber += r"\field{title}{Notes}\field{year}{1843}\endentry"
    bib = (
        "@article{byron, author={Ada Byron and Alan Turing}, title = {Notes}, year=1843}\n@book{o, title={N}}"
    )
    text = r"\documentclass{a}\begin{document}Text \cite{byron}. \printbibliography\end{document}"
    assert read_latex(tar_gz({"m.tex": text, "m.bbl": biber})).references == ("Byron. Notes. 1843",)
    found = read_latex(tar_gz({"m.tex": text, "refs.bib": bib}))
    assert found.references == ("Ada Byron, Alan Turing. Notes. 1843",)


SOUP = r"""\section{A} \begin{table} \end{table} \caption{x} \begin{tabular}{l} a&b\\ { } $ \end{tabular}
\label{k} \ref{k} \frac % text \newcommand{\z}[1]{#1#1} \z [ \begin{figure} \begin{abstract} \bibitem{x} \' \\
\ \input{main} \begin{verbatim} \multicolumn{9}{c}{x} ] \hline \author{A""".split()  # noqa: SIM905 - legible


@given(st.lists(st.sampled_from(SOUP), max_size=40))
def test_any_tex_is_read_or_refused(parts: list[str]) -> None:
    with suppress(FiretrialError):
        found = read_latex("".join([*parts, "\n\n"]).encode())
        assert Document.from_json(found.to_json()) == found

"""A paper's LaTeX source in the form that arXiv hands out, made up, and ways to pack it."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping

MAIN = r"""
\documentclass{article} % a comment with \section{Nothing}
\usepackage[final]{neurips_2023}
\newcommand{\method}{\textsc{Noise\-Net}}
\newcommand{\pct}[2][about]{#1 #2\%}
\def\pair#1#2{(#1, #2)}
\title{A Small Study of \\ Noise in Labels}
\author{Ada Byron$^{1,2}$\thanks{Equal.} \And Alan Turing \\ University of Nowhere \\ \texttt{a@b.org}}
\begin{document}
\maketitle
\begin{abstract}
We study what wrong labels do to classifiers.
\end{abstract}
\input{sections/intro}
\section{Results}\label{sec:results}
\begin{table}[t]
\centering
\caption{Accuracy by share of wrong labels for \method{}.}
\label{tab:acc}
\begin{tabular}{l|cc}
\toprule
Share & \multicolumn{2}{c}{Accuracy} \\
\cmidrule(lr){2-3}
 & mean & \textbf{best} \\
\midrule
0\% & 90.1 & 91.0 \\
40\% & 55.4 {\small $\pm$ 0.3} & 60 \& more \\
\bottomrule
\end{tabular}
\end{table}

Accuracy falls from 90.1\% to 55.4\% (Table~\ref{tab:acc}). See \cref{fig:loss,sec:app} and
Figure~\ref{fig:left}, with \pct{5} or \pct[over]{6} of \pair{a}{b}.
It was ``clear''~\citep[see][]{byron}\footnote{Unseen remark.} as in
\begin{equation}\label{eq:one} y = \frac{a}{b} \leq 5 \end{equation}
and \eqref{eq:one}.

\begin{figure*}
\begin{subfigure}{0.5\textwidth}\includegraphics[width=1cm]{x.png}\caption{left}\label{fig:left}\end{subfigure}
\caption[short]{Accuracy lost for each number of neighbours.\label{fig:loss}}
\end{figure*}
\iffalse \section{Hidden} \fi
\begin{verbatim}
x = {"a": 1}  # \not{a command}
\end{verbatim}
\bibliography{refs}
\appendix
\section{Details}\label{sec:app}
\subsection{More}
\paragraph{Data.} There are 24 samples.
\end{document}
\section{After the end}
"""
INTRO = r"""\section{Introduction}
Labels are often wrong.\footnote{By 5\%.} We ask what that does.

It matters, too.
\subsection*{Scope}
\begin{itemize}[leftmargin=*]
\item One thing.
\item Another, naïve one.
\end{itemize}
"""
BBL = r"""\begin{thebibliography}{1}
\bibitem[Byron(1843)]{byron}
A.~Byron.
\newblock Notes.
\newblock \emph{Memoirs}, 1843.

\bibitem{turing} A. Turing. Machinery. 1950.
\end{thebibliography}
"""
FILES = {
    "paper/main.tex": MAIN,
    "paper/sections/intro.tex": INTRO,
    "paper/main.bbl": BBL,
    "paper/x.png": "\x89PNG",
}


def tar_gz(files: Mapping[str, str | bytes] = FILES) -> bytes:
    """The files as .tar.gz."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            data = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def zipped(files: Mapping[str, str | bytes] = FILES) -> bytes:
    """The files as .zip."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def gzipped(text: str) -> bytes:
    """One file as .gz, as arXiv hands out papers of one file."""
    return gzip.compress(text.encode())

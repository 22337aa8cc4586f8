"""LaTeX is read as its reader sees it."""

from __future__ import annotations

import pytest

from cairn.domain.document import LoadedDocument, Source
from cairn.errors import ParserLimitError
from cairn.ingest.loaders import load, sniff, stated_metadata
from cairn.ingest.parse import parse
from cairn.settings import IngestSettings

LIMITS = IngestSettings()
PAPER = r"""
\documentclass[11pt]{article} % a comment
\usepackage{booktabs}
\newcommand{\ours}{TrailNet\xspace}
\newtheorem{thm}{Theorem}
\title{Finding \emph{Cairns}\thanks{Funded by nobody.}}
\author{Jane Doe \and José García}
\begin{document}
\maketitle
\begin{abstract}\ours finds 95\,\% of all cairns.\end{abstract}
\section{Introduction}\label{sec:intro}
Stones --- ``cairns'' --- mark trails~\cite[p.~5]{knuth84,lamport}. % hidden

See Section~\ref{sec:method} and Table~\ref{tab:r}.\footnote{Or do not.} It costs \$5 \& more; $E = mc^2$.
\subsection{Method}\label{sec:method}
\begin{equation}\label{eq:a} a = \frac{1}{2} \end{equation}
\begin{thm}[Doe] All \textbf{cairns} are heaps. \end{thm}
\begin{itemize}
  \item first \item second
  \begin{enumerate}\item inner \end{enumerate}
\end{itemize}
\begin{description}\item[Heap] a pile\end{description}
\begin{lstlisting}[language=Python,caption={x}]
print("100 %")  # kept
\end{lstlisting}
\begin{table}[ht]\centering\caption{Results}\label{tab:r}
\begin{tabular}{l|rr} \toprule
 & \multicolumn{2}{c}{Share} \\ \cmidrule(lr){2-3}
Trail & 2022 & 2021 \\ \midrule
North & 12 & 11 \\ South & 9 & 8 \\ \bottomrule
\end{tabular}\end{table}
\begin{tikzpicture}\draw (0,0) -- (1,1);\end{tikzpicture}
\includegraphics[width=3cm]{stone.png}
\unknown{what is said} of \url{https://x.org/a_b}, \href{https://y.org}{there}, \verb|a_b| and \texttt{cairn}.
\begin{thebibliography}{9}\bibitem{knuth84} Knuth, The \TeX book.\end{thebibliography}
\end{document}
"""
READ = """\
# Finding Cairns

Jane Doe, José García

**Abstract**

TrailNet finds 95 % of all cairns.

## Introduction

Stones — “cairns” — mark trails [knuth84, lamport, p. 5].

See Section “Method” and Table “Results”. (Or do not.) It costs $5 & more; $E = mc^2$.

### Method

$$ a = \\frac{1}{2} $$

**Theorem (Doe)**

All cairns are heaps.

- first
- second
  1. inner
- **Heap** a pile

```python
print("100 %")  # kept
```

Results

| Trail | Share / 2022 | Share / 2021 |
| --- | --- | --- |
| North | 12 | 11 |
| South | 9 | 8 |

what is said of https://x.org/a_b, [there](https://y.org), `a_b` and `cairn`.

- [knuth84] Knuth, The TeXbook."""


def read(text: str, name: str = "paper.tex") -> LoadedDocument:
    content = text.encode()
    return load(content, sniff(name, content), LIMITS)


def test_a_paper_is_what_its_reader_sees() -> None:
    document = read(PAPER)
    assert (document.title, document.media_type, document.markup) == ("Finding Cairns", "application/x-tex", "markdown")
    assert document.text.strip() == READ


def test_its_author_is_metadata() -> None:
    assert stated_metadata(Source("a.tex", "a.tex", PAPER.encode())) == {"author": "Jane Doe, José García"}


async def test_it_is_read_in_a_process_of_its_own() -> None:
    document = await parse(Source("paper.tex", "paper.tex", PAPER.encode()), LIMITS)
    assert (document.text.strip(), document.title) == (READ, "Finding Cairns")


def test_a_chapter_has_no_preamble_and_a_package_stays_code() -> None:
    assert read("\\chapter{One}\nText.\n\\section{Two}\nMore.\n").text.strip() == "# One\n\nText.\n\n## Two\n\nMore."
    package = read("\\ProvidesPackage{stone}\n\\def\\heap{x}\n", "stone.sty")
    assert (package.markup, package.code_language) == ("code", "latex")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\\'etat, na\\\"{\\i}ve, \\ss{}, \\alpha{} \\ldots", "état, naïve, ß, α …"),
        ("\\newcommand{\\a}{\\b}\\newcommand{\\b}{\\a}x \\a y", "x y"),
        ("a \\ref{nowhere} b", "a (nowhere) b"),
        ("\\section{\\ref{s}}\\label{s} text", "# “(s)” text"),
        ("\\begin{verbatim}\nnever ends", "``` never ends ```"),
        ("a } b \\end{itemize} c", "a b c"),
        ("\\#1 \\_ \\{x\\}", "#1 _ {x}"),
    ],
)
def test_small_things_and_broken_ones(text: str, expected: str) -> None:
    assert " ".join(read(text).text.split()) == " ".join(expected.split())


def test_macros_that_grow_without_end_stand_for_nothing() -> None:
    lines = ["\\newcommand{\\za}{stones stones stones}"]
    lines += [f"\\newcommand{{\\z{b}}}{{\\z{a}\\z{a}}}" for a, b in zip("abcdefghijkl", "bcdefghijklm", strict=True)]
    assert len(read("\n".join([*lines, "text \\zm end"])).text) < 1000


def test_what_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(ParserLimitError):
        read("{" * 5000 + "x" + "}" * 5000)

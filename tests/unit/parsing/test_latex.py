"""LaTeX: its words as they are printed, whatever pandoc knows of its commands."""

from __future__ import annotations

import pytest

from ingestion.domain import Block

from .conftest import Parse
from .shorthand import code, define, h, li, p, table

CASES: dict[str, tuple[str, list[Block]]] = {
    "accents": (
        r"\section{Fran\c{c}ois} Erd\H{o}s, M\"uller, \'Etude, Stra\ss e, na\"{\i}ve --- ``yes''",
        [h(1, "François"), p("Erdős, Müller, Étude, Straße, naïve — “yes”")],
    ),
    "comments": ("One % not\n% not at all\nword at 50\\,\\%.", [p("One word at 50\u2006%.")]),
    "own commands": ("\\newcommand{\\pump}{HL-200}\nThe \\pump{} runs.", [p("The HL-200 runs.")]),
    "unknown commands": (
        r"It \must[now]{hold} 5 t\label{x}, costs \EUR{50}, see \eqref{x}.",
        [p("It hold 5 t, costs 50 €, see .")],
    ),
    "signs that are commands": (
        r"48,50~\texteuro, 5\,k\textohm, 20\textcelsius{} \textpm 2, \textnumero 7, \textxy{Name}.",
        [p("48,50\u00a0€, 5\u2006kΩ, 20°C ± 2, № 7, Name.")],
    ),
    "unknown environments": (
        "\\begin{theorem}[Main]\nBeams \\emph{balance}.\n\\begin{mybox}{Why}\nIt weighs.\n"
        "\\end{mybox}\n\\end{theorem}",
        [p("Main"), p("Beams balance."), p("Why"), p("It weighs.")],
    ),
    "formulas": (
        r"$x^2 \leq \alpha_{12}$, CO$_2$, $10^{-6}\,\mathrm{bar}$"
        "\n\n\\begin{align}a &= b \\\\ c &= \\frac{d}{e}\\end{align}",
        [p("x² ≤ α₁₂, CO₂, 10⁻⁶\\,bar"), p("a = b c = \\frac{d}{e}")],
    ),
    "lists": (
        "\\begin{enumerate}\\item One\\item Two\\end{enumerate}"
        "\\begin{description}\\item[Term] Meaning.\\end{description}",
        [li(0, "1. One"), li(0, "2. Two"), *define("Term", li(0, "Term: Meaning."))],
    ),
    "table": (
        "\\begin{tabular}{ll}\\hline A & B \\\\ \\hline 1 & 2 \\\\ \\end{tabular}",
        [table(("A", "B"), ("1", "2"))],
    ),
    "code": (
        "\\begin{verbatim}\n% kept\n\\end{verbatim}\n"
        "\\begin{tikzpicture}\\node {Pump};\\end{tikzpicture}",
        [code("% kept"), code("\\begin{tikzpicture}\\node {Pump};\\end{tikzpicture}")],
    ),
    "a package": ("\\ProvidesPackage{a}\n% Kept.", [code("\\ProvidesPackage{a}\n% Kept.")]),
}


@pytest.mark.parametrize("case", CASES)
def test_latex(parse: Parse, case: str) -> None:
    source, blocks = CASES[case]
    assert list(parse(source, "a.tex").blocks) == blocks


def test_the_preamble_is_metadata(parse: Parse) -> None:
    document = parse(
        "\\documentclass{article}\\usepackage{amsmath}\n\\title{On \\emph{Beams}}\n"
        '\\author{Ada M\\"uller\\\\ Oslo \\and Paul Erd\\H{o}s}\\date{May 2024}\n'
        "\\begin{document}\\maketitle\\begin{abstract}We weigh.\\end{abstract}\n"
        "Text.\\end{document}",
        "a.tex",
    )
    authors = "Ada Müller Oslo, Paul Erdős"
    stated = [p("We weigh."), li(0, f"author: {authors}"), li(0, "date: May 2024")]
    assert list(document.blocks) == [*stated, p("Text.")]
    assert (document.title, document.author) == ("On Beams", authors)


@pytest.mark.parametrize(
    ("own", "words"), [("", "Read on ."), (r"\renewcommand{\today}{1 May}", "Read on 1 May.")]
)
def test_the_day_of_reading_is_no_text(parse: Parse, own: str, words: str) -> None:
    body = r"\date{\today}\begin{document}\maketitle Read on \today.\end{document}"
    document = parse(rf"\documentclass{{article}}{own}{body}", "a.tex")
    assert document.blocks[-1].text == words
    assert not any("1970" in block.text for block in document.blocks)


def test_what_is_no_latex_is_kept_as_it_is(parse: Parse) -> None:
    text = "\\section{One}\nText \\begin{x} {unclosed"
    document = parse(text, "a.tex")
    assert "\n".join(block.text for block in document.blocks if block.kind == "code") == text
    assert "no valid LaTeX" in document.warnings[0]

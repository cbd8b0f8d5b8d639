"""LaTeX -> Blocks, by pandoc: accents and commands are text, comments are left out.

What pandoc does not know stays raw in its tree. The names of such environments are taken out of the
source, which is read again, so that the text in them is read; of other commands the arguments stay.
Packages and classes, which contain no text, and what pandoc refuses are read as source code.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from ingestion.domain import Block, BlockKind
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.markup import (
    PandocUnreadable,
    Tree,
    is_too_deep,
    note_includes,
    read_tree,
    with_front_matter,
)
from ingestion.parsing.formats.pandoc_tree import Node, TreeReader
from ingestion.parsing.formats.source_code import source_blocks
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Extraction, Source

_READER = "latex+raw_tex"
_CODE = re.compile(r"^[^%\n]*\\(?:ProvidesPackage|ProvidesClass|NeedsTeXFormat)\b", re.MULTILINE)
MOST_RUNS = 4
"""Of pandoc, for environments in environments that it does not know. A guess."""
_ENVIRONMENT = re.compile(r"\\begin\{([^{}]+)\}")
# Drawings: nothing but commands, kept as they are written.
_DRAWINGS = frozenset({"tikzpicture", "pgfpicture", "circuitikz", "forest", "asy", "picture"})
_INCLUDE = re.compile(r"\\(?:input|include|subfile|import)\*?\s*\{([^{}]*)\}")
# Commands whose arguments are names, files and measures.
_SILENT = re.compile(
    r"\\(?:label|(?:eq|page|auto|name|c|C|v|v)?ref|[a-zA-Z]*cite[a-zA-Z]*|input|include|subfile|import"
    r"|includegraphics|includepdf|bibliography(?:style)?|printbibliography|(?:this)?pagestyle"
    r"|[vh]space|vskip|hskip|setlength|addtolength|setcounter|addtocounter|hypersetup|usetheme"
    r"|(?:use|begin|end)|color|definecolor|graphicspath|newtheorem|theoremstyle|index|lstset"
    r"|bibitem|input[a-z]+|rule|multirow|cline|cmidrule|setkeys|tikzset|pgfplotsset|DeclareMathOperator)"
    r"\*?(?![a-zA-Z])(?:\s*(?:\[[^\[\]]*\]|\{[^{}]*\}))*"
)
_EURO = re.compile(r"\\(?:EUR|eur|SIeuro)\s*\{([^{}]*)\}")
_OPTIONS = re.compile(r"(\\[a-zA-Z@]+\*?)\s*\[[^\[\]]*\]")
_COMMAND = re.compile(r"\\[a-zA-Z@]+\*?|\\.|[{}$&~]")
_RAISED = re.compile(r"([\^_])(?:\{([0-9+\-=()n]+)\}|([0-9]))")
_WORDS_IN_MATH = re.compile(r"\\(?:text|mathrm|mathit|mathbf|textrm|operatorname)\s*\{([^{}]*)\}")
_SIGN = re.compile(r"\\([A-Za-z]+)")
_ROWS = re.compile(r"\\(?:begin|end)\{[a-z]+\*?\}\s*|\\\\|(?<!\\)&|\\(?:no)?(?:number|tag)\b")
_SIGNS = {
    "times": "×", "cdot": "·", "pm": "±", "mp": "∓", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥",
    "neq": "≠", "ne": "≠", "approx": "≈", "infty": "∞", "to": "→", "rightarrow": "→", "gets": "←",
    "circ": "°", "degree": "°", "div": "÷", "sim": "∼", "quad": " ", "ldots": "…",
    "dots": "…", "euro": "€", "ohm": "Ω", "perthousand": "‰", "celsius": "°C", "micro": "µ",
    "numero": "№", "cent": "¢", "checkmark": "✓",
}  # fmt: skip
_DOTLESS = re.compile(r"ı(?=[\u0300-\u036f])")


class LatexParser:
    """Sections, lists, tables, notes and formulas; title and author from the preamble."""

    name = "pandoc-latex"

    def extract(self, source: Source) -> Extraction:
        text = decode(source.path.read_bytes())
        if _CODE.search(text) or is_too_deep(text):
            return Extraction(source_blocks(text, "tex"))
        try:
            # The day of reading is no text; pandoc would write 1970-01-01 in its sandbox.
            tree = _tree(rf"\newcommand{{\today}}{{}}{text}", source.limits)
        except PandocUnreadable as error:
            warning = f"Read as source code, because it is no valid LaTeX: {error}"
            return Extraction(source_blocks(text, "tex"), warnings=[warning])
        result = with_front_matter(tree, LatexReader())
        note_includes(result, [name for raw in _raw(tree.blocks) for name in _INCLUDE.findall(raw)])
        return result


def _tree(text: str, limits: ParseLimits) -> Tree:
    """The syntax tree; environments that pandoc does not know are paragraphs in it."""
    tree = read_tree(text, _READER, limits)
    for _ in range(MOST_RUNS - 1):
        unknown = {
            name
            for raw in _raw(tree.blocks)
            for name in _ENVIRONMENT.findall(raw)[:1]
            if raw.lstrip().startswith("\\begin") and name not in _DRAWINGS
        }
        if not unknown:
            break
        names = "|".join(re.escape(name) for name in sorted(unknown))
        # Behind it a title; a number is a measure.
        title = r"(?:\[([^\[\]\n]*)\]|\{\d*\}|\{([^{}\n]*)\})?"
        begin = rf"\\begin\{{(?:{names})\}}{title}"
        text = re.sub(begin, lambda each: f"\n\n{each[1] or each[2] or ''}\n\n", text)
        text = re.sub(rf"\\end\{{(?:{names})\}}", "\n\n", text)
        tree = read_tree(text, _READER, limits)
    return tree


def _raw(nodes: Any) -> Iterator[str]:
    """The raw LaTeX in a tree, in order."""
    if isinstance(nodes, list):
        for node in nodes:
            yield from _raw(node)
    elif isinstance(nodes, dict):
        if nodes.get("t") in ("RawBlock", "RawInline"):
            yield nodes["c"][1]
        else:
            yield from _raw(nodes.get("c"))


class LatexReader(TreeReader):
    """Reads formulas as far as they are plain text, and the arguments of unknown commands."""

    def _block_rawblock(self, content: Any, depth: int) -> Iterator[Block]:
        _, raw = content
        name = _ENVIRONMENT.match(raw.lstrip())
        if name and name[1] in _DRAWINGS:
            yield Block(BlockKind.CODE, raw)
        else:
            yield Block(BlockKind.PARAGRAPH, _arguments(raw))

    def _inline(self, node: Node) -> str:
        # pandoc puts the accent of \"{\i} on the letter without a dot.
        text = _DOTLESS.sub("i", super()._inline(node))
        return unicodedata.normalize("NFC", text)

    def _leaf(self, kind: str, content: Any) -> str:
        if kind == "RawInline":
            return _arguments(content[1])
        if kind == "Math":
            return self._formula(str(content[1]))
        return super()._leaf(kind, content)

    def _formula(self, source: str) -> str:
        """The formula with its words, signs, and raised and lowered digits as plain text."""

        def raised(match: re.Match[str]) -> str:
            kind = "Superscript" if match[1] == "^" else "Subscript"
            return self.text([{"t": kind, "c": [{"t": "Str", "c": match[2] or match[3]}]}])

        text = _SIGN.sub(_sign, _WORDS_IN_MATH.sub(r"\1", source))
        return " ".join(_RAISED.sub(raised, _ROWS.sub(" ", text)).split())


def _sign(match: re.Match[str]) -> str:
    """A named sign or Greek letter; other commands stay."""
    name = match[1].removeprefix("text")
    case = "CAPITAL" if name[:1].isupper() else "SMALL"
    try:
        letter = unicodedata.lookup(f"GREEK {case} LETTER {name.removeprefix('var').upper()}")
    except KeyError:
        letter = _SIGNS.get(name, "")
    return letter or match[0]


def _arguments(raw: str) -> str:
    """The text of a command that pandoc does not know: its arguments, without files and names."""
    text = _SIGN.sub(_sign, _SILENT.sub(" ", _EURO.sub(r"\1 €", raw)))
    text = _COMMAND.sub(" ", _OPTIONS.sub(r"\1", text))
    return " ".join(text.split())


PARSER = LatexParser()

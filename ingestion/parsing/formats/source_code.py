"""Source code and configuration -> declarations as headings, the code between them unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingestion.domain import Block, BlockKind
from ingestion.files.filetypes import FAMILIES
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.protocol import Extraction, Source

LONGEST_LINE = 400
"""Longer lines are minified code or data and are ignored. A guess."""

_CONTAINERS = frozenset(
    {
        *("class", "interface", "@interface", "enum", "record", "struct", "union", "trait"),
        *("namespace", "module", "mod", "object", "protocol", "extension", "impl", "actor"),
    }
)
_MODIFIERS = (
    "public|private|protected|internal|static|final|abstract|sealed|partial|readonly|virtual|"
    "override|async|synchronized|native|default|extern|unsafe|new|open|data|inner|inline|suspend|"
    "fileprivate|mutating|lazy|implicit|case|operator|indirect|convenience|required|tailrec|"
    "export|declare|strictfp|non-sealed|value|annotation|companion"
)
_NO_NAME = (
    r"(?!(?:if|for|foreach|while|switch|catch|do|else|return|throw|new|case|await|yield|using|lock|"
    r"assert|function|delete|goto|sizeof|typeof|try|with|super|this|fixed|elif|define|static_assert"
    r")\b)"
)
_MODS = rf"(?:(?:{_MODIFIERS})\s+)*"

_FAMILIES: dict[str, tuple[str, ...]] = {
    "python": (r"(?P<kind>class|def|async\s+def)\s+(?P<name>\w+)",),
    "script": (
        _MODS + r"(?P<kind>class|interface|enum|namespace|function\*?|type)\s+(?P<name>[\w$]+)",
        r"(?:export\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*(?::[^=]+)?=\s*(?:async\s+)?"
        r"(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|[\w$]+\s*=>)",
        _MODS + r"(?:[gs]et\s+)?\*?" + _NO_NAME + r"(?P<name>[\w$#]+)\s*\([^;]*\{\s*$",
    ),
    "java": (
        _MODS + r"(?P<kind>class|@?interface|enum|record|struct|namespace)\s+(?P<name>[\w.]+)",
        _NO_NAME
        + r"(?:<[^>]*>\s+)?(?:[\w<>\[\],.?&]+\s+)*"
        + _NO_NAME
        # The lookahead excludes a field's initialiser and an abstract method.
        + r"(?P<name>\w+)\s*(?:<[^>]*>)?\((?!.*;\s*$)",
    ),
    "c": (
        r"(?:template\s*<.*>\s*)?(?:typedef\s+)?(?P<kind>class|struct|union|enum(?:\s+class)?|"
        r"namespace)\s+(?P<name>[\w:]+)(?!.*[;()]\s*$)(?=[^(=]*$)",
        _NO_NAME
        + r"(?:[\w:<>,~*&]+\s+)*[*&]*"
        + _NO_NAME
        + r"(?P<name>[A-Za-z_~][\w:~]*)\s*\((?!.*;\s*$)",
    ),
    "go": (
        r"(?P<kind>func(?:\s*\([^)]*\))?)\s+(?P<name>\w+)",
        r"(?P<kind>type)\s+(?P<name>\w+)(?:\[[^\]]*\])?\s+(?:struct|interface)\b",
    ),
    "rust": (
        r"(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|unsafe|const|default|extern(?:\s+\"[^\"]*\")?)\s+)*"
        r"(?P<kind>fn|struct|enum|trait|union|mod|macro_rules!)\s+(?P<name>\w+)",
        r"(?:unsafe\s+)?(?P<kind>impl)(?:<[^{]*?>)?\s+(?P<name>[^{]+?)\s*(?:\{|where\b|$)",
    ),
    "ruby": (r"(?P<kind>class|module|def)\s+(?P<name>[\w:.]+[?!=]?)",),
    "php": (_MODS + r"(?P<kind>class|interface|trait|enum|function)\s+&?(?P<name>\w+)",),
    "shell": (r"(?P<kind>function)\s+(?P<name>[\w:.-]+)", r"(?P<name>[\w:.-]+)\s*\(\s*\)"),
    "sql": (
        r"create\s+(?:or\s+replace\s+)?(?:(?:temp|temporary|unlogged|unique|materialized|global|"
        r"local|recursive|external|virtual|constraint)\s+)*(?P<kind>table|view|function|procedure|"
        r"trigger|index|type|schema|sequence|domain|extension)\s+(?:concurrently\s+)?"
        r"(?:if\s+not\s+exists\s+)?(?P<name>[\w.\"`\[\]]+)",
    ),
    "modern": (
        rf"(?:@\w+\s+)*{_MODS}(?P<kind>class|interface|object|enum|struct|protocol|extension|trait|"
        r"actor|fun|func|def)\s+(?:<[^>]*>\s*)?(?P<name>[\w.`]+)",
    ),
    "lua": (
        r"(?:local\s+)?(?P<kind>function)\s+(?P<name>[\w.:]+)",
        r"(?:local\s+)?(?P<name>[\w.]+)\s*=\s*function\b",
    ),
    "perl": (r"(?P<kind>sub|package)\s+(?P<name>[\w:]+)",),
    "r": (r"(?P<name>[\w.]+)\s*(?:<-|=)\s*function\b",),
    "haskell": (
        r"(?P<kind>module|data|newtype|class|instance|type(?:\s+alias|\s+family)?)\s+"
        r"(?P<name>[A-Z(][^={]*?)\s*(?:=.*|\bwhere\b.*|\bexposing\b.*|\{.*|\(.*)?$",
        r"(?P<name>[a-z_][\w']*(?:\s*,\s*[a-z_][\w']*)*)\s*::",
    ),
    "ml": (
        r"(?P<kind>module(?:\s+type)?|type|exception|class|namespace)\s+(?:rec\s+)?(?:'\w+\s+)?"
        r"(?P<name>[\w.']+)",
        r"(?P<kind>let)\s+(?:rec\s+|inline\s+|private\s+)*(?P<name>[a-z_][\w']*)\s+[\w('~?]",
    ),
    "erlang": (r"(?P<name>[a-z]\w*)\s*\([^)]*\)\s*(?:when\b.*)?->",),
    "elixir": (r"(?P<kind>defmodule|defprotocol|defimpl|defmacrop?|defp?)\s+(?P<name>[\w.!?]+)",),
    "lisp": (
        r"\((?P<kind>defn-?|defun|defmacro|defmethod|defgeneric|defclass|defstruct|defprotocol|"
        r"defrecord|deftype|define(?:-\w+)?)\s+\(?(?P<name>[^\s()]+)",
    ),
    "julia": (
        r"(?P<kind>function|macro|(?:mutable\s+)?struct|abstract\s+type|module)\s+(?P<name>[\w.!]+)",
    ),
    "nim": (r"(?P<kind>proc|func|method|iterator|template|macro)\s+(?P<name>\w+)",),
    "fortran": (
        r"(?:(?:pure|elemental|recursive|impure|integer|real|logical|character)\b(?:\([^)]*\))?\s+)*"
        r"(?P<kind>program|module(?!\s+procedure)|submodule|subroutine|function)\s+(?P<name>\w+)",
    ),
    "pascal": (
        r"(?P<kind>program|unit|procedure|function|constructor|destructor)\s+(?P<name>[\w.]+)",
    ),
    "basic": (
        r"(?:(?:public|private|friend|protected|shared|static|overrides|overridable|partial)\s+)*"
        r"(?P<kind>sub|function|class|module|structure|interface|property(?:\s+(?:get|let|set))?)\s+"
        r"(?P<name>\w+)",
    ),
    "proto": (
        r"(?:extend\s+)?(?P<kind>message|service|enum|rpc|type|interface|input|union|scalar|query|"
        r"mutation|fragment|directive)\s+@?(?P<name>[\w.]+)",
    ),
    "terraform": (
        r"(?P<kind>resource|data|module|variable|output|provider|locals)\s+(?P<name>\"[^{]*?\")"
        r"\s*\{",
    ),
    "tex": (
        r"\\(?:part|chapter|section|subsection|subsubsection)\*?(?:\[[^\]]*\])?\{(?P<name>[^}]+)\}",
    ),
    "none": (),
    "yaml": (r"(?P<name>[\w./\"'-]+)\s*:\s*(?:#.*)?$",),
    "sections": (r"\[{1,2}\s*(?P<name>[\w.\-\"': /@*]+?)\s*\]{1,2}\s*(?:[#;].*)?$",),
}
# Closed on the same line, or a forward declaration: there is no body for a heading.
_ENDED_BY_SEMICOLON = frozenset({"script", "java", "c", "rust", "php"})
_ANY_CASE = frozenset({"sql", "fortran", "pascal", "basic"})
_PATTERNS = {
    family: tuple(re.compile(one, re.IGNORECASE if family in _ANY_CASE else 0) for one in patterns)
    for family, patterns in _FAMILIES.items()
}
# Not 1: a file with one class must not get that class's name as its title.
_TOP_LEVEL = 2
_DEEPEST_LEVEL = 4
_LEADING_LINES = 60
"""Lines above a declaration in which its comments and decorators may begin. A guess."""
_LEADING = re.compile(r"\s*(?:#(?!include|define|if|end|else)|//|/\*|\*|@|--|\[\w|template\s*<)")
_TRIPLE_QUOTE = re.compile(r'"""|\'\'\'')


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration; `indent` in columns, `is_container` if members nest in it."""

    heading: str
    indent: int
    is_container: bool


def declaration(line: str, family: str) -> Declaration | None:
    """The declaration that begins on `line`, or None.

    By one-line patterns of the language family, not by a grammar: a missed declaration leaves its
    code in the previous block, a false one adds a heading. No line of code is lost by either.
    """
    stripped = line.strip()
    if not stripped or len(line) > LONGEST_LINE:
        return None
    if family in _ENDED_BY_SEMICOLON and stripped.endswith(";") and "=>" not in stripped:
        return None
    for pattern in _PATTERNS[family]:
        if match := pattern.match(stripped):
            kind = " ".join((match.groupdict().get("kind") or "").split())
            kind = kind.lower() if family in _ANY_CASE else kind
            name = match["name"].strip("\"'`")
            expanded = line.expandtabs(4)
            indent = len(expanded) - len(expanded.lstrip())
            contains = family == "yaml" or (kind.split() or [""])[0] in _CONTAINERS
            return Declaration(f"{kind} {name}".strip(), indent, contains)
    return None


class SourceCodeParser:
    """One heading per class, function, table or section, then its lines in one code block."""

    name = "source-code"

    def extract(self, source: Source) -> Extraction:
        text = decode(source.path.read_bytes())
        return Extraction(source_blocks(text, FAMILIES[source.file_type.media_type]))


def source_blocks(text: str, family: str) -> Iterator[Block]:
    """Headings and code; together the code blocks contain every line of `text` in order."""
    lines = text.split("\n")
    start = 0
    for number, level, heading in _headings(lines, family):
        first = _first_leading_line(lines, number, start)
        if first > start:
            yield Block(BlockKind.CODE, "\n".join(lines[start:first]))
        yield Block(BlockKind.HEADING, heading, level=level)
        start = first
    yield Block(BlockKind.CODE, "\n".join(lines[start:]))


def _headings(lines: Sequence[str], family: str) -> Iterator[tuple[int, int, str]]:
    """(line, level, heading) of each declaration directly in the file or in a container.

    Declarations inside functions are indented deeper than their neighbours, and left out.
    """
    containers: list[int] = []
    members = [0]
    for number, line in _code_lines(lines, family):
        heading = declaration(line, family)
        if heading is None:
            continue
        while containers and heading.indent <= containers[-1]:
            containers.pop()
            members.pop()
        if members[-1] < 0:
            members[-1] = heading.indent
        level = _TOP_LEVEL + len(containers)
        if heading.indent > members[-1] or level > _DEEPEST_LEVEL:
            continue
        yield number, level, heading.heading
        if heading.is_container:
            containers.append(heading.indent)
            members.append(-1)


def _code_lines(lines: Sequence[str], family: str) -> Iterator[tuple[int, str]]:
    """The numbered lines outside long strings and block comments."""
    closing = ""
    for number, line in enumerate(lines):
        if closing:
            closing = "" if closing in line else closing
            continue
        if family == "python":
            marks = _TRIPLE_QUOTE.findall(line)
            closing = marks[0] if len(marks) % 2 else ""
        # Only at its start: "/*" occurs in globs and in strings as well.
        elif line[:LONGEST_LINE].lstrip().startswith("/*"):
            closing = "" if "*/" in line else "*/"
            continue
        yield number, line


def _first_leading_line(lines: Sequence[str], number: int, start: int) -> int:
    """The first of the comment and decorator lines right above line `number`."""
    first = number
    while first > max(start, number - _LEADING_LINES) and _LEADING.match(lines[first - 1]):
        first -= 1
    return first


PARSER = SourceCodeParser()

"""A line of source code -> the class, function or section it declares, by family of languages.

Patterns of one line, not grammars: a declaration that is missed leaves its code in the block
before it, and one that is mistaken adds a heading. No line of code is lost by either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST_LINE = 400
"""Longer lines are minified code or data and are not looked at. A guess."""

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
        # Without the lookahead a field's initialiser or an abstract method would be taken.
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
    "shell": (
        r"(?P<kind>function)\s+(?P<name>[\w:.-]+)",
        r"(?P<name>[\w:.-]+)\s*\(\s*\)",
    ),
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
# Closed in its own line, or only announced: no body follows that a heading could stand over.
_ENDED_BY_SEMICOLON = frozenset({"script", "java", "c", "rust", "php"})
_ANY_CASE = frozenset({"sql", "fortran", "pascal", "basic"})
_PATTERNS = {
    family: tuple(re.compile(one, re.IGNORECASE if family in _ANY_CASE else 0) for one in patterns)
    for family, patterns in _FAMILIES.items()
}


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a line declares; `indent` in columns, `is_container` where members nest in it."""

    heading: str
    indent: int
    is_container: bool


def declaration(line: str, family: str) -> Declaration | None:
    """The declaration that begins on `line`, or None."""
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

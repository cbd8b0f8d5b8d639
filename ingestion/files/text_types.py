"""Types of text files: tests for text and reStructuredText, and source code languages."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_CONTROL_BYTES = bytes(set(range(0x20)) - set(b"\t\n\r\x0c\x1b")) + b"\x7f"

# Fewer characters are no evidence: any few bytes are letters of some script. A guess.
_FEWEST_LEGIBLE = 4
_ASCII = re.compile(r"[\t\n\r -~]")

HTML_START = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_RST_TITLE = re.compile(r"^(?=\S)[^\n]+\n([=\-~^\"'#*+`])\1{3,}[ \t]*$", re.MULTILINE)
_RST_TOP_TITLE = re.compile(r"\s*([=#*~^\"-])\1{3,}[ \t]*\n[^\n]*\S[^\n]*\n\1{4,}[ \t]*\n")
_RST_MARKUP = re.compile(
    r"^[ \t]*\.\. (?:[\w:-]+::|_[^\n]+:)|(?<![\w`]):[a-z][\w:-]*:`[^`\n]", re.MULTILINE
)


def looks_like_rst(text: str) -> bool:
    """True if the content of a plain text file is reStructuredText."""
    text = text.replace("\r\n", "\n")
    # Only reStructuredText has titles with a line above as well.
    return bool(
        _RST_TOP_TITLE.match(text) or (_RST_TITLE.search(text) and _RST_MARKUP.search(text))
    )


def looks_like_text(head: bytes) -> bool:
    """True if the bytes are text in some encoding, with or without a byte order mark."""
    if head.startswith(_BOMS):
        return True
    controls = len(head) - len(head.translate(None, _CONTROL_BYTES))
    if controls == 0 or unmarked_codec(head):
        return True
    try:
        # Up to three bytes of the last character may be cut off.
        head[: max(len(head) - 3, 1)].decode("utf-8")
    except UnicodeDecodeError:
        # Random data has 11% control bytes, text in a legacy encoding none: 2% is a guess.
        return controls < 0.02 * len(head)
    return controls < 0.3 * len(head)


def unmarked_codec(head: bytes) -> str:
    """The codec of UTF-16 or UTF-32 without a byte order mark; empty for any other bytes."""
    if b"\x00" not in head:
        return ""
    for codec in ("utf-32-le", "utf-32-be"):
        if _legible(head, codec) is not None:
            return codec
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if half >= 4 and even >= 0.6 * half and odd <= 0.05 * half:
        return "utf-16-be"
    if half >= 4 and odd >= 0.6 * half and even <= 0.05 * half:
        return "utf-16-le"
    return _unmarked_utf16(head)


def _unmarked_utf16(head: bytes) -> str:
    """The codec of UTF-16 in non-Latin scripts, where only spaces and line ends contain NULs.

    The wrong byte order turns those into other characters, mostly unassigned.
    """
    if _is_text_with_nuls(head):
        return ""
    read = {
        codec: text
        for codec in ("utf-16-le", "utf-16-be")
        if (text := _legible(head, codec)) is not None
    }
    return max(read, key=lambda codec: len(_ASCII.findall(read[codec])), default="")


def _is_text_with_nuls(head: bytes) -> bool:
    """True if the bytes are UTF-8 with no control characters except NULs."""
    try:
        head[: max(len(head) - 3, 1)].decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(head.translate(None, _CONTROL_BYTES)) == len(head) - head.count(0)


def _legible(head: bytes, codec: str) -> str | None:
    """The text decoded with this codec; None if it is too short or not plausible text."""
    try:
        # The last character may be cut off.
        text = codecs.getincrementaldecoder(codec)().decode(head)
    except UnicodeDecodeError:
        return None
    letters = "".join(text.split())
    strange = sum(not char.isprintable() for char in letters)
    is_text = len(letters) >= _FEWEST_LEGIBLE and "\x00" not in letters
    return text if is_text and strange <= 0.02 * len(letters) else None


@dataclass(frozen=True, slots=True)
class SourceLanguage:
    """One language. `family` selects the syntax of the declarations at which files are split."""

    media_type: str
    label: str
    family: str
    extensions: tuple[str, ...]


LANGUAGES = tuple(
    SourceLanguage(media_type, label, family, tuple(extensions.split()))
    for media_type, label, family, extensions in (
        ("text/x-python", "Python source", "python", ".py .pyi"),
        ("text/javascript", "JavaScript source", "script", ".js .jsx .mjs .cjs"),
        ("text/x-typescript", "TypeScript source", "script", ".ts .tsx .mts .cts"),
        ("text/x-java", "Java source", "java", ".java"),
        ("text/x-c", "C source", "c", ".c .h"),
        ("text/x-cpp", "C++ source", "c", ".cpp .cc .cxx .hpp .hh .hxx .ino"),
        ("text/x-csharp", "C# source", "java", ".cs"),
        ("text/x-go", "Go source", "go", ".go"),
        ("text/x-rust", "Rust source", "rust", ".rs"),
        ("text/x-ruby", "Ruby source", "ruby", ".rb"),
        ("text/x-php", "PHP source", "php", ".php"),
        ("text/x-shellscript", "Shell script", "shell", ".sh .bash"),
        ("text/x-sql", "SQL script", "sql", ".sql"),
        ("text/x-kotlin", "Kotlin source", "modern", ".kt .kts"),
        ("text/x-swift", "Swift source", "modern", ".swift"),
        ("text/x-scala", "Scala source", "modern", ".scala"),
        ("text/x-lua", "Lua source", "lua", ".lua"),
        ("text/x-perl", "Perl source", "perl", ".pl .pm"),
        ("text/x-r", "R source", "r", ".r"),
        ("text/x-haskell", "Haskell source", "haskell", ".hs .lhs .hsc"),
        ("text/x-elm", "Elm source", "haskell", ".elm"),
        ("text/x-purescript", "PureScript source", "haskell", ".purs"),
        ("text/x-ocaml", "OCaml source", "ml", ".ml .mli"),
        ("text/x-fsharp", "F# source", "ml", ".fs .fsi .fsx"),
        ("text/x-erlang", "Erlang source", "erlang", ".erl .hrl"),
        ("text/x-elixir", "Elixir source", "elixir", ".ex .exs"),
        ("text/x-lisp", "Lisp source", "lisp", ".clj .cljs .cljc .edn .lisp .lsp .el .scm .rkt"),
        ("text/x-dart", "Dart source", "java", ".dart"),
        ("text/x-groovy", "Groovy source", "modern", ".groovy .gradle"),
        ("text/x-julia", "Julia source", "julia", ".jl"),
        ("text/x-nim", "Nim source", "nim", ".nim"),
        ("text/x-zig", "Zig source", "modern", ".zig"),
        ("text/x-objective-c", "Objective-C source", "c", ".m .mm"),
        ("text/x-cuda", "CUDA source", "c", ".cu .cuh"),
        ("text/x-fortran", "Fortran source", "fortran", ".f .f77 .f90 .f95"),
        ("text/x-pascal", "Pascal source", "pascal", ".pas .pp .dpr"),
        ("text/x-vb", "Visual Basic source", "basic", ".vb .vbs .bas"),
        ("text/x-powershell", "PowerShell script", "shell", ".ps1 .psm1 .psd1"),
        ("text/x-zsh", "Shell script", "shell", ".zsh .fish .ksh"),
        ("text/x-bat", "Batch file", "none", ".bat .cmd"),
        ("text/x-asm", "Assembly source", "none", ".asm .s"),
        ("text/x-vue", "Vue component", "script", ".vue .svelte"),
        ("text/css", "Style sheet", "none", ".css .scss .sass .less"),
        ("text/x-protobuf", "Protocol Buffers file", "proto", ".proto"),
        ("application/graphql", "GraphQL file", "proto", ".graphql .gql"),
        ("text/x-terraform", "Terraform file", "terraform", ".tf .hcl"),
        ("text/x-cmake", "CMake file", "none", ".cmake"),
        ("text/x-makefile", "Makefile", "none", ".mk"),
        ("text/x-tcl", "Tcl script", "shell", ".tcl"),
        ("text/x-bibtex", "BibTeX file", "none", ".bib"),
        ("text/x-diff", "Patch", "none", ".diff .patch"),
        ("application/yaml", "YAML file", "yaml", ".yaml .yml"),
        ("application/toml", "TOML file", "sections", ".toml"),
        ("text/x-ini", "INI file", "sections", ".ini .cfg .conf .properties .editorconfig"),
    )
)
FAMILIES = {language.media_type: language.family for language in LANGUAGES}

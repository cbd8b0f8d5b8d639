"""The supported programming and configuration languages, with their file extensions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceLanguage:
    """One language. `family` selects the syntax of the declarations at which files are split."""

    media_type: str
    label: str
    family: str
    extensions: tuple[str, ...]


LANGUAGES = (
    SourceLanguage("text/x-python", "Python source", "python", (".py", ".pyi")),
    SourceLanguage(
        "text/javascript", "JavaScript source", "script", (".js", ".jsx", ".mjs", ".cjs")
    ),
    SourceLanguage(
        "text/x-typescript", "TypeScript source", "script", (".ts", ".tsx", ".mts", ".cts")
    ),
    SourceLanguage("text/x-java", "Java source", "java", (".java",)),
    SourceLanguage("text/x-c", "C source", "c", (".c", ".h")),
    SourceLanguage(
        "text/x-cpp", "C++ source", "c", (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".ino")
    ),
    SourceLanguage("text/x-csharp", "C# source", "java", (".cs",)),
    SourceLanguage("text/x-go", "Go source", "go", (".go",)),
    SourceLanguage("text/x-rust", "Rust source", "rust", (".rs",)),
    SourceLanguage("text/x-ruby", "Ruby source", "ruby", (".rb",)),
    SourceLanguage("text/x-php", "PHP source", "php", (".php",)),
    SourceLanguage("text/x-shellscript", "Shell script", "shell", (".sh", ".bash")),
    SourceLanguage("text/x-sql", "SQL script", "sql", (".sql",)),
    SourceLanguage("text/x-kotlin", "Kotlin source", "modern", (".kt", ".kts")),
    SourceLanguage("text/x-swift", "Swift source", "modern", (".swift",)),
    SourceLanguage("text/x-scala", "Scala source", "modern", (".scala",)),
    SourceLanguage("text/x-lua", "Lua source", "lua", (".lua",)),
    SourceLanguage("text/x-perl", "Perl source", "perl", (".pl", ".pm")),
    SourceLanguage("text/x-r", "R source", "r", (".r",)),
    SourceLanguage("text/x-haskell", "Haskell source", "haskell", (".hs", ".lhs", ".hsc")),
    SourceLanguage("text/x-elm", "Elm source", "haskell", (".elm",)),
    SourceLanguage("text/x-purescript", "PureScript source", "haskell", (".purs",)),
    SourceLanguage("text/x-ocaml", "OCaml source", "ml", (".ml", ".mli")),
    SourceLanguage("text/x-fsharp", "F# source", "ml", (".fs", ".fsi", ".fsx")),
    SourceLanguage("text/x-erlang", "Erlang source", "erlang", (".erl", ".hrl")),
    SourceLanguage("text/x-elixir", "Elixir source", "elixir", (".ex", ".exs")),
    SourceLanguage(
        "text/x-lisp",
        "Lisp source",
        "lisp",
        (".clj", ".cljs", ".cljc", ".edn", ".lisp", ".lsp", ".el", ".scm", ".rkt"),
    ),
    SourceLanguage("text/x-dart", "Dart source", "java", (".dart",)),
    SourceLanguage("text/x-groovy", "Groovy source", "modern", (".groovy", ".gradle")),
    SourceLanguage("text/x-julia", "Julia source", "julia", (".jl",)),
    SourceLanguage("text/x-nim", "Nim source", "nim", (".nim",)),
    SourceLanguage("text/x-zig", "Zig source", "modern", (".zig",)),
    SourceLanguage("text/x-objective-c", "Objective-C source", "c", (".m", ".mm")),
    SourceLanguage("text/x-cuda", "CUDA source", "c", (".cu", ".cuh")),
    SourceLanguage("text/x-fortran", "Fortran source", "fortran", (".f", ".f77", ".f90", ".f95")),
    SourceLanguage("text/x-pascal", "Pascal source", "pascal", (".pas", ".pp", ".dpr")),
    SourceLanguage("text/x-vb", "Visual Basic source", "basic", (".vb", ".vbs", ".bas")),
    SourceLanguage("text/x-powershell", "PowerShell script", "shell", (".ps1", ".psm1", ".psd1")),
    SourceLanguage("text/x-zsh", "Shell script", "shell", (".zsh", ".fish", ".ksh")),
    SourceLanguage("text/x-bat", "Batch file", "none", (".bat", ".cmd")),
    SourceLanguage("text/x-asm", "Assembly source", "none", (".asm", ".s")),
    SourceLanguage("text/x-vue", "Vue component", "script", (".vue", ".svelte")),
    SourceLanguage("text/css", "Style sheet", "none", (".css", ".scss", ".sass", ".less")),
    SourceLanguage("text/x-protobuf", "Protocol Buffers file", "proto", (".proto",)),
    SourceLanguage("application/graphql", "GraphQL file", "proto", (".graphql", ".gql")),
    SourceLanguage("text/x-terraform", "Terraform file", "terraform", (".tf", ".hcl")),
    SourceLanguage("text/x-cmake", "CMake file", "none", (".cmake",)),
    SourceLanguage("text/x-makefile", "Makefile", "none", (".mk",)),
    SourceLanguage("text/x-tcl", "Tcl script", "shell", (".tcl",)),
    SourceLanguage("text/x-tex", "LaTeX source", "tex", (".tex", ".ltx", ".sty")),
    SourceLanguage("text/x-bibtex", "BibTeX file", "none", (".bib",)),
    SourceLanguage("text/x-diff", "Patch", "none", (".diff", ".patch")),
    SourceLanguage("application/yaml", "YAML file", "yaml", (".yaml", ".yml")),
    SourceLanguage("application/toml", "TOML file", "sections", (".toml",)),
    SourceLanguage(
        "text/x-ini",
        "INI file",
        "sections",
        (".ini", ".cfg", ".conf", ".properties", ".editorconfig"),
    ),
)
FAMILIES = {language.media_type: language.family for language in LANGUAGES}

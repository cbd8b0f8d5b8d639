"""The programming and configuration languages that can be uploaded, by their file names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceLanguage:
    """One language. `family` names the declarations that its files are cut at."""

    media_type: str
    label: str
    family: str
    extensions: tuple[str, ...]


LANGUAGES = (
    SourceLanguage("text/x-python", "Python source", "python", (".py", ".pyi")),
    SourceLanguage(
        "text/javascript", "JavaScript source", "script", (".js", ".jsx", ".mjs", ".cjs")
    ),
    SourceLanguage("text/x-typescript", "TypeScript source", "script", (".ts", ".tsx")),
    SourceLanguage("text/x-java", "Java source", "java", (".java",)),
    SourceLanguage("text/x-c", "C source", "c", (".c", ".h")),
    SourceLanguage("text/x-cpp", "C++ source", "c", (".cpp", ".cc", ".cxx", ".hpp", ".hh")),
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
    SourceLanguage("application/yaml", "YAML file", "yaml", (".yaml", ".yml")),
    SourceLanguage("application/toml", "TOML file", "sections", (".toml",)),
    SourceLanguage("text/x-ini", "INI file", "sections", (".ini", ".cfg")),
)
FAMILIES = {language.media_type: language.family for language in LANGUAGES}

"""Patterns of identifiers, the default set, and the words before a number that form none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from .expressions import Bounded

# An identifier is not adjacent to a Latin letter, digit or underscore. Not \b, which would miss
# the D40 of a Chinese sentence, written without spaces.
_WORD = "0-9A-Za-z_\u00c0-\u024f"
_LEADING_FLAGS = re.compile(r"\(\?([ims]+)\)")
# Words that precede a number without forming an identifier with it: “PAGE 12” is none.
NO_PREFIX = frozenset(
    """
    ad am and as at bc be bce but by ce chap chf do eur fig figs for from gbp he if in inr is
    it item jpy jan feb mar apr may jun jul aug sep sept oct nov dec kg km mid no nos non nor not
    note of on only or over page pages part parts past per pm post pp pre sec so sub step table
    than the them then they title to top und under until up us usd vol was we with you
    """.split()  # noqa: SIM905 - a list of a hundred quoted words reads worse
)
# Bodies whose standards have numbers that look like years.
STANDARDS = frozenset({"rfc", "iso", "iec", "ieee", "din", "en", "ecma", "cve"})


@dataclass(frozen=True, slots=True)
class Pattern:
    """One form of identifier. If two match the same text, the earlier pattern wins.

    `regex` is used as given, with word boundaries added on both sides. `normaliser` is a key
    of NORMALISERS.
    """

    name: str
    regex: str
    normaliser: str
    examples: tuple[str, ...] = ()
    counter_examples: tuple[str, ...] = ()


@lru_cache(maxsize=512)
def compiled(regex: str) -> re.Pattern[str] | Bounded:
    """The compiled expression with its word boundaries. Raises UnsafeExpression.

    Shipped patterns, which have bounded repeats and use look-around, run in Python's engine, all
    others in RE2.
    """
    if regex not in _shipped():
        return Bounded(regex, _WORD)
    flags = _LEADING_FLAGS.match(regex)
    body = f"(?{flags[1]}:{regex[flags.end() :]})" if flags else f"(?:{regex})"
    return re.compile(f"(?<![{_WORD}]){body}(?![{_WORD}])")


_PARAGRAPHS = r"(?:\([A-Za-z0-9]{1,4}\))"
# Before the parts of an article, as German, French, Italian, Polish and English laws cite them.
PART_NAME = (
    r"(?:abs(?:\.|atz)|unterabs\.|s(?:\.|atz)|nr\.|lit\.|buchst(?:\.|abe)|ust\.|pkt\.?|al(?:\.|inéa)"
    r"|para(?:\.|graphe?)|co(?:\.|mma)|lett(?:\.|era)|point)(?:(?<=\.)[ \u00a0]?|[ \u00a0])"
)
# Not two letters, which may be a word: “Article 50 (EU)”, “rule 3 point of sale”.
_PART = r"(?:[0-9]{1,3}[A-Za-z]?|[A-Za-z]|[ivx]{1,4}|aa|bb|cc|dd)"
_HYPHEN = r"[-\u2010\u2011\u2013]"
_SPACE = r"[ \u00a0]"
_PRERELEASE = r"(?:[-.]?(?i:a|b|rc|alpha|beta|dev|post)[-.]?[0-9]{1,4})?"
_EXTENSIONS = (
    "tar\\.gz|tar\\.xz|[ch]pp|[jt]sx|docx?|xlsx?|pptx?|html?|xhtml|json5?|jsonl|ya?ml|toml|lock|"
    "ipynb|pyi?|mjs|js|ts|css|scss|vue|java|kt|scala|go|rs|rb|php|cs|cc|[ch]|swift|sql|sh|bat|"
    "ps1|md|rst|adoc|txt|tex|csv|tsv|xml|xsd|ini|cfg|conf|env|log|pdf|od[tsp]|rtf|epub|eml|msg|"
    "png|jpe?g|gif|svg|webp|mp[34]|wav|zip|gz|7z|rar|whl|exe|dll|so|jar|iso|launch|urdf|proto|"
    "parquet|onnx|service|pem|crt|key"
)

DEFAULT_PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "E-mail address",
        r"(?<![._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}",
        "lower",
        ("safety.office@example.com", "Ann+kb@mail.example.org"),
        ("@login_required", "a @ b"),
    ),
    Pattern(
        "UUID",
        r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
        "lower",
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301",),
        ("3f2504e0-4f89",),
    ),
    Pattern(
        "Regulation",
        r"[0-9]{1,3}\s{0,2}(?i:C\.?F\.?R\.?|U\.?S\.?C\.?)\s{0,2}"
        r"(?:(?i:parts?|sec(?:tion|\.)?)|\u00a7{1,2})?\s{0,2}"
        rf"[0-9]{{1,5}}(?:\.[0-9]{{1,5}})?[a-z]?{_PARAGRAPHS}{{0,5}}",
        "citation",
        ("30 CFR 75.1725", "30 CFR 75", "30 C.F.R. § 75.1725(a)", "30 CFR Part 75", "5 USC 552a"),
        ("CFR", "75 percent"),
    ),
    Pattern(
        "Clause",
        rf"[A-Z]{{1,6}}(?:[.-][A-Z]{{1,6}})?(?:{_HYPHEN}|\.)?[0-9]{{1,6}}"
        rf"(?:\.[0-9]{{1,4}}|\([0-9]{{1,3}}\)){{1,4}}(?:\([a-z]\))?|"
        rf"[A-Z]{{1,6}}\.[A-Z]{{1,6}}{_HYPHEN}[0-9]{{1,4}}|"
        rf"[0-9]{{1,3}}(?:\.[0-9]{{1,4}}){{2,4}}{_HYPHEN}[a-z]",
        "clause",
        ("A.8.12", "CC6.1", "T1059.001", "AC-2(3)(a)", "PR.DS-5", "4.3.2-b"),
        ("A.8", "EUR4.50", "CO2(g)", "3.5-l", "e.g.", "U.S.A."),
    ),
    Pattern(
        "Paragraph",
        rf"(?:(?i:section|sec\.|regulation|reg\.|rule|article|artikel|art\.?)\s{{1,2}}|§{{1,2}}\s{{0,2}})"
        rf"[0-9]{{1,4}}[a-z]?(?:{_PARAGRAPHS}|{_SPACE}\({_PART}\)|"
        rf",?{_SPACE}(?i:{PART_NAME})\(?{_PART}\)?(?![A-Za-z0-9])){{1,5}}"
        # A letter alone may be a word: “Art. 6 (1) a person”, “§ 5 Abs. 1 i.V.m. § 6”.
        rf"(?:{_SPACE}[a-z](?=\s*(?:[,;:?!)]|\.(?!\s?[A-Za-z]\.)|[A-Z][A-Za-z-]{{0,9}}[A-Z]|$)))?",
        "section",
        ("Art. 6(1)(f)", "Article 9(2)(h)", "Rule 10b(5)", "Art 6 (1) a", "§ 7 Abs. 2 S. 1"),
        ("Art. 6", "rule 7 (new)"),
    ),
    Pattern(
        "Section",
        r"\u00a7{1,2}\s{0,2}[0-9]{1,5}(?:\.[0-9]{1,5}){0,3}[a-z]?" + f"{_PARAGRAPHS}{{0,5}}|"
        r"(?i:section|sec\.|regulation|reg\.|rule|article|art\.)\s{1,2}"
        rf"[0-9]{{1,4}}(?:\.[0-9]{{1,5}}){{1,3}}[a-z]?{_PARAGRAPHS}{{0,5}}|"
        rf"[1-9][0-9]{{0,3}}\.(?:[0-9]{{4,5}}{_PARAGRAPHS}{{0,5}}|"
        rf"[0-9]{{1,5}}{_PARAGRAPHS}{{1,5}})",
        "section",
        ("§75.1725(a)", "§ 823", "section 75.380", "75.1725", "75.380(d)"),
        ("3.14", "1.500", "75", "0.9650"),
    ),
    Pattern(
        "Hexadecimal code",
        r"0[xX][0-9A-Fa-f]{2,16}",
        "lower",
        ("0x80070005", "0xC0000005"),
        ("0x", "800"),
    ),
    Pattern(
        "File name",
        r"(?<![.-])(?:[A-Za-z0-9_.-]{1,64}/){0,12}[A-Za-z0-9_-][A-Za-z0-9_.-]{0,80}"
        rf"\.(?i:{_EXTENSIONS})(?!\.?[A-Za-z0-9_])",
        "path",
        ("settings.py", "django/conf/global_settings.py", "README.md", "report-2024.tar.gz"),
        ("e.g.", "end.Start", "5.2"),
    ),
    Pattern(
        "Qualified name",
        r"[A-Za-z_][A-Za-z0-9_]{0,63}(?:::~?[A-Za-z_][A-Za-z0-9_]{0,63}){1,8}(?:\(\))?|"
        r"(?<!\.)[A-Za-z_][A-Za-z0-9_]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_]{0,63}){1,8}(?:\(\))?",
        "name",
        ("rclcpp::Node", "django.db.models.Model", "models.Model", "form.save()"),
        ("e.g.", "i.e", "U.S.A.", "example.com", "a.m."),
    ),
    Pattern(
        "Name with underscores",
        r"_{0,2}[A-Za-z][A-Za-z0-9]{0,63}(?:_{1,2}[A-Za-z][A-Za-z0-9]{0,63}|_[0-9]{1,3}){1,12}"
        r"_{0,2}(?:\(\))?|__[a-z]{2,30}__(?:\(\))?",
        "name",
        ("get_queryset", "CONN_MAX_AGE", "select_related()", "__init__", "headline__startswith"),
        ("_emphasis_", "snake", "a _ b"),
    ),
    Pattern(
        "Command line option",
        r"(?<![-\u2013])--[A-Za-z][A-Za-z0-9]{1,40}(?:[-_][A-Za-z0-9]{1,40}){0,8}",
        "lower",
        ("--noinput", "--max-old-space-size"),
        ("-v", "well-known", "---", "a--b"),
    ),
    Pattern(
        "Function call",
        r"[A-Za-z][A-Za-z0-9]{1,63}\(\)",
        "common_name",
        ("reverse()", "getQueryset()"),
        ("reverse", "item(s)"),
    ),
    Pattern(
        "Version",
        rf"(?<![.,])(?:(?i:versions?|release|ver\.)\s{{1,2}}v?[0-9]{{1,4}}(?:\.[0-9]{{1,5}}){{1,3}}"
        rf"|[vV][0-9]{{1,4}}(?:\.[0-9]{{1,5}}){{1,3}}|[0-9]{{1,4}}(?:\.[0-9]{{1,5}}){{2,3}})"
        rf"{_PRERELEASE}(?!\.[0-9])",
        "version",
        ("5.2.1", "v1.2", "version 5.2", "5.2.1rc1", "192.168.0.1"),
        ("5.2", "2024.05.01", "1.5.2024", "01.05.24", "3.14", "1,234.5"),
    ),
    Pattern(
        "Code",
        rf"(?=[A-Za-z/\u2010\u2011\u2013-]{{1,40}}[0-9])(?i:[A-Z][A-Z0-9]{{0,15}}"
        rf"(?:{_HYPHEN}[A-Z0-9]{{1,12}}){{0,5}})(?:/[A-Z0-9]{{1,4}}){{0,2}}(?![.,][0-9])",
        "code",
        ("D40", "d40", "D-40", "PII-2024-0042", "A-1312/B", "ORA-00942", "E1101", "ROS2"),
        ("well-known", "state-of-the-art", "2024", "2024-05-01", "mid-1990", "top-10", "2nd"),
    ),
    Pattern(
        "Code with spaces",
        rf"[A-Z]{{2,6}}[ \u00a0_-][0-9]{{4}}[ \u00a0_-][0-9]{{3,6}}|"
        rf"[A-Z]{{1,5}}(?:{_SPACE}|_)[0-9]{{1,6}}(?:-[0-9]{{1,4}}){{0,2}}"
        rf"(?![.,][0-9]|{_SPACE}?[%\u00b0])",
        "code",
        ("D 40", "PII 2024 0042", "INC_2024_0042", "ISO 9001", "RFC 2119", "PEP 8", "EN 1092-2"),
        ("A 10", "I 5", "MAY 2024", "PAGE 12", "USD 500", "T 5", "In 2024"),
    ),
    Pattern(
        "Record number",
        r"(?:19|20)[0-9]{2}-[0-9]{4,6}(?!-)",
        "number",
        ("2024-0042",),
        ("2023-2024", "2024-05-01", "2024"),
    ),
    Pattern(
        "Name with inner capitals",
        r"(?:[a-z]{2,30}[A-Z]|[A-Z][a-z0-9]{1,30}[A-Z]|[A-Z]{2,10}[a-z]{3})[A-Za-z0-9]{0,60}",
        "common_name",
        ("VectorStore", "getQueryset", "HTTPServer", "JSONField"),
        ("What", "SLAM", "FK", "Aboleth", "iPhone", "PhD", "APIs", "McDonald", "MHz"),
    ),
)


@cache
def _shipped() -> frozenset[str]:
    return frozenset(pattern.regex for pattern in DEFAULT_PATTERNS)

"""Canonical spellings of identifiers, and the incomplete forms that also match them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from .patterns import NO_PREFIX, PART_NAME, STANDARDS

UNPARTED = 1.0  # another spelling: INC20240042 of INC-2024-0042
PARENT = 0.8  # a less specific form: `75.1725` of `75.1725(a)`
TAIL = 0.6  # its last parts: `2024-0042` of `INC-2024-0042`
# Only their order matters; the values are guesses.

Lesser = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Normaliser:
    """Maps matches of a pattern to canonical and further forms.

    `canonical(text)` is equal for equal identifiers, and "" for a false match. `lesser(text)`
    are further forms with their strengths: below 1 if incomplete. `distinctive` is False for forms
    that also occur in prose or in very many chunks (JavaScript, save()): the tier above all
    scores should only take chunks with such a name if few chunks have it.
    """

    name: str
    description: str
    canonical: Callable[[str], str]
    lesser: Callable[[str], Lesser]
    distinctive: bool = True


_HYPHENS = str.maketrans(dict.fromkeys("‐‑‒–−⁃", "-") | {"\u00ad": None})
_RUN = re.compile(r"[a-z]+|[0-9]+")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_YEAR_AND_NUMBER = re.compile(r"((?:19|20)[0-9]{2})([0-9]{3,6})")
_MIN_TAIL_DIGITS = 4  # shorter numbers are too common


def _plain(text: str) -> str:
    return " ".join(text.translate(_HYPHENS).casefold().split())


def _nothing_lesser(text: str) -> Lesser:
    return ()


def _code(text: str) -> str:
    plain = _plain(text)
    runs = _RUN.findall(plain)
    if len(runs) < 2 or runs[0].isdigit() or not any(run.isdigit() for run in runs):
        return ""
    separated = not plain.startswith(runs[0] + runs[1])
    if separated and runs[0] in NO_PREFIX:
        return ""
    # "A 10 m rope", "I 5 times", "plan B 2": with a space, one letter needs two digits.
    spaced_letter = len(runs[0]) == 1 and plain[1] == " "
    if spaced_letter and (runs[0] in "ai" or len(runs[1]) < 2):
        return ""
    year = len(runs) == 2 and _YEAR.fullmatch(runs[1]) and runs[0] not in STANDARDS
    if separated and year:
        return ""
    return _joined(runs)


def _joined(runs: list[str]) -> str:
    """The runs joined, with a hyphen only between two of one kind: “a1312b”, “pii2024-0042”."""
    joined = runs[0]
    for left, right in pairwise(runs):
        joined += right if left.isdigit() != right.isdigit() else f"-{right}"
    return joined


def _code_lesser(text: str) -> Lesser:
    runs = _RUN.findall(_plain(text))
    forms: list[tuple[str, float]] = []
    if len(runs) == 2 and (parted := _YEAR_AND_NUMBER.fullmatch(runs[1])):
        forms.append((_joined([runs[0], *parted.groups()]), UNPARTED))
    if len(runs) > 2 and not runs[-1].isdigit() and len(runs[-1]) <= 2:
        forms.append((_joined(runs[:-1]), PARENT))
        runs_without_suffix = runs[:-1]
    else:
        runs_without_suffix = runs
    if len(runs) > 2 and runs[0] in STANDARDS and not _YEAR.fullmatch(runs[1]):
        forms.append((_joined(runs[:2]), PARENT))  # EN 1092 of EN 1092-2
    for parts in (runs, runs_without_suffix):
        for first in range(1, len(parts)):
            tail = parts[first:]
            digits = [run for run in tail if run.isdigit()]
            telling = any(
                len(run) >= _MIN_TAIL_DIGITS and not _YEAR.fullmatch(run) for run in digits
            )
            if telling and tail[0].isdigit():
                forms.append((_joined(tail), TAIL))
    return tuple(dict(reversed(forms)).items())[::-1]


def _number(text: str) -> str:
    """Groups of digits: `2024-0042`; empty for a range of years or a date."""
    groups = _plain(text).replace(" ", "-").split("-")
    if not all(group.isdigit() for group in groups) or len(groups) < 2:
        return ""
    if all(_YEAR.fullmatch(group) for group in groups):
        return ""
    if len(groups) == 3 and sorted(map(len, groups)) in ([2, 2, 4], [2, 2, 2], [1, 2, 4]):
        return ""
    return "-".join(groups)


_CITATION = re.compile(
    r"([0-9]{1,3}) ?(c\.?f\.?r|u\.?s\.?c)\.? ?(?:parts?|§{1,2}|sec(?:tion|\.)?)? ?([0-9].*)"
)
_SECTION = re.compile(r"([0-9]+[a-z]?(?:\.[0-9]+)*[a-z]?)(.*)")
_PART = re.compile(rf"(?:[, ]+{PART_NAME})?[ (]*([0-9a-z]+)\)?")


def _citation(text: str) -> str:
    match = _CITATION.search(_plain(text))
    if match is None:
        return ""
    title, code, number = match.groups()
    return f"{int(title)}{code.replace('.', '')}{number.replace(' ', '')}"


def _citation_lesser(text: str) -> Lesser:
    canonical = _citation(text)
    head = re.match(r"[0-9]+[a-z]+", canonical)
    if head is None:
        return ()
    number = canonical[head.end() :]
    forms = [(head.group() + parent, PARENT) for parent in _parents(number)]
    part, dot, _ = number.partition(".")
    if dot:
        forms.append((head.group() + part, PARENT))
        forms += [(tail, TAIL) for tail in (number, *_parents(number))]
    return tuple(forms)


def _section(text: str) -> str:
    match = _SECTION.search(_plain(text))
    if match is None:
        return ""
    number = match[1] + "".join(f"({part})" for part in _PART.findall(match[2]))
    # A number without a point is only a section because of the sign, which is kept.
    return number if "." in number else f"§{number}"


def _section_lesser(text: str) -> Lesser:
    return tuple((parent, PARENT) for parent in _parents(_section(text)))


def _parents(number: str) -> list[str]:
    """The enclosing sections: `75.1725(a)` and `75.1725` for `75.1725(a)(1)`."""
    parents: list[str] = []
    while number.endswith(")"):
        number = number[: number.rindex("(")]
        parents.append(number)
    return parents


_LAST_PART = re.compile(r"(?:\.[0-9]+|\([^()]*\)|-[a-z])$")


def _clause(text: str) -> str:
    plain = _plain(text)
    if _RUN.findall(plain)[0] in NO_PREFIX:
        return ""
    return re.sub(r"(?<=[a-z])-(?=[0-9])", "", plain)


def _clause_lesser(text: str) -> Lesser:
    return ((_LAST_PART.sub("", _clause(text)), PARENT),)


_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+.*")


def _version(text: str) -> str:
    match = _VERSION.search(_plain(text))
    if match is None:
        return ""
    version = match.group().replace(" ", "")
    numbers = version.split(".")
    marked = not text[:1].isdigit()
    lengths = [len(number) for number in numbers]
    # 2024.05.01, 1.5.2024, 01.05.24: dates
    dated = lengths[0] == 4 or lengths[-1] == 4 or all(length == 2 for length in lengths)
    if not marked and len(numbers) == 3 and dated and version.replace(".", "").isdigit():
        return ""
    return version


def _version_lesser(text: str) -> Lesser:
    numbers = _version(text).split(".")
    return ((".".join(numbers[:-1]), PARENT),) if len(numbers) == 3 else ()


def _path(text: str) -> str:
    return text.casefold().removeprefix("./").lstrip("/")


def _path_lesser(text: str) -> Lesser:
    path = _path(text)
    name = path.rsplit("/", 1)[-1]
    return ((name, TAIL),) if name != path else ()


_SCOPE = re.compile(r"::|\.")
_SNAKE = re.compile(r"_*[A-Za-z0-9]+_+[A-Za-z0-9_]+|__[A-Za-z0-9]+__")
_HUMPS = re.compile(
    r"(?!Mc[A-Z]|Mac[A-Z])(?=[A-Za-z0-9]{5})"
    r"(?:[a-z]{2,}[A-Z]|[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]*[a-z]|[A-Z]{2,}[a-z]{3})[A-Za-z0-9]*"
)


def _is_code_name(segment: str) -> bool:
    return bool(_SNAKE.fullmatch(segment) or _HUMPS.fullmatch(segment))


def _name(text: str) -> str:
    called = text.endswith("()")
    bare = text.removesuffix("()")
    segments = _SCOPE.split(bare)
    if len(segments) == 1:
        if _is_code_name(bare):
            return bare.casefold()
        return text.casefold() if called else ""
    if "::" not in bare and not called:
        if min(map(len, segments)) < 2:
            return ""
        first, last = segments[0], segments[-1]
        typed = first.islower() and last[0].isupper() and not last.isupper()
        if len(segments) == 2 and not typed and not any(map(_is_code_name, segments)):
            return ""
    return bare.casefold()


def _name_lesser(text: str) -> Lesser:
    bare = text.removesuffix("()")
    segments = _SCOPE.split(bare)
    separator = "::" if "::" in bare else "."
    forms: list[tuple[str, float]] = []
    if len(segments) > 2:
        forms.append((separator.join(segments[-2:]).casefold(), PARENT))
    if len(segments) > 1 and _is_code_name(segments[-1]):
        forms.append((segments[-1].casefold(), TAIL))
    return tuple(forms)


_ALL = (
    Normaliser("lower", "Lower case, single spaces.", _plain, _nothing_lesser),
    Normaliser(
        "code",
        "Letters and digits without separators: D-40, D 40 and d40 become d40.",
        _code,
        _code_lesser,
    ),
    Normaliser("number", "Groups of digits: 2024-0042.", _number, _nothing_lesser),
    Normaliser(
        "citation",
        "Legal citations: 30 CFR 75.1725(a) becomes 30cfr75.1725(a).",
        _citation,
        _citation_lesser,
    ),
    Normaliser(
        "section", "Section numbers: § 75.1725(a) becomes 75.1725(a).", _section, _section_lesser
    ),
    Normaliser(
        "clause",
        "Numbers of clauses and controls: AC-2(3) becomes ac2(3), and ac2 matches too.",
        _clause,
        _clause_lesser,
    ),
    Normaliser(
        "version",
        "Version numbers: v5.2.1 and version 5.2.1 become 5.2.1.",
        _version,
        _version_lesser,
    ),
    Normaliser(
        "path", "Paths in lower case; the file name alone matches too.", _path, _path_lesser
    ),
    Normaliser(
        "name",
        "Names in code, in lower case and without (); their last parts match too.",
        _name,
        _name_lesser,
    ),
    Normaliser(
        "common_name",
        "Like name, for forms also common in prose or code: JavaScript, save().",
        _name,
        _name_lesser,
        distinctive=False,
    ),
)

NORMALISERS: Mapping[str, Normaliser] = MappingProxyType({each.name: each for each in _ALL})

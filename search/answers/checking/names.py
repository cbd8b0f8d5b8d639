"""Names, identifiers and quoted words of a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ingestion.identifiers import find_identifiers, index_forms
from search.answers.content_words import STOP, words

_GERMAN = frozenset(
    """
    der die das und ist nicht ein eine wird werden mit für von im den dem auf sich auch als wurde
    sind bei nach zu zum zur einen einem einer kein keine durch oder aber dass wenn kann können muss
    müssen haben sie aus über vor nur noch
    """.split()  # noqa: SIM905
)
_CAPITALISED = re.compile(r"(?<!\w)[^\W\d_]+(?:['’\-][^\W\d_]+)*(?!\w)")
_QUOTED = re.compile(
    r"“([^“”]+)”|„([^„“”]+)[“”]|«\s?([^«»]+?)\s?»|(?<![\w\"])\"([^\"\n]+)\"(?!\w)|「([^」]+)」"
)
_CODE = re.compile(r"(?<!`)`(?P<code>[^`\n]+)`(?!`)")
# Letters with digits of any other form: H3.3, BL14.1.
_MIXED = re.compile(r"(?<![\w.])(?P<code>[A-Za-z]{1,12}\d[A-Za-z0-9]{0,12}(?:[./]\w{1,12})*)(?!\w)")
_TITLES = frozenset(
    ["dr", "mr", "mrs", "ms", "prof", "herr", "frau", "sir", "professor", "president", "st"]
)
# Endings that make an adjective, a plural or a genitive of a name: Iran's, Iranian, Germans.
_NAME_ENDINGS = frozenset(
    ["'s", "’s", "s", "n", "an", "ian", "ish", "ese", "i", "er", "ers", "ans"]
)
_BREAK = re.compile(r"(?:^|[.!?:;|“„\"«>*•]|\n|[-–—]\s)[\s*_“„\"'|]*\Z")


@dataclass(frozen=True, slots=True)
class Name:
    """Capitalised words at [start, end) of a text, as `text` writes them; `parts` in lower case."""

    start: int
    end: int
    text: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier at [start, end); `forms`: its own canonical form and its less specific ones."""

    start: int
    end: int
    text: str
    canonical: str
    forms: frozenset[str]


def identifiers(text: str) -> list[Identifier]:
    """The identifiers of a text, and its other words in code font or with digits, in order."""
    results = [
        Identifier(
            each.start, each.end, each.text, each.canonical,
            frozenset(form.form for form in index_forms(each)),
        )
        for each in find_identifiers(text)
    ]  # fmt: skip
    for match in (*_CODE.finditer(text), *_MIXED.finditer(text)):
        start, end = match.span("code")
        if not any(each.start < end and start < each.end for each in results):
            literal = match["code"].casefold()
            results.append(Identifier(start, end, match["code"], literal, frozenset({literal})))
    return sorted(results, key=lambda each: each.start)


def names(text: str, excluded: Collection[tuple[int, int]] = ()) -> list[Name]:
    """The names of a text, in order, outside of `excluded` spans.

    A capitalised word that begins a sentence is a part of a name only before another one. In
    German, where every noun has a capital, names are only sequences of capitalised words, those
    after a title, and words in capitals.
    """
    tokens = list(words(text))
    is_german = sum(word in _GERMAN for word in tokens) * 6 >= len(tokens) > 0
    results: list[Name] = []
    run: list[re.Match[str]] = []
    for match in [*_CAPITALISED.finditer(text), None]:
        between = text[run[-1].end() : match.start()] if match and run else " "
        is_free = match and not any(s < match.end() and match.start() < e for s, e in excluded)
        is_part = match is not None and is_free and bool(_capitals(match.group()))
        if run and not (is_part and re.fullmatch(r"[ \u00a0]|\. ", between)):
            results += _name_in(text, run, is_german=is_german)
            run = []
        if match is not None and is_part:
            run.append(match)
    return results


def _name_in(text: str, run: list[re.Match[str]], *, is_german: bool) -> list[Name]:
    """The name that a run of capitalised words is, if it is one."""
    had_title = run[0].group().casefold() in _TITLES
    parts = [each for each in run if each.group().casefold() not in _TITLES and len(each[0]) > 1]
    while parts and (parts[0].group().casefold() in STOP or parts[0].group() == "I'm"):
        parts = parts[1:]
    is_acronym = len(parts) == 1 and parts[0].group().isupper()
    if not parts or (is_german and len(parts) < 2 and not had_title and not is_acronym):
        return []
    begins = _BREAK.search(text[max(0, parts[0].start() - 12) : parts[0].start()]) is not None
    if begins and len(parts) == 1 and not had_title and not parts[0].group()[1:].isupper():
        return []
    start, end = parts[0].start(), parts[-1].end()
    split = tuple(bare(each) for match in parts for each in _capitals(match.group()))
    return [Name(start, end, text[start:end], split)]


def _capitals(word: str) -> list[str]:
    """The capitalised parts of a word with hyphens or apostrophes: of al-Bakri and d'Ivoire."""
    pieces = re.split(r"[-‐‑]|(?<=\w)['’](?=[A-ZÄÖÜ])", word)
    capitalised = [each for each in pieces if each[:1].isupper()]
    if long := [each for each in capitalised if len(each) > 1]:
        return long
    if capitalised and len(word) > 1:  # E-cadherin
        return [each for each in pieces if len(each) > 1] or [word]
    return capitalised


def bare(word: str) -> str:
    """The name in lower case without a genitive."""
    return re.sub(r"['’]s?\Z", "", word.casefold())


def same_name(one: str, other: str) -> bool:
    """True for Iran, Iran's and Iranian, in lower case; False for Paul and Paula."""
    short, long = sorted((one, other), key=len)
    if short == long:
        return True
    return len(short) >= 3 and long.startswith(short) and long[len(short) :] in _NAME_ENDINGS


def abbreviates(short: Name, long: Name) -> bool:
    """True for WHO and World Health Organization."""
    initials = "".join(part[0] for part in long.parts)
    return len(initials) > 1 and short.parts == (initials,)


def quotations(text: str) -> list[tuple[int, int]]:
    """The [start, end) of the words between quotation marks."""
    spans = []
    for match in _QUOTED.finditer(text):
        group = next(index for index, each in enumerate(match.groups(), start=1) if each)
        spans.append(match.span(group))
    return spans


def plain(text: str) -> str:
    """The text for finding quoted words in it: lower case, plain signs, single spaces."""
    folded = LINK.sub(r"\1", text.casefold()).translate(_SIGNS)
    return " ".join(re.sub(r"[*_`|]+", " ", folded).split())


LINK = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)")
_SIGNS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "–": "-", "—": "-",
                        "‑": "-", "\u00a0": " ", "…": "..."})  # fmt: skip


def quoted_in(quotation: str, text: str) -> bool:
    """True if the quotation is in `text`, which `plain` has prepared.

    A quotation shortened by "…" is there if all of its parts are.
    """
    pieces = re.split(r"\s*(?:\[\s*(?:\.\.\.|…)\s*\]|\.\.\.|…)\s*", quotation)
    parts = [piece for each in pieces if (piece := plain(each).strip(" .,;:!?\"'"))]
    return all(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text) for each in parts)

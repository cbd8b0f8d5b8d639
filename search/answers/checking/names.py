"""Names, identifiers and quoted words of a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ingestion.identifiers import find_identifiers, index_forms
from search.answers.checking.words import STOP, is_german

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
# A sentence's first word is a name if a verb of this kind follows it at once.
_VERBS = frozenset(
    """
    is was were are has had will would can could may might must should says said did does became
    wrote built found made ist war hat hatte wird wurde kann
    """.split()  # noqa: SIM905
)
_ABSTRACT = re.compile(r".*(?:ing|tion|sion|ness|ment|ity|ance|ence|ism|ship|dom|s|ed|ly)\Z")
_BREAK = re.compile(r"(?:^|[.!?:;|“„\"«>*•]|\n|[-–—]\s)[\s*_“„\"'|]*\Z")


@dataclass(frozen=True, slots=True)
class Name:
    """Capitalised words at [start, end) of a text, as `text` writes them."""

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
    found = [
        Identifier(
            each.start, each.end, each.text, each.canonical,
            frozenset(form.form for form in index_forms(each)),
        )
        for each in find_identifiers(text)
    ]  # fmt: skip
    for match in (*_CODE.finditer(text), *_MIXED.finditer(text)):
        start, end = match.span("code")
        if not any(each.start < end and start < each.end for each in found):
            literal = match["code"].casefold()
            found.append(Identifier(start, end, match["code"], literal, frozenset({literal})))
    return sorted(found, key=lambda each: each.start)


def names(text: str, taken: Collection[tuple[int, int]] = ()) -> list[Name]:
    """The names of a text, in order, outside of `taken` spans.

    A capitalised word that begins a sentence is a part of a name only before another one, or where
    it stands alone before a verb. In German, where every noun has a capital, names are only
    sequences of capitalised words, those after a title, and words in capitals.
    """
    german = is_german(text)
    found: list[Name] = []
    run: list[re.Match[str]] = []
    for match in [*_CAPITALISED.finditer(text), None]:
        if (
            match
            and run
            and not re.fullmatch(r"[ \u00a0]|\. ", text[run[-1].end() : match.start()])
        ):
            found += _named(text, run, german=german)
            run = []
        is_free = match and not any(s < match.end() and match.start() < e for s, e in taken)
        if match and is_free and _capitals(match.group()):
            run.append(match)
        else:
            found += _named(text, run, german=german)
            run = []
    return found


def _named(text: str, run: list[re.Match[str]], *, german: bool) -> list[Name]:
    """The name that a run of capitalised words is, if it is one."""
    had_title = bool(run) and run[0].group().casefold() in _TITLES
    parts = [match for match in run if match.group().casefold() not in _TITLES]
    if parts and not had_title and _begins(text, parts[0].start()):
        alone = len(parts) == 1
        first = parts[0].group()
        if first.casefold() in STOP or (alone and not first[1:].isupper()
                                        and not _is_subject(text, parts[0])):  # fmt: skip
            parts = parts[1:]
    parts = [match for match in parts if len(match.group()) > 1 and match.group() != "I'm"]
    while parts and parts[0].group().casefold() in STOP:
        parts = parts[1:]
    is_acronym = len(parts) == 1 and parts[0].group().isupper()
    if not parts or (german and len(parts) < 2 and not had_title and not is_acronym):
        return []
    start, end = parts[0].start(), parts[-1].end()
    split = tuple(bare(each) for match in parts for each in _capitals(match.group()))
    return [Name(start, end, text[start:end], split)]


def _capitals(word: str) -> list[str]:
    """The capitalised parts of a word with hyphens or apostrophes: of al-Bakri and d'Ivoire."""
    pieces = re.split(r"[-‐‑]|(?<=\w)['’](?=[A-ZÄÖÜ])", word)
    found = [each for each in pieces if each[:1].isupper()]
    if long := [each for each in found if len(each) > 1]:
        return long
    if found and len(word) > 1:  # E-cadherin
        return [each for each in pieces if len(each) > 1] or [word]
    return found


def _begins(text: str, position: int) -> bool:
    return position == 0 or _BREAK.search(text[max(0, position - 12) : position]) is not None


def _is_subject(text: str, match: re.Match[str]) -> bool:
    """True for a first word that is followed by a verb, as in "Simon was", and no abstract noun."""
    word = match.group()
    if re.search(r"['’]s\Z", word):
        return True
    following = re.compile(r"[ ]([a-z]+)\b").match(text, match.end())
    if following is None or following[1] not in _VERBS:
        return False
    return _ABSTRACT.match(word.casefold()) is None


def bare(word: str) -> str:
    """The name in lower case without a genitive."""
    return re.sub(r"['’]s?\Z", "", word.casefold())


def same_name(one: str, other: str) -> bool:
    """True for Iran, Iran's and Iranian, in lower case; False for Paul and Paula."""
    short, long = sorted((one, other), key=len)
    if short == long:
        return True
    return len(short) >= 3 and long.startswith(short) and long[len(short) :] in _NAME_ENDINGS


def quotations(text: str) -> list[tuple[int, int]]:
    """The [start, end) of the words between quotation marks."""
    found = []
    for match in _QUOTED.finditer(text):
        group = next(index for index, each in enumerate(match.groups(), start=1) if each)
        found.append(match.span(group))
    return found


def plain(text: str) -> str:
    """The text for finding quoted words in it: lower case, plain signs, single spaces."""
    folded = _LINK.sub(r"\1", text.casefold()).translate(_SIGNS)
    return " ".join(re.sub(r"[*_`|]+", " ", folded).split())


_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)")
_SIGNS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "–": "-", "—": "-",
                        "‑": "-", "\u00a0": " ", "…": "..."})  # fmt: skip


def quoted_in(quotation: str, text: str) -> bool:
    """True if the words are in a text prepared by `plain`, in parts where they were shortened."""
    pieces = re.split(r"\s*(?:\[\s*(?:\.\.\.|…)\s*\]|\.\.\.|…)\s*", quotation)
    wanted = [piece for each in pieces if (piece := plain(each).strip(" .,;:!?\"'"))]
    return all(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text) for each in wanted)

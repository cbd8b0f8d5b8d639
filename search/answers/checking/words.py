"""Content words and their likeness without a dictionary; names, identifiers, quoted words. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ingestion.identifiers import find_identifiers, index_forms

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Scripts without spaces between words: their overlapping pairs of letters stand for words.
_UNSPACED = re.compile(r"[\u0e01-\u0eff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]+")
STOP = frozenset(
    """
    a about above across after again all along already also although always am among an and another
    any are around as at back be became because been before being below between both but by came can
    cannot could did do does doing done down during each either else etc even ever every few for
    from further get gets give given gives go goes got had has have having he her here hers herself
    him himself his how however i if in indeed instead into is it its itself just kind least less
    let lot made mainly make makes making many may me means might more most much must my named
    nearly need needs neither never no nobody none nor not nothing now of off often on once one ones
    only onto or other others otherwise our out over own per perhaps put quite rather really same
    says see seem seems set shall she should since so some someone something sometimes soon still
    such take taken takes than that the their theirs them themselves then there thereby therefore
    these they thing things this those though through thus to together too toward towards under
    until up upon us use used uses using usually very via was way we well were what when where
    whether which while who whole whom whose why will with within without would yes yet you your
    noted note word words example practice general contrast case addition result short summary
    following follows fact called known referred according states stated state mentions mentioned
    describes described
    passage passages document documents source sources text section sentence
    aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bereits
    bevor bis bist da dabei dadurch dafür dagegen daher dahin damit dann daran darauf daraus darf
    darin das dass davon davor dazu dein dem den denn der deren des dessen desto dich die dies diese
    diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines einige er es
    etwa etwas für gegen gibt hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem
    ihren ihrer im immer in indem ins ist ja jede jedem jeden jeder jedes jedoch jene kann kein
    keine keinem keinen keiner können könnte machen man mehr mein meine mit muss müssen nach nachdem
    neben nein nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner
    seit selbst sich sie sind so sobald sofern sogar soll sollen sollte sollten sondern sonst sowie
    um und uns unser unsere unter vom von vor wann war waren warum was weil welche welcher wenn wer
    werden wie wieder will wir wird wo wurde wurden während zu zum zur zwar zwischen über
    """.split()  # noqa: SIM905 - four hundred quoted words read worse
)
_GERMAN = frozenset(
    """
    der die das und ist nicht ein eine wird werden mit für von im den dem auf sich auch als wurde
    sind bei nach zu zum zur einen einem einer kein keine durch
    """.split()  # noqa: SIM905
)
_ENDINGS = (
    "ations", "ation", "ements", "ement", "ments", "ment", "ingly", "edly", "ings", "ies", "ied",
    "ing", "ers", "est", "ly", "ed", "er", "es", "en", "em", "'s", "’s", "s", "e", "n", "y",
)  # fmt: skip
_SHORTEST_STEM = 4
_REMAINDER = 4  # letters in which two forms of a word may differ at their ends


def words(text: str) -> Iterator[str]:
    """The words of a text in lower case; pairs of letters for scripts without spaces."""
    for match in _WORD.finditer(text.casefold()):
        word = match.group()
        if not _UNSPACED.search(word):
            yield word
            continue
        for run in re.findall(rf"{_UNSPACED.pattern}|[a-z0-9]+", word):
            if len(run) == 1 or not _UNSPACED.match(run):
                yield run
            yield from (run[i : i + 2] for i in range(len(run) - 1) if _UNSPACED.match(run))


def content(text: str) -> list[str]:
    """The stems of the words that carry meaning, in order. Digits are figures, and left out."""
    return [
        stem(word)
        for word in words(text)
        if word not in STOP and not any(map(str.isdigit, word)) and _tells(word)
    ]


def _tells(word: str) -> bool:
    return len(word) > 1 or bool(_UNSPACED.match(word))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The word without its ending; two forms of a word may still differ: see `alike`."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def alike(one: str, other: str) -> bool:
    """True if two stems look like forms of one word."""
    if one == other:
        return True
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    longest = max(len(one), len(other))
    return shared >= _SHORTEST_STEM and longest - shared <= _REMAINDER and shared * 5 >= longest * 3


def is_german(text: str) -> bool:
    """True if more of the text's words are German function words than not in English ones."""
    tokens = list(words(text))
    return sum(word in _GERMAN for word in tokens) * 6 >= len(tokens) > 0


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


def names(text: str, taken: Collection[tuple[int, int]] = ()) -> list[Name]:
    """The names of a text, in order, outside of `taken` spans.

    A capitalised word that begins a sentence is a part of a name only before another one, or where
    it stands alone before a verb. In German, where every noun has a capital, names are only
    sequences of capitalised words, those after a title, and words in capitals.
    """
    german = is_german(text)
    results: list[Name] = []
    run: list[re.Match[str]] = []
    for match in [*_CAPITALISED.finditer(text), None]:
        if (
            match
            and run
            and not re.fullmatch(r"[ \u00a0]|\. ", text[run[-1].end() : match.start()])
        ):
            results += _named(text, run, german=german)
            run = []
        is_free = match and not any(s < match.end() and match.start() < e for s, e in taken)
        if match and is_free and _capitals(match.group()):
            run.append(match)
        else:
            results += _named(text, run, german=german)
            run = []
    return results


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
    capitalised = [each for each in pieces if each[:1].isupper()]
    if long := [each for each in capitalised if len(each) > 1]:
        return long
    if capitalised and len(word) > 1:  # E-cadherin
        return [each for each in pieces if len(each) > 1] or [word]
    return capitalised


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
    spans = []
    for match in _QUOTED.finditer(text):
        group = next(index for index, each in enumerate(match.groups(), start=1) if each)
        spans.append(match.span(group))
    return spans


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

"""Whether a sentence says the contrary of another: negations and opposites. Pure.

Rules over words, in English and German, without a grammar: they find a negation that one side
lacks at the same word, and one word of a pair of opposites in the place of the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from search.answers.checking.words import STOP, alike, content, stem

# Written with a space first: they compare, or limit, and deny nothing.
_COMPARING = re.compile(
    r"\bnot only\b|\bnicht nur\b"
    r"|\bno (?:later|more|less|fewer|sooner|earlier|doubt|matter)\b(?: than)?"
    r"|\bnot (?:more|less|later|fewer) than\b|\bnot just\b|\bnot merely\b|\bNo\.(?= ?\d)|\bif not\b"
    r"|\bor not\b|\bwhy not\b",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"\b(?:not|cannot|never|no|nobody|nothing|none|neither|nor|nowhere|without|nicht|kein(?:e[nmrs]?)?|nie|niemals|"
    r"niemand|nichts|ohne|weder|no one|no longer)\b|n['’]t\b",
    re.IGNORECASE,
)
# Verbs and adjectives that deny by themselves: with one of them, a negation on one side alone
# proves nothing.
_DENYING = re.compile(
    r"\b(?:forbid\w*|prohibit\w*|prevent\w*|avoid\w*|fail\w*|refus\w*|lack\w*|den(?:y|ies|ied)|"
    r"ban(?:s|ned)?|exclud\w*|impossible|unable|except\w*|unless|until|only|hardly|rarely|seldom|"
    r"barely|stop\w*|instead|rather than|forgo\w*|absen\w*|miss(?:ing|es)|free of|few|little|"
    r"un[a-z]{4,}|in(?:correct|valid|sufficient|complete|dependent|active|secure)\w*|"
    r"dis[a-z]{4,}|verbiet\w*|verboten|verhinder\w*|vermeid\w*|außer|erst|nur|kaum|un[a-zäöü]{5,})\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[,;:.!?()—–|\n]|\b(?:but|and|or|because|while|which|so that|aber|sondern|und|weil)\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"[;:()—]|,(?=\s)|\.(?=\s)|\s–\s|\s(?=(?:and|but|yet|or|because|while|which|whereas|although|though|und|"
    r"aber|oder|sondern|weil|während|obwohl)\s)",
    re.IGNORECASE,
)
_SHORTEST_PART = 2  # telling words
_SAME = 0.75  # the share of common words from which on two parts say the same
_NEITHER, _NOR = ("neither", "weder"), ("nor", "noch")
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SCOPE = 3  # words after a negation
_AUXILIARY = frozenset(
    """
    be been being is are was were do does did have has had can could may might must shall should
    will would any ever longer one to the a an its their this that all very only even need
    wird werden wurde sein haben kann darf muss soll mehr ein eine einen
    """.split()  # noqa: SIM905
)
OPPOSITES = (
    "enable disable", "allow forbid", "allow prohibit", "permit forbid", "allowed forbidden",
    "permitted prohibited", "before after", "more less", "more fewer", "most least", "most fewest",
    "minimum maximum", "minimal maximal", "true false", "increase decrease", "increased decreased",
    "rise fall", "rose fell", "risen fallen", "above below", "over under", "always never",
    "first last", "start stop", "begin end", "began ended", "open close", "opened closed",
    "accept reject", "accepted rejected", "include exclude", "required optional",
    "mandatory optional", "north south", "east west", "northern southern", "eastern western",
    "left right", "high low", "higher lower", "highest lowest", "large small", "larger smaller",
    "largest smallest", "big small", "bigger smaller", "biggest smallest", "long short",
    "longer shorter", "longest shortest", "inner outer", "inside outside", "internal external",
    "import export", "upper lower", "up down", "public private", "success failure", "succeed fail",
    "hot cold", "warm cool", "wet dry", "wetter drier", "win lose", "won lost", "male female",
    "day night", "push pull", "buy sell", "fast slow", "faster slower", "fastest slowest",
    "early late", "earlier later", "earliest latest", "old new", "older newer", "older younger",
    "oldest newest", "oldest youngest", "best worst", "better worse", "good bad",
    "positive negative",
    "strong weak", "stronger weaker", "rich poor", "deep shallow", "thick thin", "heavy light",
    "easy hard", "easy difficult", "safe unsafe", "same different", "with without", "add remove",
    "added removed", "connected disconnected", "lock unlock", "locked unlocked", "stay leave",
    "upstream downstream", "horizontal vertical", "parent child", "input output", "read write",
    "send receive", "sent received", "ascending descending", "active inactive", "everyone nobody",
    "everybody nobody", "all none", "many few", "often rarely", "common rare", "major minor",
    "majority minority", "sooner later", "front back", "top bottom",
    "beginning end", "arrive depart", "alive dead", "war peace", "love hate", "friend enemy",
    "guilty innocent", "win defeat", "victory defeat", "visible hidden", "full empty", "near far",
    "nearest farthest", "wide narrow", "forward backward", "attack defend", "gain loss",
    "profit loss", "present absent", "simple complex", "cheap expensive", "soft hard",
    "sync async", "static dynamic", "local remote", "temporary permanent", "manual automatic",
    "manually automatically", "directly indirectly", "appear disappear", "create destroy",
    "create delete", "grow shrink", "raise lower", "raised lowered", "expand contract",
    "vor nach", "mehr weniger", "mindestens höchstens", "maximal minimal", "immer nie",
    "erlaubt verboten", "über unter", "groß klein", "größer kleiner", "hoch niedrig",
    "höher niedriger", "früher später", "alt neu", "älter jünger", "oben unten", "links rechts",
    "innen außen", "öffnen schließen", "beginnt endet", "erste letzte", "ersten letzten",
    "wahr falsch", "mit ohne", "nördlich südlich", "östlich westlich", "steigt sinkt", "lang kurz",
    "länger kürzer", "schnell langsam", "schneller langsamer", "gut schlecht", "besser schlechter",
)  # fmt: skip


def _pairs() -> dict[str, frozenset[str]]:
    pairs: dict[str, set[str]] = {}
    for pair in OPPOSITES:
        one, other = pair.split()
        pairs.setdefault(one, set()).add(other)
        pairs.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in pairs.items()}


_OPPOSITE = _pairs()
_PREFIXES = ("un", "in", "im", "dis", "non", "ir")


@dataclass(frozen=True)
class Part:
    """A clause of a sentence, or what stands between two commas, and what its polarity hangs on.

    `heads`: for each negation, the stem of the word that it falls upon; `scope`: those and the next
    ones. `denying`: its words that deny by themselves.
    """

    text: str
    words: tuple[str, ...]
    stems: frozenset[str]
    heads: tuple[str, ...]
    scope: frozenset[str]
    denying: frozenset[str]
    negations: int


def parts(text: str) -> tuple[Part, ...]:
    """The parts of a sentence; those with a single telling word, unless it is negated,
    join the part before.
    """
    pieces: list[str] = []
    start = 0
    for match in [*_BETWEEN.finditer(text), None]:
        piece = text[start : match.start() if match else len(text)]
        start = match.start() if match else start
        if pieces and not _stands_alone(piece):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    if len(pieces) > 1 and not _stands_alone(pieces[0]):
        pieces[:2] = [pieces[0] + pieces[1]]
    return tuple(map(_part, pieces))


def _stands_alone(piece: str) -> bool:
    telling = len(content(piece))
    return telling >= _SHORTEST_PART or (telling > 0 and _CUE.search(piece) is not None)


def _part(text: str) -> Part:
    plain = _COMPARING.sub(lambda found: " " * len(found.group()), text)
    cues = list(_CUE.finditer(plain))
    if any(cue.group().casefold() in _NEITHER for cue in cues):
        cues = [cue for cue in cues if cue.group().casefold() not in _NOR]
    scopes = [scope for cue in cues if (scope := _scope(plain, cue))]
    return Part(
        text=text.strip(" ,;:.()–—"),
        words=tuple(match.group().casefold() for match in _TOKEN.finditer(text)),
        stems=frozenset(content(text)),
        heads=tuple(scope[0] for scope in scopes),
        scope=frozenset(each for scope in scopes for each in scope),
        denying=frozenset(stem(match.group().casefold()) for match in _DENYING.finditer(plain)),
        negations=len(cues),
    )


def _scope(text: str, cue: re.Match[str]) -> list[str]:
    """The stems of the words that a negation falls upon: the next that tell something within its
    clause, or the one before it, as in German.
    """
    stop = _CLAUSE_END.search(text, cue.end())
    after = _telling(text, cue.end(), stop.start() if stop else len(text))
    return after[:_SCOPE] or _telling(text, 0, cue.start())[-1:]


def _telling(text: str, start: int, end: int) -> list[str]:
    found = (match.group().casefold() for match in _TOKEN.finditer(text, start, end))
    return [stem(word) for word in found if word not in _AUXILIARY and word not in STOP]


def contrary(claim: Part, source: Part) -> tuple[str, str]:
    """The word of the claim that the source has in the contrary sense, and the source's word for
    it; empty strings if there is none. The source is the part that is nearest to the claim.
    """
    if claim.negations % 2 != source.negations % 2:
        return (negated, "") if (negated := _negated(claim, source)) else ("", "")
    return _opposite(claim, source)


def _negated(claim: Part, source: Part) -> str:
    """The stem that is negated on one side alone."""
    shared = sum(_among(each, source.stems) for each in claim.stems)
    likeness = shared / max(len(claim.stems), len(source.stems), 1)
    heads = claim.heads if claim.negations > source.negations else source.heads
    head = heads[0] if heads else next(iter(claim.stems), "")
    if likeness >= _SAME and claim.denying == source.denying:
        return head
    if claim.negations > source.negations:
        if source.denying:
            return ""
        common = [each for each in claim.heads if _among(each, source.stems)]
        unfounded = not source.negations and likeness >= _SAME / 2
        return common[0] if common else head if unfounded else ""
    if claim.denying:
        return ""
    return next((each for each in source.heads if _among(each, claim.stems)), "")


def _among(head: str, stems: Iterable[str]) -> bool:
    return any(alike(head, each) for each in stems)


def _opposite(claim: Part, source: Part) -> tuple[str, str]:
    """A word of the claim in whose place the source has its opposite, and that."""
    stems = {stem(word) for word in source.words}
    for word in claim.words:
        if stem(word) in stems:
            continue
        for other in (*_OPPOSITE.get(word, ()), *_by_stem(word), *_by_prefix(word, source)):
            if _in(other, source) and not _in(other, claim):
                return word, other
    return "", ""


def _by_stem(word: str) -> tuple[str, ...]:
    """The opposites of other forms of the word: "disables" for "enables"."""
    found = [
        others for each, others in _OPPOSITE.items() if len(each) > 4 and alike_forms(each, word)
    ]
    return tuple(other for others in found for other in others)


def alike_forms(one: str, other: str) -> bool:
    return one != other and stem(one) == stem(other)


def _by_prefix(word: str, best: Part) -> tuple[str, ...]:
    """The words that are this one without a denying prefix, or with one: safe and unsafe."""
    return tuple(
        other
        for other in best.words
        for prefix in _PREFIXES
        if len(min(word, other, key=len)) >= 4
        and (stem(word) == stem(prefix + other) or stem(other) == stem(prefix + word))
    )


def _in(word: str, reading: Part) -> bool:
    return any(
        each == word or (len(word) > 4 and stem(each) == stem(word)) for each in reading.words
    )

"""The type of answer that a question asks for, and whether a sentence offers one. Pure.

By the question's first words and the shapes of tokens, as in the answer types of Li & Roth (2002),
of which these are the coarse ones that a shape can show. English, German, Spanish and French.

A question how to reach a goal repeats the words of its goal; its answer names what the question
lacks: something to call, to set or to press. Names are recognised as those of code; instructions
and limits in English.
"""

from __future__ import annotations

import re
from enum import StrEnum

from ingestion.identifiers import find_identifiers


class AnswerType(StrEnum):
    """What a question asks for. MEANS: how to reach a goal. OTHER: no shape shows it ("why")."""

    DATE = "date"
    NUMBER = "number"
    PERSON = "person"
    PLACE = "place"
    IDENTIFIER = "identifier"
    MEANS = "means"
    OTHER = "other"


# The first pattern that occurs in the question decides; so "which year" comes before "which".
_QUESTIONS: tuple[tuple[AnswerType, str], ...] = (
    (
        AnswerType.IDENTIFIER,
        r"(?:which|what)(?: is| are|'s)?(?: the)?(?: \w+){0,3}? (?:code|codes|part number|"
        r"model number|serial number|identifier|id|error code|setting|option|command|function|"
        r"method|class|parameter|variable|file name|url)\b"
        r"|(?:welche[rsn]?|wie lautet (?:der|die|das)) (?:\w+ )?(?:code|kennung|nummer|"
        r"artikelnummer|fehlercode|befehl|funktion)\b"
        r"|(?:qué|cuál es el) (?:\w+ )?(?:código|identificador|número de serie|comando)\b"
        r"|quel(?:le)? (?:est (?:le|la) )?(?:code|référence|identifiant|commande)\b",
    ),
    (
        AnswerType.DATE,
        r"when\b|(?:what|which|in what|in which|on what) (?:\w+ )?(?:year|date|day|month|century|"
        r"decade|era|time period)\b|since when|how recently|what time\b"
        r"|wann\b|(?:in )?welche[smnr]? (?:jahr|datum|tag|monat|jahrhundert)\b|seit wann"
        r"|cuándo\b|en qué (?:año|fecha|día|mes|siglo)\b|qué (?:año|fecha)\b"
        r"|quand\b|(?:en )?quelle (?:année|date)\b|quel (?:jour|mois|siècle)\b",
    ),
    (
        AnswerType.NUMBER,
        r"how (?:many|much|long|far|old|tall|high|deep|wide|large|big|fast|heavy|often|hot|cold)\b"
        r"|(?:what|which)(?: is| was| are| were)?(?: the)?(?: \w+){0,2}? (?:number|percentage|"
        r"percent|proportion|population|amount|price|cost|temperature|distance|height|length|"
        r"width|depth|weight|speed|age|rank|score|ratio|size|area|share|rate|frequency)\b"
        r"|wie (?:viele?|lange|weit|alt|hoch|groß|tief|schnell|schwer|oft|breit)\b"
        r"|cuánt[oa]s?\b|qué (?:porcentaje|cantidad|número)\b"
        r"|combien\b|quel(?:le)? (?:est (?:le|la) )?(?:nombre|pourcentage|prix|taille|hauteur)\b",
    ),
    (
        AnswerType.PERSON,
        r"who(?:m|se)?\b|(?:what|which) (?:\w+ )?(?:person|man|woman|king|queen|president|emperor|"
        r"author|scientist|player|actor|singer|leader|general|philosopher|architect|team|company|"
        r"organi[sz]ation|group|university|band)\b|what (?:is|was) the name\b"
        r"|we[rmn]\b|wessen\b|qui[eé]n(?:es)?\b|qui\b(?! est-ce que)",
    ),
    (
        AnswerType.PLACE,
        r"where\b|(?:what|which|in what|in which) (?:\w+ )?(?:city|country|state|county|town|"
        r"place|region|continent|river|lake|island|area|street|location|province|district)\b"
        r"|wo(?:her|hin)?\b|(?:in )?welche[rmns]? (?:stadt|land|ort|staat|region|fluss)\b"
        r"|(?:de |a )?dónde\b|en qué (?:ciudad|país|lugar)\b|où\b|quel(?:le)? (?:ville|pays)\b",
    ),
)
_ASKS = tuple(
    (kind, re.compile(rf"(?<!\w)(?:{pattern})", re.IGNORECASE)) for kind, pattern in _QUESTIONS
)
# Inside a question these join a clause ("what happens when it fails", "the man who ..."): they ask
# where it opens, after a comma or a preposition, or where it ends.
_JOINING = frozenset(
    "when where who whom whose wer wem wen wessen wo woher wohin qui quand où".split()  # noqa: SIM905
)
_OPENS = re.compile(
    r"(?:^|[,;:.!?])\W*(?:(?:and|but|so|then|also|in|on|at|to|from|by|since|until|with|for|of|about"
    r"|near|und|seit|bis|mit|von|an|für|et|de|à|depuis|avec|pour|par|y|desde|con|para|besides|or)"
    r"\W+)?$",
    re.IGNORECASE,
)

_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "januar|februar|märz|mai|juni|juli|oktober|dezember|enero|febrero|marzo|abril|mayo|junio|"
    "julio|agosto|septiembre|octubre|noviembre|diciembre|janvier|février|mars|avril|juin|juillet|"
    "août|septembre|octobre|novembre|décembre"
)
_DATE = re.compile(
    rf"\b(?:1[0-9]|20)\d\d(?:s|er|–\d\d)?\b|\b\d{{1,4}}\s?(?:BCE?|AD|CE|v\. ?Chr|n\. ?Chr)\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)? (?:century|centuries)\b|\b(?:{_MONTHS})\b"
    r"|\b\d{1,2}\. Jahrhundert|\bsiglo [IVX]+\b|\b[IVX]+e siècle|\d{4}-\d\d-\d\d"
    r"|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\w+teenth|twentieth) "
    r"century\b",
    re.IGNORECASE,
)
_WORD_NUMBERS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    "sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|"
    "hundred|thousand|million|billion|half|once|twice|dozen|zwei|drei|vier|fünf|sechs|sieben|acht|"
    "neun|zehn|elf|zwölf|zwanzig|hundert|tausend|dos|tres|cuatro|cinco|siete|ocho|nueve|diez|cien|"
    "mil|deux|trois|quatre|cinq|sept|huit|neuf|dix|cent|mille"
)
_NUMBER = re.compile(
    rf"(?<![\w.,])[$€£¥]?\d[\d.,]*(?:%|½)?|\b(?:{_WORD_NUMBERS})s?\b|½", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")


def answer_type(question: str) -> AnswerType:
    """The type of answer that a question asks for, by the pattern that occurs first in it."""
    matches = [
        (match.start(), place, kind)
        for place, (kind, pattern) in enumerate(_ASKS)
        if (match := _first(question, pattern))
    ]
    if matches:
        return min(matches)[2]
    return AnswerType.MEANS if asks_how(question) else AnswerType.OTHER


def offers(kind: AnswerType, sentence: str, question: str) -> bool:
    """Whether a sentence has a token of that type which the question does not have itself.

    True for OTHER: nothing can be missing. In German any noun may be a name.
    """
    if kind is AnswerType.OTHER:
        return True
    folded = question.casefold()
    return any(token.casefold() not in folded for token in _tokens(kind, sentence))


def _first(question: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    for match in pattern.finditer(question):
        if match.group().casefold() not in _JOINING:
            return match
        ends = not question[match.end() :].strip(" ?!.")
        if ends or _OPENS.search(question[: match.start()]):
            return match
    return None


def _tokens(kind: AnswerType, sentence: str) -> list[str]:
    if kind is AnswerType.DATE:
        return [match.group() for match in _DATE.finditer(sentence)]
    if kind is AnswerType.NUMBER:
        return [match.group() for match in _NUMBER.finditer(sentence)]
    if kind is AnswerType.IDENTIFIER:
        return [identifier.text for identifier in find_identifiers(sentence)]
    if kind is AnswerType.MEANS:
        return names_in_code(sentence)
    return _names(sentence)


def _names(sentence: str) -> list[str]:
    """Words with a capital; of the first one, which has one anyway, if the second has one too."""
    words = [match.group() for match in _WORD.finditer(sentence)]
    capital = [word[:1].isupper() for word in words]
    return [
        word
        for place, word in enumerate(words)
        if capital[place] and (place or capital[1:2] == [True])
    ]


_ASKS_HOW = re.compile(
    r"""(?<!\w)(?:
      how\ (?:do|does|can|could|should|would|must|might|may)\ (?:i|we|you|one|someone|an?|the)\b
    | how\ (?:best\ )?to\b
    | (?:what\ is|what's)\ the\ (?:best\ |right\ )?way\ to\b
    | wie\ (?:kann|muss|soll|sollte|könnte|\w+e)\ (?:ich|wir|man)\b
    | cómo\ (?:se\ )?(?:puedo|podemos|debo|hago|\w+o)\b
    | comment\ (?:(?:puis|dois|pouvons|faire|peut)\b|\w+(?:er|ir|re)\b)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# What may come before the order: a number in a list, then a purpose or a condition, then a filler.
_BEFORE_ORDER = r"""
    ^\W*
    (?:\d+[.)]\s+)?
    (?:(?:to|in\ order\ to|if|for|when|as|by)\b[^,]{0,160},\s+)?
    (?:please\ |just\ |simply\ |first,?\ |then,?\ |instead,?\ )*
"""
_ORDER = r"""
    you\ (?:can|may|could|should|must|need\ to|have\ to)\b
    | use|call|set|add|pass|run|create|define|write|put|include|import|install|open|select|choose
    | click|press|enter|type|send|apply|wrap|override|enable|disable|remove|specify|give|change
    | configure|turn|start|stop|make\ sure
"""
_INSTRUCTS = re.compile(
    rf"""(?:{_BEFORE_ORDER})(?:{_ORDER})\b
    | \byou\ (?:can|could|may|should|must|need\ to|have\ to)\b
    | \b(?:by|via)\ (?:using|calling|setting|passing|adding)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_LIMITS = re.compile(
    r"""^\W*however\b
    | \b(?:is|are)\ (?:limited|restricted)\ to\b
    | \b(?:cannot|can['’]t|unless)\b
    | \b(?:do|does|did|is|are|was|were|will|would|should)(?:\ not|n['’]t)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_NAME_IN_CODE = re.compile(
    r"""\b\w+\(                        # name(
    | \b[A-Z][A-Z0-9]+_[A-Z]\w*        # A_SETTING
    | \b[a-z0-9]+_[a-z]\w*             # a_name
    | (?<![\w-])--\w[\w-]*             # --option
    | \b[a-z]+[A-Z]\w+                 # aName
    | \b[A-Z][a-z]+[A-Z]\w+            # ANameOfAClass
    """,
    re.VERBOSE,
)


def asks_how(question: str) -> bool:
    """Whether a question asks how to reach a goal (English, German, Spanish and French)."""
    return bool(_ASKS_HOW.search(question))


def instructs(sentence: str) -> bool:
    """Whether a sentence tells its reader to do something (in English)."""
    return bool(_INSTRUCTS.search(sentence))


def limits(sentence: str) -> bool:
    """Whether a sentence says what does not work (in English)."""
    return bool(_LIMITS.search(sentence))


def names_in_code(sentence: str) -> list[str]:
    """The names of functions, settings, options and classes in a sentence, by their shapes."""
    return [match.group() for match in _NAME_IN_CODE.finditer(sentence)]

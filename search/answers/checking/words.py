"""Content words and their likeness, without a dictionary. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

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
    found = list(words(text))
    return sum(word in _GERMAN for word in found) * 6 >= len(found) > 0

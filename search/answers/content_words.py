"""Words with content, in five languages, and their likeness. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Scripts without spaces between words: their overlapping pairs of letters stand for words.
_UNSPACED = re.compile(r"[\u0e01-\u0eff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]+")
# Words without content of their own, in English, German, Spanish, French and Italian; the last
# English lines are those in which an answer speaks of its sources.
STOP = frozenset(
    """
    a about after again all also although always am among an and another any are around as at back
    be became because been before being below between big both but by came can cannot could did do
    does doing done during each either else etc even ever every few for from far further get gets
    give given gives go goes got had has have having he her here hers him his how however i if in
    instead into is it its itself just kind least less let long lot made mainly make makes making
    many may me means might more most much must my named nearly need needs neither never no nobody
    none nor not nothing now of off often old on once one ones only onto or other others otherwise
    our out over own per perhaps please put quite rather really same says see seem seems set shall
    she should since so some someone something sometimes soon still such take taken takes tell
    than that the their them themselves then there therefore these they thing things this those
    though through thus to together too toward towards under until up upon us use used uses using
    usually very via was way we well were what when where whether which while who whom whose why
    will with within without would yes yet you your noted note word words example practice general
    contrast case addition result short summary following follows called known referred
    according states stated state mentions mentioned describes described explain show passage
    passages document documents source sources text section sentence
    aber alle allem allen aller alles als an andere anderen auch auf aus bei beim bis bist bitte
    da damit dann daran darauf daraus darf darin das dass dazu dein dem den denn der deren des
    dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem
    einen einer eines einige er es etwa etwas für gegen gibt hat haben hatte hatten hier ich ihm
    ihn ihnen ihr ihre ihrem ihren ihrer im immer ins ist ja jede jedem jeden jeder jedes jedoch
    kann kein keine keinem keinen keiner können könnte lange machen man mehr mein meine mit muss
    müssen nach neben nein nicht nichts noch nun nur ob oder oft ohne schon sehr sein seine seinem
    seinen seiner seit selbst sich sie sind soll sollen sollte sollten sondern sonst sowie tue tun
    tut um und uns unser unsere unter viel viele vom von vor wann waren warum weil welche welcher
    welches wem wen wenn wer werden wie wieder wieso wir wird wo wurde wurden während zu zum zur
    zwar zwischen über
    al cada como con cuando cuál cuáles cuántas cuánto cuántos cómo cuándo de del dónde el ella
    ello en es esa ese esos esta este esto estos fue fueron ha han la las le lo los más
    para pero por que quién qué se según ser sobre su sus también un una unas unos y
    ai au aux avec c ce ces cet cette combien comment d dans dei della delle di donc dove du elle
    elles est et été gli il ils je l leur leurs mais nos notre nous ont où par pas plus pour
    pourquoi quand quanto quel quelle quelles quels questa questo qui quoi sa sans ses si sont sur
    une vos votre vous è che chi cosa da perché più quale sono uno
    """.split()  # noqa: SIM905 - four hundred quoted words read worse
)
# Pronouns that point back wherever they stand.
POINTING = frozenset(
    """
    it its itself they them their theirs he him his she her hers latter former
    es ihn ihm ihr ihre ihren ihrer ihrem er dessen deren davon damit dafür dazu darin darauf
    dieser dieses diesem diesen diese
    celui celle ceux celles lui leur leurs elle elles
    ello ellos ellas suyo questo questa questi queste esso essa essi
    """.split()  # noqa: SIM905 - a list of forty quoted words reads worse
)
_ENDINGS = (
    "ations", "ation", "ements", "ement", "ments", "ment", "ingly", "edly", "ings", "ies", "ied",
    "ing", "ers", "est", "ly", "ed", "er", "es", "en", "em", "'s", "’s", "s", "e", "n", "y",
)  # fmt: skip
_SHORTEST_STEM = 4
_REMAINDER = 4  # letters in which two forms of a word may differ at their ends


def words(text: str) -> Iterable[str]:
    """The words of a text in lower case; pairs of letters for scripts without spaces."""
    text = text.lower()
    return _words_or_pairs(text) if _UNSPACED.search(text) else _WORD.findall(text)


def _words_or_pairs(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if not _UNSPACED.search(word):
            yield word
            continue
        for run in re.findall(rf"{_UNSPACED.pattern}|[a-z0-9]+", word):
            if len(run) == 1 or not _UNSPACED.match(run):
                yield run
            yield from (run[i : i + 2] for i in range(len(run) - 1) if _UNSPACED.match(run))


def content(text: str) -> list[str]:
    """The stems of a text's content words, in order; words with digits are left out."""
    return [
        stem(word)
        for word in words(text)
        if word not in STOP
        and not any(map(str.isdigit, word))
        and (len(word) > 1 or _UNSPACED.match(word))
    ]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The word without its ending; for forms with different stems see `alike`."""
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

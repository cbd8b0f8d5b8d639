"""Whether a query asks for its identifiers, or only names them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ingestion.identifiers import Mention

# A query with more other content words than this is prose: on SciFact putting the holders of a
# short code first costs nothing up to 4 other words, and .11 nDCG@10 beyond (ADR 2).
MOST_OTHER_WORDS = 4

_WORD = re.compile(r"[^\W_]*[^\W\d_][^\W_]*(?:[-'’][^\W_]+)*")
# The openings of a question for a thing. "When", "who", "how" and "why" are not among them: they
# ask for something else than the identifier.
_OPENINGS = frozenset(
    """
    what what's whats where where's show find locate open get give tell explain describe define
    definition meaning please can could would
    was wo zeige zeig finde erkläre beschreibe definiere bitte
    qu'est-ce où montre trouve explique décris
    qué dónde muestra busca explica cosa dove mostra spiega que onde mostre wat waar toon
    """.split()  # noqa: SIM905 - a list of sixty quoted words reads worse
)
# Words that ask: a text that answers need not have them. Shorter ones are not looked for.
ASKING = _OPENINGS | frozenset(
    """
    long often much many lange viel viele
    list describing explaining showing telling mean means overview summarize summarise compare whose
    which when
    liste nenne erläutere erklär erzähl erzähle welche welcher welches wieso warum wann vergleiche
    montrez expliquez décrivez définis définissez dites donne donnez comment pourquoi quel quelle
    dime cuéntame muéstrame explícame describe define lista cuál cómo
    dimmi descrivi definisci elenca quale come diga mostre conte explique descreva defina
    vertel beschrijf definieer toon noem welke berätta förklara beskriv visa definiera
    fortæl forklar definer hvad hvordan fortell kerro selitä kuvaile näytä määrittele luettele miten
    расскажи объясни опиши покажи определи перечисли anlat açıkla tanımla göster listele nedir nasıl
    mondd magyarázd mutasd sorold spune explică descrie arată definește jelaskan tunjukkan
    """.split()  # noqa: SIM905
)
# Words without content: those of the openings, and articles, prepositions and forms of "to be", in
# the languages of most libraries; in other languages such words count as content.
_EMPTY = _OPENINGS | frozenset(
    """
    a an the this that these those of in on at to for from by with as about and or is are was were
    be it its me us my our i you do does up there
    der die das den dem des ein eine einen einem einer ist sind im in am auf von vom zu zum zur für
    mit und oder über mir uns bedeutet
    le la les l' un une des du de d' est sont ce que c'est sur dans pour avec et ou moi
    el los las una del es son en sobre para con y o me
    il lo gli i è sono di da su per e che mi
    os as uns umas é são do da dos das em no na
    het een van op voor met en of mij zijn
    """.split()  # noqa: SIM905
)
_DOMAINS = "com|org|net|edu|gov|mil|info|biz|tv|co|ly|be|uk|eu|de|fr|us|ca|au"
_ADDRESS = re.compile(
    r"\w*(?:https?|ftp)://\S*|(?<!\w)www\.\S+|(?<!\w)#\w+|"
    rf"(?<![\w@.-])(?:[\w-]{{1,63}}\.){{1,4}}(?:{_DOMAINS})(?![\w(:.]|-\w)(?:/\S*)?",
    re.IGNORECASE,
)
_HANDLE = re.compile(r"(?<![\w@.])@\w+(?:@\w+)*")


def outside_urls(text: str, identifiers: Sequence[Mention]) -> list[Mention]:
    """The identifiers of a query without those that are only parts of an address in it.

    Parts of links, domains and hashtags count only if the query has no other content word; those
    of handles (@name) only if it is no prose.
    """
    addresses = [match.span() for match in _ADDRESS.finditer(text)]
    handles = [match.span() for match in _HANDLE.finditer(text)]
    spans = [*addresses, *handles, *((one.start, one.end) for one in identifiers)]
    others = sum(1 for _ in _other_words(text, spans))
    dropped = addresses if others else []
    if others > MOST_OTHER_WORDS:
        dropped = dropped + handles
    return [one for one in identifiers if not _within(one.start, one.end, dropped)]


def asks_for(text: str, identifiers: Sequence[Mention]) -> bool:
    """Whether a query asks for its identifiers: half of its content words, or a short question.

    A short question opens with such words as "what is" or "show me", directly before an
    identifier, and says at most MOST_OTHER_WORDS content words besides. Equal identifiers count
    once, numbers not at all.
    """
    if not identifiers:
        return False
    others = sum(1 for _ in _other_words(text, [(one.start, one.end) for one in identifiers]))
    if len({one.canonical for one in identifiers}) >= others:
        return True
    # “How much does X cost?” is “What does X cost?”.
    before = text[: identifiers[0].start].casefold().replace("how much", "what")
    words = [word for word, _, _ in _words(before)]
    opens = bool(words) and words[0] in _OPENINGS and _EMPTY.issuperset(words)
    return opens and others <= MOST_OTHER_WORDS


def _words(text: str) -> Iterator[tuple[str, int, int]]:
    """The words of the text, case-folded, each with its span."""
    for match in _WORD.finditer(text):
        yield match.group().casefold().replace("’", "'"), match.start(), match.end()


def _other_words(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The content words of the text outside the spans."""
    for word, start, end in _words(text):
        if word not in _EMPTY and not _within(start, end, spans):
            yield word


def _within(start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether [start, end) overlaps a span."""
    return any(start < other_end and other_start < end for other_start, other_end in spans)

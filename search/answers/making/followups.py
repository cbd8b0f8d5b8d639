"""Follow-up questions without a model: which question is one, and how it is made standalone. Pure.

A question that points back takes the previous question's identifiers and its rarest words along,
never the whole history: on mtrag_cloud the last question alone ranks better than the history
(nDCG@10 .248 against .189).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from search.answers.words import STOP
from search.domain import Query

# The most words that a follow-up takes along. A guess: more would outweigh its own.
MOST_WORDS = 3
# A shorter question says too little to stand alone: "How long?", "Since when?".
FEWEST_WORDS = 2
# So many content words make a question of its own, although it opens with "and".
MOST_WORDS_ELLIPTIC = 3

_WORD = re.compile(r"[^\W_](?:[^\W_]|[-'’.](?=[^\W_]))*")
# Pronouns that point back wherever they stand.
_POINTING = frozenset(
    """
    it its itself they them their theirs he him his she her hers latter former
    es ihn ihm ihr ihre ihren ihrer ihrem er dessen deren davon damit dafür dazu darin darauf
    dieser dieses diesem diesen diese
    celui celle ceux celles lui leur leurs elle elles
    ello ellos ellas suyo questo questa questi queste esso essa essi
    """.split()  # noqa: SIM905 - a list of forty quoted words reads worse
)
# Words that point back in a short question; in a long one they are conjunctions and articles.
_PERHAPS = frozenset(
    """
    this that these those one ones same other others another both either neither
    sie das dies beide beides andere anderen
    ça cela il ils ce cet cette autre autres
    eso esto estos esas otro otra ciò altro altra
    """.split()  # noqa: SIM905
)
_OPENING = re.compile(
    r"\s*(?:and|but|or|so|also|then|what about|how about|what if|why not|"
    r"und|aber|oder|auch|was ist mit|wie ist es mit|wie sieht es mit|warum nicht|"
    r"et|mais|ou|qu'en est-il|y|pero|e|ma|en|maar)\b",
    re.IGNORECASE,
)


def content_words(text: str) -> tuple[str, ...]:
    """The words of a question that carry content, each once, in its order."""
    words = (match.group() for match in _WORD.finditer(text))
    kept = {_folded(word): word for word in words if _has_content(_folded(word))}
    return tuple(kept.values())


def follows_up(query: Query) -> bool:
    """Whether a question in a conversation cannot be understood without the one before.

    It is if it names no identifier and points back by a pronoun, opens as a continuation ("and",
    "what about") with few words of its own, or has hardly any content word.
    """
    if query.identifiers:
        return False
    text = query.original or query.text
    words = {_folded(match.group()) for match in _WORD.finditer(text)}
    own = len(content_words(text))
    if words & _POINTING or own < FEWEST_WORDS:
        return True
    if own > MOST_WORDS_ELLIPTIC:
        return False
    return bool(words & _PERHAPS) or _OPENING.match(text) is not None


def rarest(words: Sequence[str], chunks: Mapping[str, int]) -> tuple[str, ...]:
    """The words in the fewest passages, at most MOST_WORDS, in the question's order.

    `chunks`: in how many passages each occurs; words in none are left out.
    """
    known = [word for word in words if chunks.get(word, 0) > 0]
    chosen = sorted(known, key=lambda word: (chunks[word], words.index(word)))[:MOST_WORDS]
    return tuple(word for word in words if word in chosen)


def joined(question: str, previous: Query, rare: Sequence[str], *, most: int) -> str:
    """The question with the previous one's identifiers and rare words, in `most` characters."""
    present = {_folded(match.group()) for match in _WORD.finditer(question)}
    text = " ".join(question.split())
    for word in (*(each.text for each in previous.identifiers), *rare):
        if _folded(word) in present or len(text) + 1 + len(word) > most:
            continue
        present |= {_folded(word), *(_folded(match.group()) for match in _WORD.finditer(word))}
        text = f"{text} {word}"
    return text


def _has_content(word: str) -> bool:
    if word in STOP or word in _POINTING or word in _PERHAPS:
        return False
    return len(word) > 1 or not word.isascii() or word.isdigit()


def _folded(word: str) -> str:
    return word.casefold().replace("’", "'")

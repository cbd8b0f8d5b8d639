"""Key phrases of a text: frequent or self-contained runs of content words, weighed by rarity.

Candidates as in RAKE (Rose et al. 2010): runs of words between stop words and punctuation, and the
phrases of up to three words within them. Their score is the C-value (Frantzi, Ananiadou & Mima
2000), log2(1 + words) times the occurrences outside of longer candidates, times the mean idf of the
words in the corpus.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ingestion.lexical.bigrams import IN_RUN

MAX_WORDS = 3
# A document has FEWEST key phrases, and one more for every WORDS_EACH content words, up to MOST:
# an abstract of 150 words about 10, a chapter 100. concept-rag's model finds 80 to 150 in a book
# (F2-08). A guess.
FEWEST, WORDS_EACH, MOST = 5, 20, 100
MIN_LETTERS = 3
MAX_CHARS = 200
MAX_WORD = 60  # a longer one is data

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Between two words of one phrase: a space, a line's end or a hyphen.
_JOINS = re.compile(r"(?:[ \t\u00a0]*\n?[ \t\u00a0]*|[-\u2010\u2011])\Z")

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyPhrase:
    """A key phrase: its lexemes, usual form, occurrences, and the first text that has it.

    `weight`, in (0, 1], is its score relative to the best of the document.
    """

    lexemes: Key
    label: str
    count: int
    weight: float
    place: int


@dataclass(slots=True)
class _Phrase:
    """A candidate's counts and forms; `is_run`: it is a whole run somewhere."""

    place: int
    count: int = 0
    is_run: bool = False
    forms: Counter[str] = field(default_factory=Counter)


def words_of(texts: Sequence[str]) -> set[str]:
    """The distinct words of the texts, in lower case, that `key_phrases` asks to be read."""
    return {
        match.group().lower()
        for text in texts
        for match in _WORD.finditer(text)
        if len(match.group()) <= MAX_WORD
    }


def key_phrases(
    texts: Sequence[str], read: Mapping[str, str], idf: Callable[[str], float]
) -> list[KeyPhrase]:
    """The key phrases of a document's consecutive texts, best first.

    `read` has the lexeme of each content word (`words_of`); words that it lacks are stop words.
    Scripts without word breaks, numbers and words of one or two letters in lower case yield none.
    """
    phrases: dict[Key, _Phrase] = {}
    total = 0
    for place, text in enumerate(texts):
        for run in _runs(text, read):
            total += len(run)
            _count(phrases, run, text, place)
    candidates = {key: each for key, each in phrases.items() if each.count > 1 or each.is_run}
    nested = _nested(candidates)
    scores: dict[Key, float] = {}
    for key, each in candidates.items():
        own = each.count - nested.get(key, 0.0)
        if own > 0:
            rarity = math.fsum(map(idf, key)) / len(key)
            scores[key] = math.log2(1 + len(key)) * own * rarity
    most = _most(total)
    best_keys = sorted(scores, key=lambda key: (-scores[key], phrases[key].place, key))[:most]
    best = max((scores[key] for key in best_keys), default=1.0)
    return [
        KeyPhrase(
            key,
            _form(candidates[key]),
            candidates[key].count,
            scores[key] / best,
            candidates[key].place,
        )
        for key in best_keys
    ]


def phrase_count(texts: Sequence[str], read: Mapping[str, str]) -> int:
    """The number of key phrases for texts of this length."""
    return _most(sum(len(run) for text in texts for run in _runs(text, read)))


def _most(words: int) -> int:
    return min(FEWEST + words // WORDS_EACH, MOST)


def lexemes_of(phrase: str, read: Mapping[str, str]) -> Key:
    """The lexemes of a phrase that is one run of one to MAX_WORDS content words; else ()."""
    runs = list(_runs(phrase, read))
    if len(runs) != 1 or len(runs[0]) > MAX_WORDS:
        return ()
    return tuple(lexeme for lexeme, _, _ in runs[0])


def occurrences(
    texts: Sequence[str], read: Mapping[str, str], keys: Sequence[Key]
) -> list[tuple[Key, str, int, int]]:
    """Each of the `keys` that the texts contain, in their order: key, usual form, number of
    occurrences, and the first text that has it.
    """
    phrases: dict[Key, _Phrase] = {}
    for place, text in enumerate(texts):
        for run in _runs(text, read):
            _count(phrases, run, text, place)
    return [
        (key, _form(phrases[key]), phrases[key].count, phrases[key].place)
        for key in keys
        if key in phrases
    ]


def _form(phrase: _Phrase) -> str:
    """The most frequent form of a phrase, the first by name of several."""
    return min(phrase.forms, key=lambda form: (-phrase.forms[form], form))


Run = list[tuple[str, int, int]]


def _runs(text: str, read: Mapping[str, str]) -> Iterator[Run]:
    """Yield the runs of content words as lexemes with their places in the text."""
    run: Run = []
    end = 0
    for match in _WORD.finditer(text):
        lexeme = read.get(match.group().lower(), "") if _is_content(match.group()) else ""
        if run and not (lexeme and _JOINS.match(text[end : match.start()])):
            yield run
            run = []
        if lexeme:
            run.append((lexeme, match.start(), match.end()))
        end = match.end()
    if run:
        yield run


@lru_cache(maxsize=16_384)  # nine in ten of a document's words exist already
def _is_content(word: str) -> bool:
    """Whether the word can be part of a phrase."""
    if len(word) > MAX_WORD or not any(map(str.isalpha, word)) or IN_RUN.search(word):
        return False
    return len(word) >= MIN_LETTERS or (len(word) > 1 and word.isupper())


def _count(phrases: dict[Key, _Phrase], run: Run, text: str, place: int) -> None:
    """Count the phrases of up to MAX_WORDS words in one run."""
    for size in range(1, min(len(run), MAX_WORDS) + 1):
        for first in range(len(run) - size + 1):
            part = run[first : first + size]
            label = text[part[0][1] : part[-1][2]]
            if size > 1:
                label = " ".join(label.split())
            if len(label) > MAX_CHARS:
                continue
            key = tuple([lexeme for lexeme, _, _ in part])
            each = phrases.get(key)
            if each is None:
                each = phrases[key] = _Phrase(place)
            each.count += 1
            each.is_run = each.is_run or size == len(run)
            each.forms[label] += 1


def _nested(candidates: Mapping[Key, _Phrase]) -> dict[Key, float]:
    """The mean count of the longer candidates that contain each candidate."""
    counts: dict[Key, list[int]] = {}
    for key, each in candidates.items():
        parts = {
            key[first : first + size]
            for size in range(1, len(key))
            for first in range(len(key) - size + 1)
        }
        for part in parts:
            counts.setdefault(part, []).append(each.count)
    return {key: math.fsum(numbers) / len(numbers) for key, numbers in counts.items()}

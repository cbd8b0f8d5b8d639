"""How much of a question a text says: idf-weighted overlap of its words. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ingestion.lexical.languages import primary_code
from search.domain import TermStatistic

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Scripts without spaces: pairs of characters stand for words, as in `ingestion.lexical.ngrams`.
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
# A suffix of at most so many letters is an inflection of the same stem. A guess.
SUFFIX = 4
SHORTEST_STEM = 3
NUMBERED = re.compile(r"\d")

_EMPTY = {
    "en": "a an the this that these those of in on at to for from by with as about into than and "
    "or but not is are was were be been being it its he she they them his her their i me my we us "
    "our you your do does did done has have had can could may might will would shall should must "
    "what which who whom whose when where why how many much there here also if then so such no "
    "any some",
    "de": "der die das den dem des ein eine einen einem einer eines und oder aber ist sind war "
    "waren wird werden wurde wurden hat haben hatte hatten in im an am auf von vom zu zum zur für "
    "mit bei aus nach über unter um als wie was wer wen wem wann wo warum welche welcher welches "
    "viele viel nicht es er sie sich man auch ich wir",
    "es": "el la los las un una unos unas y o pero es son fue fueron era ser ha han había en de "
    "del al a por para con sin sobre como que qué quién cuándo dónde cuál cuánto cuántos cuánta "
    "cuántas su sus se lo le no más",
    "fr": "le la les l un une des du de d et ou mais est sont était étaient être a ont avait en "
    "dans sur par pour avec sans comme que qu qui quoi quand où quel quelle quels quelles combien "
    "pourquoi ce cette ces son sa ses leur il elle ils elles se ne pas plus au aux",
}
_STOP = {code: frozenset(words.split()) for code, words in _EMPTY.items()}


def tokens(text: str) -> list[str]:
    """The words of a text in lower case; of Chinese, Japanese and Korean, pairs of characters."""
    found: list[str] = []
    for match in _WORD.finditer(text.lower()):
        word = match.group()
        runs = _CJK.findall(word)
        if not runs:
            found.append(word)
        for run in runs:
            found += [run[place : place + 2] for place in range(max(len(run) - 1, 1))]
    return found


def question_weights(
    question: str,
    terms: Sequence[TermStatistic],
    texts: Sequence[str],
    *,
    language: str = "",
) -> dict[str, float]:
    """The weight of each lexeme of a question: the search's idf, or one of `texts` without terms.

    Stop words have none. Lexemes of the search may be stems; `says` knows.
    """
    if terms:
        return {term.lexeme: term.idf for term in terms if term.idf > 0}
    stop = _STOP.get(primary_code(language) or "en", _STOP["en"])
    held = Counter(word for text in texts for word in set(tokens(text)))
    words = [word for word in dict.fromkeys(tokens(question)) if word not in stop]
    # BM25's idf over the sentences (Robertson & Zaragoza 2009).
    count = len(texts)
    return {word: math.log(1 + (count - held[word] + 0.5) / (held[word] + 0.5)) for word in words}


@dataclass(slots=True)
class QuestionWords:
    """The lexemes of a question with their weights; remembers which of them a word says."""

    weights: Mapping[str, float]
    _said: dict[str, frozenset[str]] = field(default_factory=dict)

    def share(self, words: Iterable[str]) -> float:
        """The share, in [0, 1], of the weights that these words say; 0 without weights."""
        total = sum(self.weights.values())
        said: set[str] = set()
        for word in words:
            said |= self._lexemes(word)
        return sum(w for each, w in self.weights.items() if each in said) / total if total else 0.0

    def _lexemes(self, word: str) -> frozenset[str]:
        found = self._said.get(word)
        if found is None:
            found = frozenset(each for each in self.weights if says(word, each))
            self._said[word] = found
        return found


def says(word: str, lexeme: str) -> bool:
    """Whether a word is the lexeme, or an inflection of it."""
    if word == lexeme:
        return True
    if len(lexeme) < SHORTEST_STEM or NUMBERED.search(lexeme):
        return False
    return same_stem(word, lexeme)


def same_stem(word: str, lexeme: str) -> bool:
    """Whether a word inflects the stem. Snowball also changes a stem's end: `happi`, `citi`."""
    if abs(len(word) - len(lexeme)) > SUFFIX or NUMBERED.search(word):
        return False
    root = lexeme[:-1] if len(lexeme) > SHORTEST_STEM and lexeme[-1] in "iy" else lexeme
    return word.startswith(root)

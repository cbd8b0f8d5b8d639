"""How well each sentence of a context answers a question. Pure.

A sentence's score is a weighted sum of what its words, its passage, the type of its tokens and its
nearness in meaning say for it: a linear model fitted by listwise softmax (Cao et al. 2007).
docs/answers.md has the formula, the run that chose the weights, and what they give.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ingestion.embedding import Vectors
from ingestion.lexical.sentences import Kind, sentences
from search.answers.domain import Context, Passage
from search.answers.extracting.answer_types import (
    AnswerType,
    answer_type,
    instructs,
    limits,
    offers,
)
from search.answers.words import STOP, words
from search.domain import TermStatistic

# Fitted on the answerable questions of half of squad20_dev's articles (414 of 900 evenly spread
# ones, seed 0); docs/answers.md has the outcome on the other half.
SAID = 2.5  # the share of the question's idf that the sentence says
SAID_AROUND = 5.0  # ... with the sentence before, the title and the headings
SAID_IN_PASSAGE = 2.0  # ... that the whole passage says
NO_TYPE = -3.0  # the question asks for a date, number or name, and the sentence has none
RECIPROCAL_RANK = 1.6  # 1 / rank of the passage
LEAD_IN = -3.0  # it ends with a colon: what it introduces would answer. A guess; SQuAD has none
MEANING = 0.94  # a standard deviation of the cosine among the sentences compared

# A question how to reach a goal repeats the goal's words; its answer names a means. There, a
# sentence's own words say less, its passage's rank more. Chosen on 35 questions about Django.
HOW_SAID, HOW_SAID_AROUND, HOW_RECIPROCAL_RANK = 1.0, 1.0, 3.0
INSTRUCTS = 0.7  # it tells its reader what to do
LIMITS = -1.0  # it says what does not work

# Only so many sentences are embedded: 12 to all made no difference of .005 in the same run.
EMBEDDED = 16
# Cosines of a model that hardly differ must not decide. A guess; MiniLM's spread is about .12.
LEAST_SPREAD = 0.02

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Offer:
    """A sentence of a passage at [start, end), with what its words say for it, each in [0, 1]."""

    passage: Passage
    start: int
    end: int
    words: frozenset[str]
    said: float
    said_around: float
    said_in_passage: float
    has_type: bool
    kind: AnswerType = AnswerType.OTHER  # that the question asks for

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]

    @property
    def in_context(self) -> str:
        """The sentence after the title and heading of its passage, to be embedded.

        Without them .02 fewer answers are found: a sentence says "he" or "the company".
        """
        passage = self.passage
        names = dict.fromkeys((passage.title, *passage.heading_path[-1:]))
        return ": ".join([*filter(None, names), self.text])

    @property
    def by_words(self) -> float:
        """The score without the meaning."""
        asks_how = self.kind is AnswerType.MEANS
        said, around, rank = SAID, SAID_AROUND, RECIPROCAL_RANK
        if asks_how:
            said, around, rank = HOW_SAID, HOW_SAID_AROUND, HOW_RECIPROCAL_RANK
        return (
            said * self.said
            + around * self.said_around
            + SAID_IN_PASSAGE * self.said_in_passage
            + NO_TYPE * (not self.has_type)
            + INSTRUCTS * (asks_how and instructs(self.text))
            + LIMITS * (asks_how and limits(self.text))
            + LEAD_IN * self.text.endswith((":", "："))
            + rank / max(self.passage.rank, 1)
        )


@dataclass(frozen=True, slots=True)
class ComparedQuestion:
    """A question as the sentences are compared with it."""

    text: str
    kind: AnswerType
    words: QuestionWords


def compared_question(
    question: str, context: Context, terms: Sequence[TermStatistic]
) -> ComparedQuestion:
    """The question with the weights of its words: the search's, or those in the context."""
    texts = [passage.text for passage in context.passages]
    weights = question_weights(question, terms, texts)
    return ComparedQuestion(question, answer_type(question), QuestionWords(weights))


def offers_of(question: ComparedQuestion, context: Context) -> list[Offer]:
    """The sentences of a context, in its order, without headings and lines of code that end with
    an open bracket: they answer nothing.
    """
    return [offer for passage in context.passages for offer in _of_passage(question, passage)]


def _of_passage(question: ComparedQuestion, passage: Passage) -> Iterable[Offer]:
    around = set(words(" ".join((passage.title, *passage.heading_path))))
    in_passage = question.words.share(around | set(words(passage.text)))
    before: set[str] = set()
    for span in sentences(passage.text, language=passage.language):
        sentence = passage.text[span.start : span.end]
        own = set(words(sentence))
        if own and span.kind is not Kind.HEADING and not _is_opening(span.kind, sentence):
            yield Offer(
                passage,
                span.start,
                span.end,
                frozenset(own),
                question.words.share(own),
                question.words.share(own | before | around),
                in_passage,
                offers(question.kind, sentence, question.text),
                question.kind,
            )
        before = own


def _is_opening(kind: Kind, line: str) -> bool:
    """Whether a line of code only begins what the next lines say."""
    return kind is Kind.CODE and line.endswith(("(", "[", "{"))


def promising(candidates: Sequence[Offer]) -> list[Offer]:
    """The sentences worth embedding, best first."""
    return sorted(candidates, key=lambda offer: -offer.by_words)[:EMBEDDED]


def scores(candidates: Sequence[Offer], cosines: Vectors | None) -> Floats:
    """The score of each sentence; without cosines, by words alone."""
    by_words = np.array([offer.by_words for offer in candidates], dtype=np.float64)
    if cosines is None or not len(candidates):
        return by_words
    spread = max(float(cosines.std()), LEAST_SPREAD)
    meaning: Floats = by_words + MEANING * (cosines - cosines.mean()) / spread
    return meaning


# A suffix of at most so many letters is an inflection of the same stem. A guess.
SUFFIX = 4
SHORTEST_STEM = 3
NUMBERED = re.compile(r"\d")


def question_weights(
    question: str,
    terms: Sequence[TermStatistic],
    texts: Sequence[str],
) -> dict[str, float]:
    """The weight of each lexeme of a question: the search's idf, or one of `texts` without terms.

    Stop words have none. Lexemes of the search may be stems; `says` knows.
    """
    if terms:
        return {term.lexeme: term.idf for term in terms if term.idf > 0}
    counts = Counter(word for text in texts for word in set(words(text)))
    rare = [word for word in dict.fromkeys(words(question)) if word not in STOP]
    # BM25's idf over the sentences (Robertson & Zaragoza 2009).
    count = len(texts)
    return {
        word: math.log(1 + (count - counts[word] + 0.5) / (counts[word] + 0.5)) for word in rare
    }


@dataclass(slots=True)
class QuestionWords:
    """The lexemes of a question with their weights; remembers which of them a word says."""

    weights: Mapping[str, float]
    _said: dict[str, frozenset[str]] = field(default_factory=dict)

    def share(self, said_words: Iterable[str]) -> float:
        """The share, in [0, 1], of the weights that these words say; 0 without weights."""
        total = sum(self.weights.values())
        said: set[str] = set()
        for word in said_words:
            said |= self._lexemes(word)
        return sum(w for each, w in self.weights.items() if each in said) / total if total else 0.0

    def _lexemes(self, word: str) -> frozenset[str]:
        lexemes = self._said.get(word)
        if lexemes is None:
            lexemes = frozenset(each for each in self.weights if says(word, each))
            self._said[word] = lexemes
        return lexemes


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

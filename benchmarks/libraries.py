"""Parts of judged collections as libraries in memory: BM25 over Postgres' lexemes."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from benchmarks.judged.collections import JudgedCollection
    from search.domain import Candidates

K1, B = 1.2, 0.75
LETTERS = 1_000  # of a passage; its rest is neither embedded nor matched


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its lexemes, the lexemes of each of its words, and the passages that answer.

    `home` is its collection.
    """

    home: str
    text: str
    lexemes: Counter[str]
    words: tuple[tuple[str, frozenset[str]], ...]
    relevant: frozenset[int]

    @property
    def group(self) -> str:
        return f"{self.home}: {self.text}"


@dataclass(frozen=True, eq=False)
class Library:
    """The passages of a collection, as counts of lexemes, and questions that it answers."""

    name: str
    texts: Sequence[str]
    lexemes: Sequence[Counter[str]]
    questions: Sequence[Question]

    @cached_property
    def frequencies(self) -> Counter[str]:
        return Counter(lexeme for each in self.lexemes for lexeme in each)

    @cached_property
    def lengths(self) -> Any:
        lengths = np.array([each.total() for each in self.lexemes])
        return K1 * (1 - B + B * lengths / lengths.mean())

    def keyword(self, question: Question) -> tuple[Any, tuple[Any, ...], tuple[str, ...]]:
        """BM25 of each passage, the question's terms, and its words that no passage has."""
        from search.domain import TermStatistic

        count, scores, terms = len(self.texts), np.zeros(len(self.texts)), []
        for lexeme, times in question.lexemes.items():
            if containing := self.frequencies[lexeme]:
                idf = math.log(1 + (count - containing + 0.5) / (containing + 0.5))
                terms.append(TermStatistic(lexeme, containing, idf, times))
                counts = np.array([each[lexeme] for each in self.lexemes])
                scores += terms[-1].weight * counts * (K1 + 1) / (counts + self.lengths)
        missing = [w for w, of in question.words if of and not any(map(self.frequencies.get, of))]
        return scores, tuple(terms), tuple(missing[:8])


def read(judged: JudgedCollection, passages: int, questions: int) -> Library:
    """A part of a collection: questions drawn, and their judged passages among others."""
    from search.domain import Query
    from search.query.spelling_correction import checked

    chance = random.Random(26)
    texts = {p.id: f"{p.title}\n\n{p.text}".strip()[:LETTERS] for p in judged.passages()}
    chosen: dict[str, None] = {}
    query_ids = []
    for query in chance.sample(sorted(judged.queries), len(judged.queries)):
        relevant = sorted(p for p, grade in judged.qrels[query].items() if grade > 0)[:3]
        if len(query_ids) < questions and len(chosen | dict.fromkeys(relevant)) <= passages:
            chosen |= dict.fromkeys(relevant)
            query_ids.append(query)
    rest = [each for each in texts if each not in chosen]
    chosen |= dict.fromkeys(chance.sample(rest, min(len(rest), passages - len(chosen))))
    places = {passage: place for place, passage in enumerate(chosen)}

    def question(text: str, relevant: Sequence[str]) -> Question:
        looked_for = checked(Query(text, original=text))
        known = tuple((word, frozenset(lexemes(word))) for word, form in looked_for if not form)
        where = frozenset(places[each] for each in relevant if each in places)
        return Question(judged.name, text, lexemes(text), known, where)

    return Library(
        judged.name,
        [texts[each] for each in chosen],
        [lexemes(texts[each]) for each in chosen],
        [
            question(judged.queries[q], [p for p, g in judged.qrels[q].items() if g > 0])
            for q in query_ids
        ],
    )


def candidates(
    library: Library,
    question: Question,
    cosines: Any,
    depth: int,
    embeddings: Any = None,
    *,
    without: frozenset[int] = frozenset(),
) -> Candidates:
    """The nearest and the best passages by words, so many each, but for those `without`.

    `embeddings` has a row for each passage, for relevance feedback.
    """
    from search.domain import ABSENT, SIGNALS, Candidates, Query, Reading, Signal, row_type
    from search.domain.candidates import HALF

    keyword, terms, missing = library.keyword(question)
    rows = np.zeros(len(cosines), row_type(0))
    rows["chunk"] = rows["document"] = np.arange(len(cosines))
    rows["pin"] = rows["form"] = rows["language"] = ABSENT
    rows["raw"] = np.nan
    rows["raw"][:, SIGNALS.index(Signal.VECTOR)] = cosines
    rows["raw"][:, SIGNALS.index(Signal.KEYWORD)] = keyword
    rows["embedded"] = embeddings is not None
    near = np.zeros(len(cosines), np.bool_)
    for scores in (cosines, keyword):
        near[np.argsort(-scores)[:depth]] = True
    near &= (cosines > 0) | (keyword > 0)
    near[list(without)] = False
    return Candidates(
        Query(question.text),
        rows[near],
        None if embeddings is None else embeddings[near].astype(HALF),
        terms=terms,
        unknown=missing,
        readings=(Reading("english", len(cosines), len(question.lexemes)),),
        by_meaning=True,
    )


def lexemes(text: str) -> Counter[str]:
    """A text's lexemes as Postgres reads English."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lexeme, cardinality(positions) FROM unnest(to_tsvector('english', %s))", [text]
        )
        return Counter(dict(cursor.fetchall()))

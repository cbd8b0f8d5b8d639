"""The WordNet signal: BM25 of the words related to the query's, each times its grade.

For queries that are read as English; 0 without a related word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from common.probes import Finding, look
from ingestion.lexical.ngrams import spaced
from search.domain import Profile, Query, Signal
from search.parts.concepts.signal import CONCEPTS
from search.parts.wordnet.database import opened
from search.signals.registry import Inputs
from search.signals.synonym import AddedWords, added_words
from search.signals.terms import lexemes

_LEXEMES = lexemes(
    "%(related)s::text[]",
    "wordnet_",
    times="1",
    condition="lexeme NOT IN (SELECT lexeme FROM lexeme)"
    " AND (SELECT own FROM language) = 'english'",
)
_GRADES = f"""{_LEXEMES},
wordnet_grade AS MATERIALIZED (
    SELECT lexeme, max((%(grades)s::float8[])[text]) AS grade FROM wordnet_word GROUP BY lexeme
),"""
_GRADE = "(SELECT grade FROM wordnet_grade WHERE lexeme = term.lexeme)"


class WordNetSignal(AddedWords):
    """The synonyms and broader terms of the question's words (`database`)."""

    signal = Signal.WORDNET
    label = _("WordNet")
    advice = _(
        "Finds synonyms and broader terms of English words, from the WordNet database. Raising it "
        "lets a related word count as much as the word itself."
    )
    unavailable = _("Related words (WordNet) are unavailable; showing other matches.")
    weights_table = "wordnet"
    weights_sql = added_words("wordnet", _GRADES, "wordnet_", factor=_GRADE)

    def runs(self, inputs: Inputs) -> bool:
        return super().runs(inputs) and bool(inputs.query.related)

    def params(self, inputs: Inputs) -> Mapping[str, Any]:
        related = inputs.query.related
        return {
            "related": [spaced(each.text) for each in related],
            "grades": [each.grade for each in related],
        }

    def measure(self, scorer: str) -> Any:
        return _("BM25 of related words")

    def is_available(self) -> bool:
        return opened(settings.WORDNET_DIR) is not None

    def findings(self) -> Iterator[Finding]:
        if not self.is_available():
            text = f"The active profile weighs WordNet, which is not in {settings.WORDNET_DIR}."
            advice = "On Debian: sudo apt-get install wordnet-base. Elsewhere set WORDNET_DIR."
            yield look(text, advice, "W012")

    def prepare(self, query: Query) -> Query:
        database = opened(settings.WORDNET_DIR)
        return replace(query, related=database.relatives(query.text)) if database else query

    def companions(self, profile: Profile) -> frozenset[Signal]:
        # Its weight depends on whether the library has a concept of the question.
        return frozenset({CONCEPTS.signal}) if profile.wordnet_cap else frozenset()


WORDNET = WordNetSignal()

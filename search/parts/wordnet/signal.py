"""The signal: synonyms and broader terms of a question's English words; its weight by question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.probes import Finding, look
from search.domain import Profile, Query, Signal
from search.engine.adjust_weights import Weighing
from search.parts.wordnet.dictionary import opened
from search.signals import registry
from search.signals.registry import Inputs
from search.signals.synonym import AddedWords

# Of another part, which a site may leave out.
CONCEPT = Signal("concept")


class WordNetSignal(AddedWords):
    """The synonyms and broader terms of the question's words (`database`)."""

    signal = Signal.WORDNET
    label = _("WordNet")
    advice = _(
        "Finds synonyms and broader terms of English words, from the WordNet database. Raising it "
        "lets a related word count as much as the word itself."
    )
    unavailable = _("Related words (WordNet) are unavailable; showing other matches.")
    words = "wordnet"
    language = "english"

    def runs(self, inputs: Inputs) -> bool:
        return super().runs(inputs) and bool(inputs.query.related)

    def added(self, query: Query) -> Mapping[str, float]:
        return {each.text: each.grade for each in query.related}

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
        runs = bool(profile.wordnet_cap) and registry.is_available(CONCEPT)
        return frozenset({CONCEPT} if runs else ())


# The most known words of a question for which WordNet is not worth less (F2-05).
FEW = 3


def wordnet_factor(words: int, *, concept: bool, ratio: float) -> float:
    """The factor on WordNet's weight, in [.5, 2.5], by concept-rag's rule (F2-05).

    `concept`: whether one of the question's known words is a concept of the library. `ratio` is the
    number of words with WordNet's additions divided by the number without.
    """
    if words == 1:
        factor = 1.5 if concept else 2.0
    elif words <= FEW:
        factor = 1.0 if concept else 1.5
    else:
        factor = 0.75
    return min(max(factor * (1.25 if ratio > 3 else 1), 0.5), 2.5)


def widen(weighing: Weighing) -> Weighing:
    """Adapt WordNet's weight to the question's words, if the profile caps it (ADR 41).

    Keywords and title get or give the difference. Forced weights stay.
    """
    settled, candidates = weighing.settled, weighing.prepared.candidates
    weights, words = settled.weights, candidates.words
    cap, others = settled.profile.wordnet_cap, weights.keyword + weights.title
    if weighing.settled.has_fixed_weights or not (
        cap and weights.wordnet and others and words and candidates.expanded
    ):
        return weighing
    concept = weighing.prepared.has_match(CONCEPT)
    factor = wordnet_factor(words, concept=concept, ratio=1 + candidates.expanded / words)
    wordnet = min(weights.wordnet * factor, cap, weights.wordnet + others)
    if wordnet == weights.wordnet:
        return weighing
    rest = (others + weights.wordnet - wordnet) / others
    shares = {"keyword": weights.keyword * rest, "title": weights.title * rest}
    note = gettext("WordNet counts for %(share)d%% of this question's score.")
    note %= {"share": round(100 * wordnet)}
    weights = replace(weights, wordnet=wordnet, **shares)
    return replace(weighing, settled=settled.weighed(weights, note))

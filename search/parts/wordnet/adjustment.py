"""WordNet's weight by the words of the question (F2-05, ADR 40)."""

from __future__ import annotations

from dataclasses import replace

from django.utils.translation import ngettext

from search.engine.adjust import Weighing
from search.parts.concepts.signal import CONCEPTS

# The most known words of a question for which WordNet is not worth less (F2-05).
FEW = 3


def wordnet_factor(words: int, *, concept: bool, ratio: float) -> float:
    """The factor on WordNet's weight, in [.5, 2.5], by concept-rag's rule (F2-05).

    For a question of so many known words, `concept`: with one that the library has as a concept;
    `ratio` is that of the words with WordNet's to those without.
    """
    if words == 1:
        factor = 1.5 if concept else 2.0
    elif words <= FEW:
        factor = 1.0 if concept else 1.5
    else:
        factor = 0.75
    return min(max(factor * (1.25 if ratio > 3 else 1), 0.5), 2.5)


def widen(weighing: Weighing) -> Weighing:
    """Fit WordNet's weight to the question's words, if the profile caps it (ADR 40).

    The difference comes from keywords and title, or goes to them. Forced weights stay.
    """
    settled, candidates = weighing.settled, weighing.prepared.candidates
    weights, words = settled.weights, len(candidates.terms)
    cap, others = settled.profile.wordnet_cap, weights.keyword + weights.title
    if weighing.has_fixed_weights or not (
        cap and weights.wordnet and others and words and candidates.expanded
    ):
        return weighing
    concept = weighing.prepared.matches(CONCEPTS.signal)
    factor = wordnet_factor(words, concept=concept, ratio=1 + candidates.expanded / words)
    wordnet = min(weights.wordnet * factor, cap, weights.wordnet + others)
    if wordnet == weights.wordnet:
        return weighing
    rest = (others + weights.wordnet - wordnet) / others
    shares = {"keyword": weights.keyword * rest, "title": weights.title * rest}
    note = _WIDENED[concept](words) % {"words": words, "share": round(100 * wordnet)}
    weights = replace(weights, wordnet=wordnet, **shares)
    return replace(weighing, settled=settled.weighed(weights, note))


def _with_concept(words: int) -> str:
    return ngettext(
        "%(words)d known word, with a concept: WordNet counts for %(share)d%%.",
        "%(words)d known words, with a concept: WordNet counts for %(share)d%%.",
        words,
    )


def _without_concept(words: int) -> str:
    return ngettext(
        "%(words)d known word, without a concept: WordNet counts for %(share)d%%.",
        "%(words)d known words, without a concept: WordNet counts for %(share)d%%.",
        words,
    )


_WIDENED = {True: _with_concept, False: _without_concept}

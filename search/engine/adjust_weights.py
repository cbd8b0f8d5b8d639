"""The adjustments of a question's weights to its candidates, in their order.

What is settled before retrieval cannot know what a question finds. Each adjustment changes the
weights of one question, the passages that its words count for, or which document comes before
another. Parts register theirs. The reranker's share is none: it needs a ranking (`rank_batch`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

import numpy as np
from django.utils.translation import gettext

from ingestion.models.collections import language_name
from search.domain import QueryClass, TitleScorer
from search.engine.configuration import Configuration
from search.engine.settle import Settled
from search.query.language import is_unlisted, leaning_on_keywords, other_languages, unfamiliar
from search.query.parse import count_words
from search.ranking import Batch, Prepared
from search.ranking.fusion import KEYWORD, VECTOR

# The number of a file, an order, a port; in words with hyphens are diseases and products. Guesses.
_FEWEST_DIGITS = 4  # 9/11, 1/2
_MOST_LETTERS = 3  # of an abbreviation: CHF 25, KW 23
# The words of a name or term to look up, of a short question, and of one that no longer is. FEW is
# a guess.
FEW, SHORT, LONG = 3, 5, 10
# The lead of the nearest passage, in cosines on the common scale, up to which they do not tell
# passages apart, and from which they decide (ADR 113).
CLOSE, DECISIVE = 0.075, 0.125
# The lead is over the passage at this rank, the last of a first page.
LAST = 10


@dataclass(frozen=True, slots=True)
class Weighing:
    """A question with its candidates before they are ranked.

    `by_meaning`: the vectors are evidence, since they ran and the model knows the language.
    `foreign` are the languages of passages that are ranked by meaning alone. `titles_lead`: what
    has all words in its title comes before what has not. `behind` are the
    documents that come before a document of the candidates, by its id.
    """

    settled: Settled
    prepared: Prepared
    configuration: Configuration
    by_meaning: bool
    foreign: frozenset[str] = frozenset()
    titles_lead: bool = False
    behind: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def leans_by_language(self) -> bool:
        """Whether the weights are the profile's, and it lets them follow the languages."""
        return self.settled.profile.language_lean and not self.settled.has_fixed_weights


class Adjustment(Protocol):
    """Changes one question's weights, or the languages of its words, by its candidates."""

    def __call__(self, weighing: Weighing) -> Weighing:
        """The question as it is ranked; itself if nothing changes."""
        ...


def lean_on_keywords(weighing: Weighing) -> Weighing:
    """Move weight to the keywords if the model does not know the question's language."""
    settled, space = weighing.settled, weighing.configuration.space
    if not weighing.by_meaning or not weighing.leans_by_language or space is None:
        return weighing
    readings = weighing.prepared.candidates.readings
    language = unfamiliar(settled.query.text, readings, space.languages)
    if not language:
        return weighing
    note = gettext(
        "The embedding model does not support %(language)s, so keywords count for more."
    ) % {"language": language}
    settled = settled.weighed(leaning_on_keywords(settled.weights), note)
    return replace(weighing, settled=settled, by_meaning=False)


def lean_on_meaning(weighing: Weighing) -> Weighing:
    """Move keyword weight to meaning as far as the cosines' evidence says (ADR 113)."""
    text, profile = weighing.settled.query.text, weighing.settled.profile
    if not weighing.by_meaning or not profile.short_lean:
        return weighing
    space, readings = weighing.configuration.space, weighing.prepared.candidates.readings
    if is_unlisted(text, readings, space.languages if space else ()):
        return weighing
    words = count_words(text)
    evidence = MeaningEvidence.of(weighing.prepared, words)
    return replace(weighing, settled=leaning_on_meaning(weighing.settled, evidence))


@dataclass(frozen=True, slots=True)
class MeaningEvidence:
    """The number of a question's words, how far its nearest passage is ahead, and the share of the
    best keyword score that this passage has.

    The lead is the first less the tenth cosine, on the common scale; 0 if fewer than ten passages
    have a vector.
    """

    words: int
    lead: float
    said: float = 1.0

    @classmethod
    def of(cls, prepared: Prepared, words: int) -> Self:
        rows = prepared.raw[~np.isnan(prepared.raw[:, VECTOR])]
        if len(rows) < LAST:
            return cls(words, 0.0)
        cosines, scores = rows[:, VECTOR], np.nan_to_num(prepared.raw[:, KEYWORD])
        lead = float(cosines.max() - np.partition(cosines, -LAST)[-LAST])
        own = float(np.nan_to_num(rows[cosines.argmax(), KEYWORD]))
        said = own / float(scores.max()) if scores.max() > 0 else 1.0
        return cls(words, lead * prepared.cosine_scale.slope, said)

    @property
    def for_meaning(self) -> float:
        """How strongly this speaks for meaning, in [0, 1]: more for few words and a wide lead.

        Of up to three words, which are rather looked up, the nearest passage must have some: in a
        small library, or one of several languages, the lead is wide by chance.
        """
        short = _rising(self.words, LONG, SHORT)
        said = max(self.said, _rising(self.words, FEW, SHORT))
        return short * _rising(self.lead, CLOSE, DECISIVE) * said


def _rising(value: float, start: float, end: float) -> float:
    """0 at `start`, 1 at `end`, which may be below it; linear between them."""
    return min(max((value - start) / (end - start), 0.0), 1.0)


def leaning_on_meaning(settled: Settled, evidence: MeaningEvidence) -> Settled:
    """The question with at most the profile's `short_lean` of its keywords' weight moved.

    Lookups, questions that are literal, and forced weights stay.
    """
    weights = settled.weights
    share = evidence.for_meaning * settled.profile.short_lean
    lookup = settled.classification.query_class is QueryClass.LOOKUP
    lookup = lookup or _is_literal(settled.query.text)
    leans = share > 0 and weights.vector > 0 and weights.keyword > 0
    if settled.has_fixed_weights or lookup or not leans:
        return settled
    moved = weights.keyword * share
    leant = replace(weights, vector=weights.vector + moved, keyword=weights.keyword - moved)
    text = gettext("Short question: the weight of meaning is raised to %(share)d%%.")
    return settled.weighed(leant, text % {"share": round(100 * leant.vector)})


def _is_literal(question: str) -> bool:
    """Whether the question has such a number, consists of numbers and abbreviations, or is one
    name such as X-Forwarded-Proto: their letters say little about their meaning.
    """
    words = question.split()
    is_name = len(words) == 1 and question.count("-") > 1
    is_short = all(sum(map(str.isalpha, word)) <= _MOST_LETTERS for word in words)
    has_digit = any(map(str.isdigit, question))
    return (
        is_name
        or (is_short and has_digit)
        or any(
            sum(map(str.isdigit, word)) >= _FEWEST_DIGITS and not {"/", ":"}.isdisjoint(word)
            for word in words
        )
    )


def lead_with_titles(weighing: Weighing) -> Weighing:
    """Let titles lead that have all words of a short question, where short questions lean.

    One word names a topic and no title: of NFCorpus' questions those lost by it (ADR 113).
    """
    profile, candidates = weighing.settled.profile, weighing.prepared.candidates
    adapts = profile.short_lean > 0 and profile.title_scorer is TitleScorer.COVERAGE
    is_short = count_words(candidates.query.text) <= SHORT
    has_words = candidates.words > 1 and not candidates.unknown
    leads = adapts and is_short and has_words and not weighing.settled.has_fixed_weights
    return replace(weighing, titles_lead=leads)


def mark_foreign(weighing: Weighing) -> Weighing:
    """Mark the passages in another language than the question: their words say little.

    Only where the model knows both languages. A lookup's identifiers are the same in every
    language.
    """
    settled, space = weighing.settled, weighing.configuration.space
    is_lookup = settled.classification.query_class is QueryClass.LOOKUP
    if not weighing.by_meaning or not weighing.leans_by_language or is_lookup:
        return weighing
    supported = space.languages if space else ("",)
    languages = weighing.prepared.candidates.languages
    own, others = other_languages(settled.query.text, languages, supported)
    if not others:
        return weighing
    if weighing.prepared.written_in(others).any():
        note = gettext(
            "The question is in another language (%(language)s) than some passages: "
            "they are ranked by meaning alone."
        )
        settled = settled.weighed(settled.weights, note % {"language": language_name(own)})
    return replace(weighing, settled=settled, foreign=others)


def yield_to_successors(weighing: Weighing) -> Weighing:
    """Put superseded documents behind those that take their place, where both are candidates.

    Likewise one that is not yet valid behind those that it will supersede.
    """
    candidates = weighing.prepared.candidates
    if not candidates.currency:
        return weighing
    # Of a wide set a profile ranks a part.
    present = set(candidates.documents[0][weighing.prepared.documents].tolist())
    behind = {
        document: others
        for document, each in candidates.currency.items()
        if document in present and (others := tuple(pk for pk in each.behind if pk in present))
    }
    return replace(weighing, behind=behind)


_adjustments: list[Adjustment] = [
    lean_on_keywords,
    lean_on_meaning,
    lead_with_titles,
    mark_foreign,
    yield_to_successors,
]


def register(adjustment: Adjustment, *, before: Adjustment | None = None) -> None:
    """Add an adjustment `before` another one; without, after all that there are."""
    place = len(_adjustments) if before is None else _adjustments.index(before)
    if adjustment not in _adjustments:
        _adjustments.insert(place, adjustment)


def adjust(
    batch: Batch, settled: Sequence[Settled], configuration: Configuration
) -> list[Weighing]:
    """Each question of the batch as it is ranked, after all adjustments in their order."""
    weighings = [
        Weighing(each, prepared, configuration, prepared.by_meaning)
        for each, prepared in zip(settled, batch.prepared, strict=True)
    ]
    for adjustment in _adjustments:
        weighings = [adjustment(each) for each in weighings]
    return weighings

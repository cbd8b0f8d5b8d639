"""Q1-Q2: settle a question's class, weights, signals, pins and hides.

The caller's choice comes first, then the profile's bypass, then its classifier. A question is
settled once, before retrieval; later adjustments (`leaning`, `leaning_on_meaning`) change only the
weights, and add a note.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.conf import settings
from django.utils.translation import gettext, ngettext

from ingestion.identifiers import matches
from ingestion.models.library import Viewer
from search.domain import (
    NORMALISED,
    OPTIONAL,
    Candidates,
    Classification,
    Classifier,
    Pinned,
    Profile,
    Query,
    QueryClass,
    Signal,
    TakesPart,
    Weights,
)
from search.engine.classifying import query_model
from search.engine.configuration import Configuration
from search.query import parse
from search.query.classifiers import classify_by
from search.query.expand import expansions, hidden_from, pins_for
from search.query.language import is_adaptive, leaning_on_keywords, unfamiliar
from search.ranking.evidence import KeywordEvidence
from search.retrieval import Filters
from search.signals import registry

DEFAULT_PAGE_SIZE = 10
MAX_PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Choices:
    """The caller's overrides of the active profile and the classifier. Empty: none.

    `exact`: search the query as typed, even if only its correction has results. `insist`: its
    phrases and exclusions bind in pasted text, too, and if nothing is found with them.
    `snapshot` is a profile to rank by that need not be published, such as a draft under test.
    """

    profile: str = ""
    query_class: QueryClass | None = None
    weights: Weights | None = None
    exact: bool = False
    insist: bool = False
    snapshot: Profile | None = None

    @property
    def forced(self) -> tuple[str, ...]:
        """The names of the caller's overrides."""
        decided = {
            "profile": bool(self.profile or self.snapshot),
            "class": self.query_class is not None,
            "weights": self.weights is not None,
        }
        return tuple(name for name, is_forced in decided.items() if is_forced)


NOTHING_FORCED = Choices()


@dataclass(frozen=True, slots=True)
class Request:
    """The parameters of `search.pipeline.search` besides the text: see there."""

    viewer: Viewer
    filters: Filters
    choices: Choices
    group: bool = True
    page: int = 1
    page_size: int = DEFAULT_PAGE_SIZE
    takes_part: TakesPart | None = None
    newest_first: bool = False
    mark_folded: bool = False


# The most known words of a question for which WordNet is not worth less (F2-05).
FEW = 3

KEYWORDS_ALONE = Weights(vector=0, keyword=1, title=0)


@dataclass(frozen=True, slots=True)
class Settled:
    """A question with the parameters of its retrieval and the weights of its ranking.

    `hidden` are the documents that administrators hide from it. `forced` names the caller's
    overrides; `notes` are sentences on why the weights are not the class's.
    """

    query: Query
    profile: Profile
    classification: Classification
    weights: Weights
    signals: frozenset[Signal]
    pins: tuple[Pinned, ...] = ()
    hidden: frozenset[int] = frozenset()
    forced: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def weighed(self, weights: Weights, note: str) -> Settled:
        """A copy with other weights, and a note that gives the reason."""
        return replace(self, weights=weights, notes=(*self.notes, note))


def read(text: str, configured: Configuration, *, insist: bool = False) -> Query:
    """The query, parsed with the administrators' patterns and synonyms."""
    most = settings.SEARCH_QUERY_CHARS
    query = parse(text, configured.patterns, insist=insist, most=most)
    return replace(query, expansions=expansions(query.text, configured.synonyms))


def settle(
    query: Query, configured: Configuration, profile: Profile, choices: Choices = NOTHING_FORCED
) -> Settled:
    """The question with its class and weights: the caller's choice, else the profile's."""
    classification = classified(query, configured, profile, choices)
    return settled_as(classification, query, configured, profile, choices)


def classified(
    query: Query, configured: Configuration, profile: Profile, choices: Choices
) -> Classification:
    """The caller's class, else the classifier's; the bypass gives all weight to keywords."""
    if choices.query_class is not None:
        return Classification(choices.query_class, "asked for by the caller", 1.0)
    model = query_model()
    classification = classify_by(profile.classifier, query, configured.rules, model)
    if profile.bypass and matches(profile.bypass, query.original):
        return replace(classification, rule="goes to the keywords alone", weights=KEYWORDS_ALONE)
    return classification


def settled_as(
    classification: Classification,
    query: Query,
    configured: Configuration,
    profile: Profile,
    choices: Choices = NOTHING_FORCED,
) -> Settled:
    """The question with the weights for a query of this class."""
    by_class = profile.weights[classification.query_class]
    weights = choices.weights or classification.weights or by_class
    return Settled(
        query,
        profile,
        classification,
        weights,
        _signals(query, profile, weights),
        pins_for(query.original, configured.pins),
        hidden_from(query.original, configured.hides),
        choices.forced,
        (classification.note,) if classification.note else (),
    )


def _signals(query: Query, profile: Profile, weights: Weights) -> frozenset[Signal]:
    """The signals to run for a query under these weights.

    A bare identifier needs no vector (ADR 2) under our own rules. The seed systems embed every
    query that their bypass does not match, and so do their profiles.
    """
    optional = {signal for signal in OPTIONAL if weights.of(signal) > 0}
    for part in registry.installed():
        if part.signal in optional:
            optional |= part.companions(profile)
    ours = profile.classifier is Classifier.RULES and weights.keyword > 0
    by_meaning = weights.vector > 0 and not (ours and query.needs_no_embedding)
    meaning = {Signal.VECTOR} if by_meaning else set()
    return frozenset((set(NORMALISED) - {Signal.VECTOR}) | optional | meaning)


def leaning(settled: Settled, candidates: Candidates, configured: Configuration) -> Settled:
    """The question with weight moved to keywords if the model does not know its language.

    For candidate sets to which the vector signal contributed.
    """
    fixed = "weights" in settled.forced or not is_adaptive(settled.profile)
    if fixed or configured.space is None:
        return settled
    language = unfamiliar(settled.query.text, candidates.readings, configured.space.languages)
    if not language:
        return settled
    note = gettext(
        "The embedding model does not support %(language)s, so keywords count for more."
    ) % {"language": language}
    return settled.weighed(leaning_on_keywords(settled.weights), note)


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


def widened(settled: Settled, candidates: Candidates, *, concept: bool) -> Settled:
    """The question with WordNet's weight for its words, if the profile caps it (ADR 40).

    `concept`: the library has one of its words as a concept. The difference comes from keywords
    and title, or goes to them. Forced weights stay.
    """
    weights, words = settled.weights, len(candidates.terms)
    cap, others = settled.profile.wordnet_cap, weights.keyword + weights.title
    fixed = "weights" in settled.forced or settled.classification.weights is not None
    if fixed or not (cap and weights.wordnet and others and words and candidates.expanded):
        return settled
    factor = wordnet_factor(words, concept=concept, ratio=1 + candidates.expanded / words)
    wordnet = min(weights.wordnet * factor, cap, weights.wordnet + others)
    if wordnet == weights.wordnet:
        return settled
    kept = (others + weights.wordnet - wordnet) / others
    shares = {"keyword": weights.keyword * kept, "title": weights.title * kept}
    note = _WIDENED[concept](words) % {"words": words, "share": round(100 * wordnet)}
    return settled.weighed(replace(weights, wordnet=wordnet, **shares), note)


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


def leaning_on_meaning(settled: Settled, evidence: KeywordEvidence) -> Settled:
    """The question with keyword weight moved to meaning as far as the evidence says (ADR 37).

    At most the profile's `short_lean` of the keywords' weight moves. Lookups and forced weights
    stay. For candidate sets to which the vector signal contributed.
    """
    weights = settled.weights
    share = evidence.for_meaning * settled.profile.short_lean
    fixed = "weights" in settled.forced or settled.classification.weights is not None
    lookup = settled.classification.query_class is QueryClass.LOOKUP
    if fixed or lookup or share <= 0 or not (weights.vector and weights.keyword):
        return settled
    moved = weights.keyword * share
    leant = replace(weights, vector=weights.vector + moved, keyword=weights.keyword - moved)
    text = ngettext(
        "%(known)d known word, and many passages match it about as well: meaning counts for "
        "%(share)d%%.",
        "%(known)d known words, and many passages match them about as well: meaning counts for "
        "%(share)d%%.",
        evidence.known,
    )
    share_of_meaning = round(100 * leant.vector)
    return settled.weighed(leant, text % {"known": evidence.known, "share": share_of_meaning})

"""Q1-Q2: settle a question's class, weights, signals, pins and hides.

The caller's choice comes first, then the profile's bypass, then its classifier. A question is
settled once, before retrieval; later adjustments (`leaning`, a fallback ranking) change only the
weights, and add a note.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from django.conf import settings
from django.utils.translation import gettext, ngettext

from ingestion.models.library import Viewer
from search.domain import (
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
from search.engine.configuration import Configuration
from search.query import parse
from search.query.classifiers import classify_by
from search.query.expand import expansions, hidden_from, pins_for
from search.query.language import is_adaptive, leaning_on_keywords, unfamiliar
from search.ranking.fusion import OPTIONAL
from search.retrieval import Filters

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


# Known words of a short question, and of one that no longer is (ADR 37).
SHORT, LONG = 2, 5

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
    classification = classify_by(profile.classifier, query, configured.rules)
    if profile.bypass and re.search(profile.bypass, query.original):
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
    )


def _signals(query: Query, profile: Profile, weights: Weights) -> frozenset[Signal]:
    """The signals to run for a query under these weights.

    A bare identifier needs no vector (ADR 2) under our own rules. The seed systems embed every
    query that their bypass does not match, and so do their profiles.
    """
    optional = {signal for signal in OPTIONAL if weights.of(signal) > 0}
    ours = profile.classifier is Classifier.RULES and weights.keyword > 0
    by_meaning = weights.vector > 0 and not (ours and query.needs_no_embedding)
    meaning = {Signal.VECTOR} if by_meaning else set()
    return frozenset({Signal.KEYWORD, Signal.TITLE} | optional | meaning)


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


def leaning_on_meaning(settled: Settled, candidates: Candidates) -> Settled:
    """The question with keyword weight moved to meaning if it has few known words (ADR 37).

    The profile's `short_lean` of the keywords' weight moves for SHORT known words or fewer, less
    for each further one, nothing from LONG on. Lookups and forced weights stay. For candidate
    sets to which the vector signal contributed.
    """
    known, weights = len(candidates.terms), settled.weights
    share = min((LONG - known) / (LONG - SHORT), 1.0) * settled.profile.short_lean
    fixed = "weights" in settled.forced or settled.classification.weights is not None
    lookup = settled.classification.query_class is QueryClass.LOOKUP
    if fixed or lookup or share <= 0 or not (weights.vector and weights.keyword):
        return settled
    moved = weights.keyword * share
    leant = replace(weights, vector=weights.vector + moved, keyword=weights.keyword - moved)
    text = ngettext(
        "%(known)d known word: meaning counts for %(share)d %%.",
        "%(known)d known words: meaning counts for %(share)d %%.",
        known,
    )
    return settled.weighed(leant, text % {"known": known, "share": round(100 * leant.vector)})

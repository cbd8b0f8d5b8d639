"""Q1-Q2: the question read, and what is settled about it: class and weights, whether by a vector.

A caller's word goes first, then the profile's bypass, then its classifier's (requirements part 2,
design 7).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from search.domain import (
    Classification,
    Classifier,
    Profile,
    Query,
    QueryClass,
    Signal,
    TermStatistic,
    Weights,
)
from search.engine.configuration import Configuration
from search.engine.embedding import QueryVector, embed_query
from search.engine.found import Found
from search.engine.request import Choices
from search.engine.second_try import Ranking
from search.query import parse
from search.query.classifiers import classify_by
from search.query.expand import expansions
from search.query.language import is_adaptive, leaning_on_keywords, unfamiliar
from search.ranking import RankingOptions, applicable, identifiers_lead
from search.ranking.fusion import OPTIONAL

KEYWORDS_ALONE = Weights(vector=0, keyword=1, title=0)


@dataclass(frozen=True, slots=True)
class Understood:
    """What is settled before anything is retrieved."""

    profile: Profile
    classification: Classification
    weights: Weights
    forced: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read(text: str, configured: Configuration) -> Query:
    """The question, read with the administrators' patterns and synonyms."""
    query = parse(text, configured.patterns)
    return replace(query, expansions=expansions(query.text, configured.synonyms))


def understand(
    query: Query, configured: Configuration, profile: Profile, choices: Choices
) -> Understood:
    """The class and the weights: a caller's word first, then the class's, by the profile."""
    return settled(classified(query, configured, profile, choices), profile, choices)


def settled(classification: Classification, profile: Profile, choices: Choices) -> Understood:
    """The weights for a query of this class."""
    by_class = profile.weights[classification.query_class]
    weights = choices.weights or classification.weights or by_class
    forced = {
        "profile": bool(choices.profile or choices.snapshot),
        "class": choices.query_class is not None,
        "weights": choices.weights is not None,
    }
    names = tuple(name for name, is_forced in forced.items() if is_forced)
    return Understood(profile, classification, weights, names)


def classified(
    query: Query, configured: Configuration, profile: Profile, choices: Choices
) -> Classification:
    """The class: what the caller says; else the bypass, which weighs by keywords alone (S1-28)."""
    if choices.query_class is not None:
        return Classification(choices.query_class, "asked for by the caller", 1.0)
    classification = classify_by(profile.classifier, query, configured.rules)
    if profile.bypass and re.search(profile.bypass, query.original):
        return replace(classification, rule="goes to the keywords alone", weights=KEYWORDS_ALONE)
    return classification


def options_for(
    understood: Understood, query: Query, terms: Sequence[TermStatistic]
) -> RankingOptions:
    """How the profile makes strengths and combines them, for this query."""
    return ranking_options(
        understood.profile,
        understood.classification.query_class,
        identifiers_lead=identifiers_lead(query, terms),
    )


def query_vector(query: Query, configured: Configuration, understood: Understood) -> QueryVector:
    """The query's vector; none where it can change nothing or there is no space yet.

    A bare identifier needs none (S1-29) under our own rules. The seed systems embed whatever
    their bypass does not name, and so do their profiles.
    """
    if configured.space is None or not needs_vector(query, understood):
        return QueryVector()
    return embed_query(query.text, configured.space)


def needs_vector(query: Query, understood: Understood) -> bool:
    """Whether the query's vector can change its ranking under these weights."""
    weights = understood.weights
    ours = understood.profile.classifier is Classifier.RULES and weights.keyword > 0
    return weights.vector > 0 and not (ours and query.needs_no_embedding)


def signals_for(query: Query, understood: Understood) -> frozenset[Signal]:
    """The signals that run for a query under these weights, where they can."""
    optional = {signal for signal in OPTIONAL if understood.weights.of(signal) > 0}
    meaning = {Signal.VECTOR} if needs_vector(query, understood) else set()
    return frozenset({Signal.KEYWORD, Signal.TITLE} | optional | meaning)


def leaning(understood: Understood, found: Found, configured: Configuration) -> Understood:
    """The weights nearer to the keywords for a language that the space's model does not know."""
    fixed = "weights" in understood.forced or not is_adaptive(understood.profile)
    if fixed or not found.by_meaning or configured.space is None:
        return understood
    language = unfamiliar(found.query.text, found.readings, configured.space.languages)
    if not language:
        return understood
    note = f"Matching by meaning knows no {language}, so keywords count for more."
    weights = leaning_on_keywords(understood.weights)
    return replace(understood, weights=weights, notes=(*understood.notes, note))


def as_ranked(understood: Understood, ranking: Ranking) -> Understood:
    """The weights that the ranking shown has."""
    if ranking.second_try is None:
        return understood
    note = "Weighed again, meaning and keywords alike, because the first results were less sure."
    return replace(understood, weights=ranking.weights, notes=(*understood.notes, note))


def ranking_options(
    profile: Profile, query_class: QueryClass, *, identifiers_lead: bool = True
) -> RankingOptions:
    """How a profile makes strengths and combines them, for queries of a class."""
    return RankingOptions(
        fusion=profile.fusion,
        normalisers=profile.normalisers,
        rrf_k=profile.rrf_k,
        both_factor=profile.both_factor,
        both_first=profile.both_first,
        own_depth=profile.depth if profile.own_candidates_only else None,
        boosts=applicable(profile.boosts, query_class),
        feedback=profile.feedback,
        identifiers_lead=identifiers_lead,
    )

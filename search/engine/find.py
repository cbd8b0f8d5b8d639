"""Question -> Candidates: from the database, or from the engine that the site has chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from django.utils import timezone

from ingestion.currency_dates import Currency
from ingestion.documents.currency import currencies
from search.domain import OPTIONAL, WIDE_HALF_LIFE, Boost, Candidates, Profile, Query, Signal
from search.engine import Request
from search.engine.embed import QueryVector, embed_query
from search.engine.read import Question
from search.engine.settle import Settled
from search.query.parse import relaxed
from search.query.spelling_correction import checked
from search.ranking import applicable
from search.ranking.text_boosts import by_criteria
from search.retrieval import RetrievalOptions, Scope, retrieve
from search.signals import registry


@dataclass(frozen=True, slots=True)
class CandidateBudget:
    """How many candidates to retrieve, on which signals, and for which profiles.

    `profile` has the scorers and the depth. A wide set (`is_wide`) records the candidate generators
    of each candidate, so that a ranking can reduce it to the candidate set of a search under one
    profile. A signal of `required` that cannot run is named in `degraded`.
    """

    profile: Profile
    signals: frozenset[Signal]
    required: frozenset[Signal] = frozenset()
    boosts: tuple[Boost, ...] = ()
    embeddings: bool = False
    is_wide: bool = False

    @classmethod
    def everything(cls, profile: Profile) -> Self:
        """The budget for any profile with the same scorers, no greater depth, and only boosts of
        this one.
        """
        signals = frozenset(Signal)
        return cls(profile, signals, boosts=profile.boosts, embeddings=True, is_wide=True)

    @classmethod
    def of(cls, settled: Settled) -> Self:
        """The budget for a ranking under the profile of the settled question alone."""
        profile = settled.profile
        boosts = applicable(profile.boosts, settled.classification.query_class)
        signals = settled.signals
        return cls(profile, signals, signals, boosts, profile.feedback > 0)

    @classmethod
    def joint(cls, settled: Sequence[Settled]) -> Self:
        """The budget for rankings under several profiles with the same scorers."""
        profiles = [each.profile for each in settled]
        signals = frozenset[Signal]().union(*(each.signals for each in settled))
        return cls(
            replace(profiles[0], depth=max(each.depth for each in profiles)),
            signals,
            signals,
            tuple(boost for each in profiles for boost in each.boosts),
            embeddings=any(each.feedback > 0 for each in profiles),
            is_wide=True,
        )


def budgets_of(question: Question) -> list[CandidateBudget]:
    """The budget of each candidate set that the question's plan needs.

    One for all profiles if they give the same raw scores, else one for each.
    """
    settled = question.settled
    if len(settled) > 1 and len({_scorers(each.profile) for each in settled}) == 1:
        return [CandidateBudget.joint(settled)]
    return [CandidateBudget.of(each) for each in settled]


def _scorers(profile: Profile) -> tuple[str, int, str]:
    return profile.keyword_scorer, profile.keyword_budget, profile.title_scorer


def find(question: Question) -> list[Candidates]:
    """The candidate sets that the question's plan needs: one for all its profiles, or one each."""
    return [candidates_of(question, budget) for budget in budgets_of(question)]


def candidates_of(question: Question, budget: CandidateBudget) -> Candidates:
    """The candidate set of this budget; empty for an empty query.

    If nothing matches in a scope that is not empty, the query is relaxed: its phrases and
    exclusions are no longer required. Raises InvalidFilter, EmptyQuestion.
    """
    query, space = question.query, question.configuration.space
    if query.is_empty:
        return Candidates(query)
    vector = QueryVector()
    if space is not None and Signal.VECTOR in budget.signals:
        vector = embed_query(query.text, space, question.request.purpose.timeout)
    for part in registry.installed():
        if part.signal in budget.signals:
            query = part.prepare(query)
    candidates = _retrieved(query, question, budget, vector)
    spent = candidates.milliseconds["retrieve"]
    looser = relaxed(query)
    if not len(candidates) and looser is not query:
        others = _retrieved(looser, question, budget, vector)
        spent += others.milliseconds["retrieve"]
        candidates = replace(others, unchecked=candidates.unchecked) if len(others) else candidates
    return replace(
        candidates,
        degraded=(*vector.degraded, *candidates.degraded, *_unavailable(budget.required)),
        unread=vector.unread,
        currency=_currency_of(candidates, question),
        at=timezone.now(),
        milliseconds={"embed": vector.milliseconds, "retrieve": spent},
    )


def _currency_of(candidates: Candidates, question: Question) -> dict[int, Currency]:
    """The candidates' documents that are not current; no query on sites without such documents."""
    documents = candidates.documents[0].tolist() if question.configuration.has_currency else []
    return currencies(documents, question.request.viewer)


def _retrieved(
    query: Query, question: Question, budget: CandidateBudget, vector: QueryVector
) -> Candidates:
    """The candidates of one retrieval."""
    profile = budget.profile
    if budget.is_wide:
        # A wide set records what every signal generates; its rankings leave out what theirs do not.
        profile = replace(profile, recency_half_life=WIDE_HALF_LIFE, vector_candidates_only=False)
    options = RetrievalOptions(
        signals=budget.signals & set(OPTIONAL),
        embeddings=budget.embeddings,
        boosts=by_criteria(budget.boosts),
        pins=query.pins,
        words=checked(question.query),
        places=budget.is_wide,
    )
    return retrieve(
        query,
        scope_of(query, question.request),
        profile,
        space=question.configuration.space,
        embedding=vector.values,
        options=options,
    )


def scope_of(query: Query, request: Request) -> Scope:
    """The scope of the query, without the documents hidden from it."""
    whole = Scope.of(request.viewer, request.filters)
    return whole.without(query.hidden).narrowed_by(query)


def _unavailable(signals: frozenset[Signal]) -> tuple[Signal, ...]:
    """The signals that cannot run because their part or its data is not installed."""
    return tuple(each for each in OPTIONAL if each in signals and not registry.is_available(each))

"""Q3: where a question looks, and what the database finds there: the first half of a search."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from django.utils import timezone

from ingestion.models import Document
from ingestion.models.library import Viewer
from search.domain import Profile, Query, Signal
from search.engine.configuration import Configuration
from search.engine.embedding import QueryVector, embed_query
from search.engine.found import WIDE_HALF_LIFE, Found, by_what_they_seek
from search.engine.settle import Understood, query_vector, read, signals_for
from search.query.expand import hidden_from, pins_for
from search.query.spelling import correctable
from search.ranking import applicable
from search.ranking.fusion import OPTIONAL
from search.retrieval import Filters, Scope, Wanted, retrieve

MAY_HIDE = "search.change_hide"


def found_for(
    query: Query,
    viewer: Viewer,
    filters: Filters,
    understood: Understood,
    configured: Configuration,
) -> Found:
    """What a search under what was understood looks for, and no more."""
    profile = understood.profile
    wanted = Wanted(
        signals=signals_for(query, understood) & set(OPTIONAL),
        embeddings=profile.feedback > 0,
        boosts=applicable(profile.boosts, understood.classification.query_class),
        pins=pins_for(query.original, configured.pins),
        words=tuple(word.text for word in correctable(query)),
    )
    vector = query_vector(query, configured, understood)
    scope = scope_of(query, viewer, filters, configured)
    return found_in(scope, query, profile, configured, vector, wanted)


def scope_of(query: Query, viewer: Viewer, filters: Filters, configured: Configuration) -> Scope:
    """Where the question looks: not in what is hidden from it."""
    scope = Scope.of(viewer, filters).narrowed_by(query)
    return scope.without(hidden_from(query.original, configured.hides))


def found_in(
    scope: Scope,
    query: Query,
    profile: Profile,
    configured: Configuration,
    vector: QueryVector,
    wanted: Wanted,
) -> Found:
    """What the database finds in the scope."""
    held = retrieve(
        query, scope, profile, space=configured.space, embedding=vector.values, wanted=wanted
    )
    return Found(
        query,
        held.candidates,
        held.terms,
        held.unknown,
        held.readings,
        by_meaning=vector.values is not None,
        degraded=vector.degraded,
        places=held.places,
        at=timezone.now(),
        milliseconds={"embed": vector.milliseconds, "retrieve": held.milliseconds},
        hidden=hidden_from(query.original, configured.hides),
    )


def found_for_both(
    query: Query,
    viewer: Viewer,
    filters: Filters,
    settled: Sequence[Understood],
    configured: Configuration,
) -> Found:
    """What searches under either profile look for, in one find; their scorers are the same.

    `weigh` takes of it what a search under the one or the other would have found.
    """
    profiles = [each.profile for each in settled]
    signals = frozenset[Signal]().union(*(signals_for(query, each) for each in settled))
    boosts = by_what_they_seek([boost for each in profiles for boost in each.boosts])
    widest = replace(
        profiles[0],
        depth=max(each.depth for each in profiles),
        boosts=boosts,
        recency_half_life=WIDE_HALF_LIFE,
    )
    wanted = Wanted(
        signals=signals & set(OPTIONAL),
        embeddings=any(each.feedback > 0 for each in profiles),
        boosts=boosts,
        pins=pins_for(query.original, configured.pins),
        words=tuple(word.text for word in correctable(query)),
        places=True,
    )
    space = configured.space if Signal.VECTOR in signals else None
    vector = embed_query(query.text, space) if space is not None else QueryVector()
    scope = scope_of(query, viewer, filters, configured)
    return found_in(scope, query, widest, configured, vector, wanted)


def found_wide(
    text: str,
    configured: Configuration,
    profile: Profile,
    *,
    viewer: Viewer,
    filters: Filters | None = None,
) -> Found:
    """All that searches for `text` could find that look no further than this profile.

    Every signal runs, and what brought each candidate is kept: `weigh` ranks it by any profile
    with the same scorers, a depth no greater, and boosts whose patterns this one has.
    Raises QueryTooLong, InvalidFilter, NothingAsked.
    """
    query = read(text, configured)
    if query.is_empty:
        return Found(query)
    wanted = Wanted(
        signals=frozenset(OPTIONAL),
        embeddings=True,
        boosts=by_what_they_seek(profile.boosts),
        pins=pins_for(query.original, configured.pins),
        places=True,
    )
    space = configured.space
    vector = embed_query(query.text, space) if space is not None else QueryVector()
    scope = scope_of(query, viewer, filters or Filters(), configured)
    wide = replace(profile, recency_half_life=WIDE_HALF_LIFE)
    return found_in(scope, query, wide, configured, vector, wanted)


def score_alike(one: Profile, other: Profile) -> bool:
    """Whether one find can serve searches under both: its raw scores are the same."""
    return _scorers(one) == _scorers(other)


def _scorers(profile: Profile) -> tuple[str, int, str]:
    return profile.keyword_scorer, profile.keyword_budget, profile.title_scorer


def together(finds: Sequence[Found]) -> Found:
    """The first of some finds for one query, with what all of them took and lacked."""
    first = finds[0]
    steps = {step: sum(each.milliseconds[step] for each in finds) for step in first.milliseconds}
    lacking = dict.fromkeys(signal for each in finds for signal in each.degraded)
    return replace(first, degraded=tuple(lacking), milliseconds=steps)


def hiding_notes(hidden: Collection[int], viewer: Viewer) -> tuple[str, ...]:
    """What is hidden from a question, for those who decide it and may read it."""
    if not hidden or viewer is None or not viewer.has_perm(MAY_HIDE):
        return ()
    rows = Document.objects.visible_to(viewer).filter(pk__in=hidden).order_by("title")
    titles = [f"“{title}”" for title in rows.values_list("title", flat=True)]
    return (f"Hidden from this question: {', '.join(titles)}.",) if titles else ()

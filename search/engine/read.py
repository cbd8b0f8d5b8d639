"""Text -> Question: the query, the plan of its ranking, and what is settled about it.

A plan is chosen before the search starts: the caller's profile, else that of the searched
collection or type, else the plan of a part, else the site's profile. Parts register planners.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from django.conf import settings
from django.utils.translation import gettext

from ingestion.models import Collection, Visibility
from ingestion.models.visibility import Viewer
from search.domain import Profile, Query, Trial
from search.engine import Request
from search.engine.configuration import Configuration
from search.engine.ranking import Ranking
from search.engine.settle import Settled, settle
from search.models.scopes import NamedProfile, Scopes
from search.query import parse
from search.query.query_key import hidden_from, query_key
from search.query.synonyms import expansions
from search.retrieval import Filters

Key = TypeVar("Key", int, str)
MOST_NAMED = 3  # scopes in a note

Mix = Callable[[Sequence[Ranking], bool], Ranking]
"""Joins the rankings of one question, one a profile; the flag says whether they are grouped."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The profiles that rank a search; several only with `mix`, which joins their rankings.

    `trial` is the search's part in an experiment; `notes` are sentences on the choice.
    """

    profiles: tuple[Profile, ...]
    mix: Mix | None = None
    trial: Trial | None = None
    notes: tuple[str, ...] = ()


Planner = Callable[[Query, Request, Configuration], Plan | None]
"""Returns the plan of a search for which nothing is forced; None leaves it to the next one."""

_planners: list[Planner] = []


def register_planner(planner: Planner) -> None:
    """Let a part choose plans for searches."""
    if planner not in _planners:
        _planners.append(planner)


@dataclass(frozen=True, slots=True)
class Question:
    """A query with its request, the configuration, and how each profile of its plan settles it.

    Nothing is settled for a question that is not ranked. `started` is the time at which the query
    was parsed, on the clock of `time.perf_counter`.
    """

    query: Query
    request: Request
    configuration: Configuration
    plan: Plan = Plan(())
    settled: tuple[Settled, ...] = ()
    started: float = field(default_factory=time.perf_counter)


def read_query(text: str, configuration: Configuration, *, insist: bool = False) -> Query:
    """The query, parsed with the administrators' patterns, with their synonyms, pins and hides."""
    most = settings.SEARCH_QUERY_CHARS
    query = parse(text, configuration.patterns, insist=insist, most=most)
    return replace(
        query,
        expansions=expansions(query.text, configuration.synonyms),
        pins=tuple(configuration.pins.get(query_key(query.original), ())),
        hidden=hidden_from(query.original, configuration.hides),
    )


def read(text: str, request: Request, configuration: Configuration) -> Question:
    """The question, settled under each profile of its plan. Raises QueryTooLong, UnknownProfile.

    One database query at most: for a collection of chosen groups that names a profile.
    """
    query = read_query(text, configuration, insist=request.choices.insist)
    plan = _plan(query, request, configuration)
    settled = tuple(settle(query, configuration, each, request.choices) for each in plan.profiles)
    return Question(query, request, configuration, plan, settled)


def _plan(query: Query, request: Request, configuration: Configuration) -> Plan:
    plan = _plan_of_scope(query, request, configuration)
    choices = request.choices
    if plan.profiles:
        return plan
    if not choices.forced and not query.is_empty:
        for planner in _planners:
            if (other := planner(query, request, configuration)) is not None:
                return replace(other, notes=plan.notes)
    profile = choices.snapshot or configuration.profile(choices.profile)
    return replace(plan, profiles=(profile,))


def _plan_of_scope(query: Query, request: Request, configuration: Configuration) -> Plan:
    """The profile that the only searched collection or type names; the collection's is preferred.

    Without one no profile. A search over several has none, with a note if one of them names another
    than the site's. Scopes that the reader may not see count as unknown. One query for a collection
    of chosen groups that names a profile, otherwise none.
    """
    scopes, choices = configuration.scopes, request.choices
    if scopes.is_empty or choices.profile or choices.snapshot or query.is_empty:
        return Plan(())
    collections = _collections(query, request.filters, scopes)
    types = _types(query, request.filters)
    own_profiles = (_only(collections, scopes.collections), _only(types, scopes.types))
    for one in _known([each for each in own_profiles if each], request.viewer, ask=True):
        return _used(one)
    covered = [*_covered(collections, scopes.collections), *_covered(types, scopes.types)]
    others = [one for one in covered if one.in_force not in (None, configuration.active)]
    # Whole libraries are searched most: no query for them, so restricted collections stay unnamed.
    several = _known(others, request.viewer, ask=collections is not None)
    return Plan((), notes=(_over_several(several),) if several else ())


def _used(one: NamedProfile) -> Plan:
    profile = one.in_force
    if profile is None:
        text = gettext(
            "The profile of %(scope)s, “%(profile)s”, is not published: ranked by the site's."
        )
        return Plan((), notes=(text % {"scope": one.label, "profile": one.profile},))
    text = gettext("Ranked by the profile of %(scope)s: %(profile)s.")
    version = f"{profile.name} v{profile.version}"
    return Plan((profile,), notes=(text % {"scope": one.label, "profile": version},))


def _over_several(others: Sequence[NamedProfile]) -> str:
    """The sentence on the profiles that a search over several scopes does not use."""
    labels = [one.label for one in others[:MOST_NAMED]] + ["…"] * (len(others) > MOST_NAMED)
    text = gettext(
        "Ranked by the site's profile because the search covers several collections or types. "
        "These have profiles of their own: %(scopes)s."
    )
    return text % {"scopes": ", ".join(labels)}


def _collections(query: Query, filters: Filters, scopes: Scopes) -> frozenset[int] | None:
    """The collections that the search names, by filter and operator; None if it names none.

    An exclusion (-collection:x) names none.
    """
    ids: frozenset[int] | None = None
    if filters.collections:
        ids = frozenset(scopes.slugs[slug] for slug in filters.collections if slug in scopes.slugs)
    if query.filters.collections:
        by_operator = _ids_of(query.filters.collections, scopes)
        ids = by_operator if ids is None else ids & by_operator
    return ids if ids is None else ids - _ids_of(query.unwanted.collections, scopes)


def _ids_of(names: Iterable[str], scopes: Scopes) -> frozenset[int]:
    empty = frozenset[int]()
    return empty.union(*(scopes.names.get(name.casefold(), empty) for name in names))


def _types(query: Query, filters: Filters) -> frozenset[str] | None:
    """The media types that the search names, by filter and operator; None if it names none."""
    types: frozenset[str] | None = None
    for chosen_types in (filters.media_types, query.filters.media_types):
        if chosen_types:
            types = frozenset(chosen_types) if types is None else types & set(chosen_types)
    return types if types is None else types - set(query.unwanted.media_types)


def _only(keys: frozenset[Key] | None, profiles: Mapping[Key, NamedProfile]) -> NamedProfile | None:
    """The profile that the only scope names; None for several scopes, or if it names none."""
    return profiles.get(next(iter(keys))) if keys is not None and len(keys) == 1 else None


def _covered(
    keys: frozenset[Key] | None, profiles: Mapping[Key, NamedProfile]
) -> Iterable[NamedProfile]:
    """The scopes that name a profile, among the given ones; among all if the search names none."""
    return profiles.values() if keys is None else (profiles[key] for key in profiles if key in keys)


def _known(profiles: Sequence[NamedProfile], viewer: Viewer, *, ask: bool) -> list[NamedProfile]:
    """The scopes whose existence the viewer may know, in their order.

    With `ask`, collections of chosen groups are looked up in the database; otherwise they count as
    unknown.
    """
    signed_in = viewer is not None and viewer.is_authenticated and viewer.is_active
    if (
        viewer is not None
        and signed_in
        and viewer.is_superuser
        and viewer.collections_limit is None
    ):
        return list(profiles)
    open_to = {Visibility.PUBLIC, *([Visibility.SIGNED_IN] if signed_in else [])}
    readable: set[int] = set()
    restricted = [one.collection for one in profiles if one.visibility not in open_to]
    if restricted and ask and signed_in:
        rows = Collection.objects.visible_to(viewer).filter(pk__in=filter(None, restricted))
        readable = set(rows.values_list("pk", flat=True))
    return [one for one in profiles if one.visibility in open_to or one.collection in readable]

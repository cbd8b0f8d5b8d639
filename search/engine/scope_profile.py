"""The profile that a search's scope names: its collection's or its type's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.utils.translation import gettext

from ingestion.models import Collection, Visibility
from ingestion.models.visibility import Viewer
from search.domain import Profile, Query
from search.engine import Request
from search.engine.configuration import Configuration
from search.models.scopes import NamedProfile, Scopes
from search.retrieval import Filters

Key = TypeVar("Key", int, str)

MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class ScopedProfile:
    """The profile of a search's scope, None for the site's; `notes` give the reason."""

    profile: Profile | None = None
    notes: tuple[str, ...] = ()


OF_THE_SITE = ScopedProfile()


def scope_profile(query: Query, request: Request, configuration: Configuration) -> ScopedProfile:
    """The profile that the only searched collection or type names; the collection's is preferred.

    A search over several uses the site's, with a note if one of them names another. Scopes that the
    reader may not see count as unknown. One query for a collection of chosen groups that names a
    profile, otherwise none.
    """
    scopes, choices = configuration.scopes, request.choices
    if scopes.is_empty or choices.profile or choices.snapshot or query.is_empty:
        return OF_THE_SITE
    collections = _collections(query, request.filters, scopes)
    types = _types(query, request.filters)
    own_profiles = (_only(collections, scopes.collections), _only(types, scopes.types))
    for one in _known([each for each in own_profiles if each], request.viewer, ask=True):
        return _used(one)
    covered = [*_covered(collections, scopes.collections), *_covered(types, scopes.types)]
    others = [one for one in covered if one.in_force not in (None, configuration.active)]
    # Whole libraries are searched most: no query for them, so restricted collections stay unnamed.
    several = _known(others, request.viewer, ask=collections is not None)
    return ScopedProfile(notes=(_over_several(several),)) if several else OF_THE_SITE


def _used(one: NamedProfile) -> ScopedProfile:
    profile = one.in_force
    if profile is None:
        text = gettext(
            "The profile of %(scope)s, “%(profile)s”, is not published: ranked by the site's."
        )
        return ScopedProfile(notes=(text % {"scope": one.label, "profile": one.profile},))
    text = gettext("Ranked by the profile of %(scope)s: %(profile)s.")
    version = f"{profile.name} v{profile.version}"
    return ScopedProfile(profile, (text % {"scope": one.label, "profile": version},))


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

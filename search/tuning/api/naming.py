"""Profiles by the names that users give them: `name` or `name@version`."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from search.errors import UnknownProfile
from search.models import SearchProfile

SEE_DRAFTS = "search.view_searchprofile"


def named_profile(key: str, rows: QuerySet[SearchProfile]) -> SearchProfile:
    """The profile of `rows` with the key `name@version`, or the newest version of `name`.

    Raises UnknownProfile.
    """
    name, _, version = key.partition("@")
    found = rows.filter(name=name)
    if version:
        found = found.filter(version=int(version) if version.isdecimal() else 0)
    profile = found.order_by("-version").first()
    if profile is None:
        raise UnknownProfile(f"There is no profile {key!r}.")
    return profile


def published_profile(key: str) -> SearchProfile:
    """The published profile with the key `name@version`. Raises UnknownProfile."""
    name, _, version = key.partition("@")
    rows = published().filter(name=name)
    found = rows.filter(version=int(version)).first() if version.isdecimal() else None
    if found is None:
        raise UnknownProfile(f"There is no published profile {key!r}. Name it as name@version.")
    return found


def visible_profiles(viewer: Any) -> QuerySet[SearchProfile]:
    """All profiles for viewers who may see them in the admin, the published ones for others."""
    may_see_drafts = viewer.is_authenticated and viewer.has_perm(SEE_DRAFTS)
    return SearchProfile.objects.all() if may_see_drafts else published()


def published() -> QuerySet[SearchProfile]:
    return SearchProfile.objects.exclude(state=SearchProfile.State.DRAFT)

"""Profiles by scope: the profile that a collection or a document type names for itself (ADR 5)."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.files.filetypes import TYPE_LABELS
from ingestion.models import Collection, Visibility
from search.domain import Profile
from search.models.profiles import SearchProfile, in_force_first


def check_type(value: str) -> None:
    """Raise ValidationError for a media type that no document has."""
    if value not in TYPE_LABELS:
        raise ValidationError(
            _("“%(value)s” is not the media type of a document, such as application/pdf."),
            params={"value": value},
        )


def names_in_force() -> dict[str, SearchProfile]:
    """The version in force of each published profile, by name, in the order of names."""
    rows = SearchProfile.objects.exclude(state=SearchProfile.State.DRAFT)
    profiles: dict[str, SearchProfile] = {}
    for row in rows.order_by("name", *in_force_first()):
        profiles.setdefault(row.name, row)
    return profiles


class ScopeProfile(models.Model):
    """The profile of searches restricted to one collection, or to one document type.

    `profile` is a name: its version in force is used. If no version is published any more, the
    site's profile is used, and the response says so.
    """

    collection = models.OneToOneField(
        Collection,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="scope_profile",
        help_text=_("Searches restricted to exactly this collection use the profile."),
    )
    media_type = models.CharField(
        _("document type"),
        max_length=150,
        blank=True,
        validators=[check_type],
        help_text=_(
            "Instead of a collection: searches restricted to exactly this type use the profile."
        ),
    )
    profile = models.CharField(
        max_length=60,
        help_text=_("A published profile. Its version in force is used, also after a change."),
    )
    note = models.TextField(blank=True, help_text=_("Why it differs from the site's profile."))

    class Meta:
        ordering = ("collection__name", "media_type")
        verbose_name = _("profile of a scope")
        verbose_name_plural = _("profiles by scope")
        constraints = (
            models.CheckConstraint(
                condition=Q(collection=None) ^ Q(media_type=""),
                name="scope_is_collection_or_type",
                violation_error_message=_("Choose either a collection or a document type."),
            ),
            models.UniqueConstraint(
                fields=("media_type",),
                condition=~Q(media_type=""),
                name="scope_type_once",
                violation_error_message=_("This document type already names a profile."),
            ),
        )

    def __str__(self) -> str:
        return f"{self.label}: {self.profile}"

    @property
    def label(self) -> str:
        """The name of the collection or of the type."""
        if self.collection is not None:
            return str(self.collection)
        return TYPE_LABELS.get(self.media_type, self.media_type)

    def clean_fields(self, exclude: Container[str] | None = None) -> None:
        super().clean_fields(exclude)
        if "profile" in (exclude or ()):
            return
        names = names_in_force()
        if self.profile not in names:
            raise ValidationError(
                {
                    "profile": gettext(
                        "There is no published profile “%(profile)s”. Choose one of: %(names)s."
                    )
                    % {"profile": self.profile, "names": ", ".join(names)}
                }
            )


@dataclass(frozen=True, slots=True)
class NamedProfile:
    """The profile that a collection or a type names, and its possible readers.

    `in_force` is the published version that ranks, None if there is none any more.
    """

    label: str
    profile: str
    in_force: Profile | None
    collection: int | None = None
    visibility: str = Visibility.PUBLIC


@dataclass(frozen=True, slots=True)
class Scopes:
    """A snapshot of the profiles by scope; empty mappings while there are none.

    `slugs` and `names` have the kept collections, the second by lower-case slug and name, as the
    operator `collection:` reads them.
    """

    collections: Mapping[int, NamedProfile] = field(default_factory=dict)
    types: Mapping[str, NamedProfile] = field(default_factory=dict)
    slugs: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.collections or self.types)


NO_SCOPES = Scopes()


def read_scopes(in_force: Mapping[str, Profile]) -> Scopes:
    """The profiles by scope, of these versions in force; two queries, one while there are none."""
    rows = ScopeProfile.objects.select_related("collection")
    scopes = list(rows.filter(Q(collection=None) | Q(collection__deleted_at=None)))
    if not scopes:
        return NO_SCOPES
    undeleted = Collection.objects.undeleted().order_by("pk")
    collections = list(undeleted.values_list("pk", "slug", "name"))
    by_collection: dict[int, NamedProfile] = {}
    by_type: dict[str, NamedProfile] = {}
    for row in scopes:
        named = NamedProfile(row.label, row.profile, in_force.get(row.profile))
        if (own := row.collection) is not None:
            by_collection[own.pk] = replace(named, collection=own.pk, visibility=own.visibility)
        else:
            by_type[row.media_type] = named
    return Scopes(
        by_collection,
        by_type,
        slugs={slug: pk for pk, slug, _name in collections},
        names=_by_name(collections),
    )


def _by_name(collections: Iterable[tuple[int, str, str]]) -> dict[str, frozenset[int]]:
    """The collections by slug and by name, in lower case: a name may be another one's slug."""
    by_name: dict[str, frozenset[int]] = {}
    for pk, slug, name in collections:
        for key in {slug.casefold(), name.casefold()}:
            by_name[key] = by_name.get(key, frozenset()) | {pk}
    return by_name

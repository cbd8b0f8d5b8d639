"""Collections with their icons; `visibility` has who may read them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.conf.locale import LANG_INFO
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import EmptyResultSet, ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.accounts.models import User, user_or_none
from ingestion import metadata
from ingestion.errors import InvalidMetadata
from ingestion.models.visibility import Viewer, Visibility, narrower

# The drawings of static/search/icons.svg.
ICONS = (
    "archive", "book", "box", "chart", "chat", "code", "flask", "folder", "gear", "globe", "map",
    "people", "scale", "shield", "wrench",
)  # fmt: skip


def validate_icon(value: str) -> None:
    """Raise ValidationError unless it is the name of an icon, or symbols without a word."""
    if value in ICONS or not (value.isascii() or any(map(str.isalnum, value))):
        return
    raise ValidationError(
        gettext("“%(icon)s” is not an icon. Write one emoji, or one of: %(names)s.")
        % {"icon": value[:20], "names": ", ".join(ICONS)}
    )


def validate_metadata(value: Any) -> None:
    """Raise ValidationError for invalid metadata."""
    try:
        metadata.check_metadata(value)
    except InvalidMetadata as error:
        raise ValidationError(str(error), code=error.code) from error


def validate_metadata_key(value: Any) -> None:
    """Raise ValidationError for an invalid metadata key."""
    try:
        metadata.check_key(value)
    except InvalidMetadata as error:
        raise ValidationError(str(error), code=error.code) from error


def language_name(code: str) -> str:
    """The name of an ISO 639-1 code in the reader's language; the code itself if unknown."""
    if code == "zh":  # of which Django names the scripts alone
        return gettext("Chinese")
    return gettext(str(LANG_INFO.get(code, {}).get("name", code)))


# The beginning of the names of collections to measure with, which only superusers may read: they
# are searched where they are named, and never among the site's own documents.
JUDGED = "judged: "


class CollectionQuerySet(models.QuerySet["Collection"]):
    def undeleted(self) -> CollectionQuerySet:
        """The collections that are not in the bin."""
        return self.filter(deleted_at=None)

    def visible_to(self, viewer: Viewer) -> CollectionQuerySet:
        """The collections outside the bin that `viewer` may read; None is an anonymous visitor."""
        return self.undeleted().open_to(viewer)

    def searched_by(self, viewer: Viewer, slugs: Sequence[str] = ()) -> CollectionQuerySet:
        """The collections of `slugs` that `viewer` may read; without slugs, all but judged ones."""
        rows = self.visible_to(viewer)
        return rows.filter(slug__in=slugs) if slugs else rows.exclude(name__startswith=JUDGED)

    def with_narrower(self, viewer: Viewer) -> CollectionQuerySet:
        """These collections, and the narrower audiences within them that include `viewer`."""
        try:
            sql, params = self.order_by().values("pk").query.sql_with_params()
        except EmptyResultSet:  # for example of a token limited to deleted collections
            return self
        sql, more = narrower(sql, viewer)
        ids = RawSQL(f"({sql})", (*params, *more))  # noqa: S611  # compiled, and ours
        return Collection.audiences.filter(pk__in=ids)

    def open_to(self, viewer: Viewer) -> CollectionQuerySet:
        """The collections whose audience includes `viewer`, in the bin or not."""
        if viewer is None or not viewer.is_authenticated or not viewer.is_active:
            return self.filter(visibility=Visibility.PUBLIC)
        limit = viewer.collections_limit
        within = self if limit is None else self.filter(pk__in=limit)
        return within._open_to_user(viewer)

    def _open_to_user(self, viewer: User) -> CollectionQuerySet:
        if viewer.is_superuser:
            return self
        groups = Collection.groups.through.objects.filter(group__user=viewer.pk)
        member = Q(pk__in=groups.values("collection"))
        return self.filter(
            Q(visibility__in=(Visibility.PUBLIC, Visibility.SIGNED_IN))
            | (Q(visibility=Visibility.GROUPS) & member)
        )


_Audiences = models.Manager.from_queryset(CollectionQuerySet)


class CollectionManager(_Audiences["Collection"]):
    """The collections without the narrower audiences within them."""

    def get_queryset(self) -> CollectionQuerySet:
        rows: Any = super().get_queryset()
        return rows.filter(within=None)  # type: ignore[no-any-return]


class Collection(models.Model):
    """A set of documents with one audience and one chunking configuration.

    A row with `within` is no collection of its own but a narrower audience of that one: the
    `groups` and `people` who alone may read some of its documents (ADR 120). Their passages have
    its id, and so have their term statistics: what may be counted is what may be read.
    """

    name = models.CharField(max_length=120)
    slug = models.SlugField(max_length=120, blank=True)
    description = models.TextField(blank=True)
    icon = models.CharField(
        max_length=16,
        blank=True,
        validators=[validate_icon],
        help_text=_("One of the named icons, such as book, or one emoji."),
    )
    visibility = models.CharField(
        max_length=12, choices=Visibility.choices, default=Visibility.SIGNED_IN
    )
    groups = models.ManyToManyField(
        Group,
        blank=True,
        help_text=_("Groups that may read it if it is visible to chosen groups only."),
    )
    within = models.ForeignKey(
        "self", models.CASCADE, null=True, blank=True, editable=False, related_name="narrower"
    )
    people = models.ManyToManyField(User, blank=True, editable=False, related_name="+")
    language = models.CharField(
        max_length=8,
        blank=True,
        help_text=_("ISO 639-1 code of every document; leave empty to detect it for each."),
    )
    chunk_tokens = models.PositiveSmallIntegerField(
        _("chunk size"),
        default=200,
        validators=[MinValueValidator(32), MaxValueValidator(2000)],
        help_text=_("Target size of a chunk in tokens of the embedding model (32-2000)."),
    )
    overlap_tokens = models.PositiveSmallIntegerField(
        _("chunk overlap"),
        default=20,
        help_text=_("Tokens shared by consecutive chunks; less than half the chunk size."),
    )
    metadata_keys = ArrayField(
        models.CharField(max_length=metadata.MAX_KEY_CHARS, validators=[validate_metadata_key]),
        size=metadata.MAX_FACET_KEYS,
        default=list,
        blank=True,
        help_text=_("Metadata keys that searches can be filtered by."),
    )
    created = models.DateTimeField(default=timezone.now, editable=False)
    deleted_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        db_index=True,
        help_text=_("When it was moved to the bin, with all its documents."),
    )
    deleted_by = user_or_none(editable=False)

    objects = CollectionManager()
    # With the narrower audiences: for conditions on what may be read, never for lists.
    audiences = _Audiences()

    class Meta:
        ordering = ("name",)
        constraints = (
            # A collection in the bin does not reserve its name.
            models.UniqueConstraint(
                "name",
                condition=Q(deleted_at=None),
                name="collection_name_once",
                violation_error_message=_("A collection of this name already exists."),
            ),
            models.UniqueConstraint(
                "slug",
                condition=Q(deleted_at=None),
                name="collection_slug_once",
                violation_error_message=_("A collection with this slug already exists."),
            ),
            models.CheckConstraint(
                condition=Q(chunk_tokens__gte=32, chunk_tokens__lte=2000),
                name="collection_chunk_tokens_range",
                violation_error_message=_("The chunk size must be between 32 and 2000 tokens."),
            ),
            models.CheckConstraint(
                condition=Q(overlap_tokens__lt=F("chunk_tokens") / 2),
                name="collection_overlap_below_half",
                violation_error_message=_("The overlap must be less than half the chunk size."),
            ),
        )

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self.slug:
            self.slug = slugify(self.name)[:120] or f"collection-{uuid.uuid4().hex[:8]}"
        super().save(*args, **kwargs)

    def clean(self) -> None:
        # The operator `collection:` and people do not tell capitals apart.
        others = Collection.objects.filter(slug__iexact=self.slug, deleted_at=None)
        if self.slug and others.exclude(slug=self.slug).exclude(pk=self.pk).exists():
            raise ValidationError({"slug": _("A collection with this slug already exists.")})

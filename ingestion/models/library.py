"""Collections hold documents; `versions` has the versions of a document."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from django.conf.locale import LANG_INFO
from django.contrib.auth.models import AnonymousUser, Group
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Count, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.db.models.lookups import Exact
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from ingestion import metadata
from ingestion.errors import InvalidMetadata
from ingestion.models.icons import validate_icon

if TYPE_CHECKING:
    from common.accounts.models import User

    Viewer = User | AnonymousUser | None
else:
    Viewer = Any


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
    """The English name of an ISO 639-1 code; the code itself if unknown."""
    return str(LANG_INFO.get(code, {}).get("name", code))


class Visibility(models.TextChoices):
    PUBLIC = "public", _("Everyone")
    SIGNED_IN = "signed_in", _("Signed-in users")
    GROUPS = "groups", _("Members of chosen groups")


class CollectionQuerySet(models.QuerySet["Collection"]):
    def kept(self) -> CollectionQuerySet:
        """The collections that are not in the bin."""
        return self.filter(deleted_at=None)

    def visible_to(self, viewer: Viewer) -> CollectionQuerySet:
        """The kept collections that `viewer` may read; None reads as an anonymous visitor."""
        return self.kept().open_to(viewer)

    def open_to(self, viewer: Viewer) -> CollectionQuerySet:
        """The collections whose audience includes `viewer`, in the bin or not."""
        if viewer is None or not viewer.is_authenticated or not viewer.is_active:
            return self.filter(visibility=Visibility.PUBLIC)
        if viewer.collections_limit is not None:
            within = self.filter(pk__in=viewer.collections_limit)
            return within._open_to_user(viewer)
        return self._open_to_user(viewer)

    def _open_to_user(self, viewer: User) -> CollectionQuerySet:
        if viewer.is_superuser:
            return self
        member = Q(
            pk__in=Collection.groups.through.objects.filter(group__user=viewer.pk).values(
                "collection"
            )
        )
        return self.filter(
            Q(visibility__in=(Visibility.PUBLIC, Visibility.SIGNED_IN))
            | (Q(visibility=Visibility.GROUPS) & member)
        )


class Collection(models.Model):
    """A set of documents with one audience and one chunking configuration."""

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

    objects = CollectionQuerySet.as_manager()

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


class SourceKind(models.TextChoices):
    """Where a document came from."""

    UPLOAD = "upload", _("Upload")
    PATH = "path", _("File on the server")
    URL = "url", _("Web address")
    PART = "part", _("Part of another document")


class DocumentQuerySet(models.QuerySet["Document"]):
    def kept(self) -> DocumentQuerySet:
        """The documents that are not in the bin, nor in a collection that is."""
        return self.filter(deleted_at=None, collection__deleted_at=None)

    def visible_to(self, viewer: Viewer) -> DocumentQuerySet:
        """The documents that `viewer` may read, without those in the bin."""
        readable = Collection.objects.visible_to(viewer)
        return self.filter(deleted_at=None, collection__in=readable)

    def in_bin_of(self, viewer: Viewer) -> DocumentQuerySet:
        """The documents in the bin whose collections `viewer` may read."""
        readable = Collection.objects.visible_to(viewer)
        return self.exclude(deleted_at=None).filter(collection__in=readable)

    def with_part_count(self) -> DocumentQuerySet:
        """The documents annotated with `part_count`, the number of their kept parts."""
        parts = Document.objects.filter(parent=OuterRef("pk"), deleted_at=None).order_by()
        counted = parts.values("parent").annotate(count=Count("pk")).values("count")
        return self.annotate(part_count=Coalesce(Subquery(counted), 0))


class Document(models.Model):
    """A document with its title, through all its versions.

    `current` is the searchable version; `latest` is the newest upload. They differ while a new
    version is being processed, and after one has failed.
    """

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="documents")
    title = models.CharField(max_length=500)
    title_given = models.BooleanField(
        default=False, help_text=_("The title was set by hand: a new version keeps it.")
    )
    title_terms = SearchVectorField(null=True, editable=False)
    source = models.CharField(
        max_length=1000,
        blank=True,
        help_text=_("Path or address; a new file from the same source becomes a new version."),
    )
    source_kind = models.CharField(
        max_length=8, choices=SourceKind.choices, default=SourceKind.UPLOAD, editable=False
    )
    parent = models.ForeignKey(
        "self",
        models.CASCADE,
        null=True,
        blank=True,
        related_name="parts",
        editable=False,
        help_text=_("The archive or message that contains this part."),
    )
    part_path = models.CharField(
        max_length=1000, blank=True, editable=False, help_text=_("Path within the parent.")
    )
    language = models.CharField(max_length=8, blank=True)
    language_given = models.BooleanField(default=False)
    metadata = models.JSONField(
        default=dict,
        blank=True,
        validators=[validate_metadata],
        help_text=_(
            "What people know of it: a flat object of texts, numbers, dates, lists of texts."
        ),
    )
    content_hash = models.CharField(max_length=64, editable=False)
    current = models.ForeignKey(
        "DocumentVersion", models.SET_NULL, null=True, blank=True, related_name="+", editable=False
    )
    latest = models.ForeignKey(
        "DocumentVersion", models.SET_NULL, null=True, blank=True, related_name="+", editable=False
    )
    added_by = user_or_none(editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False, db_index=True)
    updated = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        db_index=True,
        help_text=_(
            "When it was moved to the bin; it can be restored until the grace period ends."
        ),
    )
    deleted_by = user_or_none(editable=False)

    objects = DocumentQuerySet.as_manager()

    class Meta:
        ordering = ("-created", "-pk")
        constraints = (
            models.UniqueConstraint(
                "collection",
                "content_hash",
                # Parts are identified by their path; documents in the bin do not count.
                condition=Q(parent=None, deleted_at=None),
                name="document_same_bytes_once",
                violation_error_message=_(
                    "This collection already has a document with the same content."
                ),
            ),
            models.UniqueConstraint(
                "collection",
                "source",
                condition=~Q(source="") & Q(deleted_at=None),
                name="document_one_per_source",
                violation_error_message=_(
                    "This collection already has a document from this source."
                ),
            ),
            models.UniqueConstraint(
                "parent",
                "part_path",
                condition=~Q(parent=None) & Q(deleted_at=None),
                name="document_one_per_part",
            ),
            models.CheckConstraint(
                condition=Exact(
                    models.Func(
                        "metadata", function="jsonb_typeof", output_field=models.TextField()
                    ),
                    models.Value("object"),
                ),
                name="document_metadata_is_an_object",
                violation_error_message=_("Metadata is a JSON object of keys and values."),
            ),
        )
        indexes = (
            GinIndex(fields=("title_terms",), name="document_title_terms"),
            GinIndex(fields=("metadata",), name="document_metadata"),
        )

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("search:document", args=(self.public_id,))


class DeletedDocument(Document):
    """A proxy for documents in the bin, with the same permissions."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name_plural = _("bin")


class DocumentMove(models.Model):
    """Documents that were moved together to another collection, so that this can be undone.

    `rows` are pairs of a document's id and the id of the collection that it came from.
    """

    at = models.DateTimeField(default=timezone.now, editable=False)
    by = user_or_none(editable=False)
    to = models.ForeignKey(Collection, models.CASCADE, related_name="+", editable=False)
    rows = models.JSONField(default=list, editable=False)
    undone = models.BooleanField(default=False, editable=False)

    class Meta:
        ordering = ("-at", "-pk")
        default_permissions = ()

    def __str__(self) -> str:
        return f"{len(self.rows)} to {self.to_id}"

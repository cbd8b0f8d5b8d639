"""Documents of a collection, and purges, which erase them."""

from __future__ import annotations

import unicodedata
import uuid
from functools import reduce
from operator import or_

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Count, F, OuterRef, Q, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, Upper
from django.db.models.lookups import Exact
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from common.jobs import IMPORTS, Job, JobState
from ingestion.models.collections import Collection, validate_metadata
from ingestion.models.visibility import Viewer, open_to


class SourceKind(models.TextChoices):
    """Where a document came from."""

    UPLOAD = "upload", _("Upload")
    PATH = "path", _("File on the server")
    URL = "url", _("Web address")
    PART = "part", _("Part of another document")
    SYNC = "sync", _("Program that syncs")


# Documents whose currency must be read; without any, searches skip that query.
DATED = Q(superseded_by__isnull=False) | Q(valid_from__isnull=False) | Q(valid_until__isnull=False)
# Documents of which something is not searchable.
INCOMPLETE = Q(current__completeness__missing__gt=0)
# The share of the searchable version that is missing; -1 where that is not known.
MISSING = Coalesce(
    Cast(KeyTextTransform("missing", "current__completeness"), models.FloatField()),
    models.Value(-1.0),
)


# Of a row `d` of documents: the collection or narrower audience that its passages belong to.
READERS = "coalesce(d.audience_id, d.collection_id)"


class DocumentQuerySet(models.QuerySet["Document"]):
    def undeleted(self) -> DocumentQuerySet:
        """The documents that are not in the bin, nor in a collection that is."""
        return self.filter(deleted_at=None, collection__deleted_at=None)

    def visible_to(self, viewer: Viewer) -> DocumentQuerySet:
        """The documents that `viewer` may read, without those in the bin."""
        readable = Collection.objects.visible_to(viewer)
        return self.filter(deleted_at=None, collection__in=readable).open_to(viewer)

    def in_bin_of(self, viewer: Viewer) -> DocumentQuerySet:
        """The documents in the bin whose collections `viewer` may read."""
        readable = Collection.objects.visible_to(viewer)
        return self.exclude(deleted_at=None).filter(collection__in=readable).open_to(viewer)

    def open_to(self, viewer: Viewer) -> DocumentQuerySet:
        """The documents without readers of their own, or whose readers include `viewer`."""
        return self.filter(open_to(viewer))

    def beside(self, document: Document) -> DocumentQuerySet:
        """The documents outside the bin in the same collection with the same readers."""
        rows = self.undeleted().filter(collection=document.collection_id)
        return rows.filter(audience=document.audience_id)

    def named(self, words: str) -> DocumentQuerySet:
        """The documents with all of these words in their title or their newest file's name.

        Names that were stored by an earlier release may be in NFD.
        """
        rows = self
        for word in words.split():
            spellings = {unicodedata.normalize(form, word) for form in ("NFC", "NFD")}
            fields = ("title__icontains", "latest__file_name__icontains")
            either = (Q((field, spelling)) for field in fields for spelling in spellings)
            rows = rows.filter(reduce(or_, either))
        return rows

    def incomplete(self) -> DocumentQuerySet:
        """The documents that are not fully searchable, the largest missing share first."""
        return self.filter(INCOMPLETE).order_by(MISSING.desc(), "-pk")

    def with_part_count(self) -> DocumentQuerySet:
        """The documents annotated with `part_count`, the number of their parts outside the bin."""
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
    # Null: the readers of the collection. A narrower audience of that collection, see `Collection`.
    audience = models.ForeignKey(
        Collection, models.CASCADE, null=True, blank=True, editable=False, related_name="+"
    )
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
    # The newer document that takes its place.
    superseded_by = models.ForeignKey(
        "self", models.SET_NULL, null=True, related_name="supersedes", editable=False
    )
    # The document of which this may be a new edition, until a person decides.
    edition_of = models.ForeignKey(
        "self", models.SET_NULL, null=True, related_name="+", editable=False
    )
    valid_from = models.DateField(null=True, blank=True, help_text=_("Its first valid day."))
    valid_until = models.DateField(null=True, blank=True, help_text=_("Its last valid day."))
    review_by = models.DateField(null=True, blank=True, help_text=_("The day of its review."))
    reviewed = models.DateField(null=True, editable=False)
    reviewed_by = user_or_none(editable=False)
    reminded = models.DateField(null=True, editable=False)  # when its owner was reminded
    owner = user_or_none(help_text=_("Who answers for it, and is reminded of its review."))

    objects = DocumentQuerySet.as_manager()

    class Meta:
        ordering = ("-created", "-pk")
        constraints = (
            models.UniqueConstraint(
                "collection",
                "content_hash",
                # A user without access to one document must not learn of it by an error (ADR 120).
                "audience",
                nulls_distinct=False,
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
                "audience",
                nulls_distinct=False,
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
            models.CheckConstraint(
                condition=Q(valid_until__gte=F("valid_from")),
                name="document_validity_has_days",
                violation_error_message=_("Its last valid day is before its first."),
            ),
        )
        indexes = (
            models.Index(fields=("collection",), condition=DATED, name="document_dated"),
            models.Index("collection", Upper("title"), name="document_by_title"),
            GinIndex(fields=("title_terms",), name="document_title_terms"),
            GinIndex(fields=("metadata",), name="document_metadata"),
        )

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("search:document", args=(self.public_id,))

    @property
    def readers_id(self) -> int:
        """The id of the collection or narrower audience that its passages belong to."""
        return self.audience_id or self.collection_id

    @property
    def may_be_dated(self) -> bool:
        """Whether the document meets one of the conditions in DATED."""
        return bool(self.superseded_by_id or self.valid_from or self.valid_until)


class DeletedDocument(Document):
    """A proxy for documents in the bin, with the same permissions."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name_plural = _("bin")


class Purge(Job):
    """The permanent deletion of a collection; without one, of single documents of the bin.

    The row is deleted when its work is done. `passages` is the number to erase at the beginning,
    from the counts of the documents; `erased` is the number erased so far.
    """

    State = JobState
    TASK = "ingestion.tasks.advance_purge"
    QUEUES = {IMPORTS: Q()}

    collection = models.ForeignKey(Collection, models.CASCADE, null=True, related_name="purges")
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    passages = models.PositiveIntegerField(default=0, editable=False)
    erased = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("collection",), nulls_distinct=False, name="purge_once"
            ),
        )

    def __str__(self) -> str:
        return str(self.collection or _("single documents"))

    @property
    def percent(self) -> int:
        """The erased share in percent, below 100, since the row is deleted by the last step."""
        return min(99, self.erased * 100 // max(1, self.passages))

    def lock_parents(self) -> bool:
        """Lock the collection; False if it was restored or is gone."""
        if self.collection_id is None:
            return True
        rows = Collection.objects.select_for_update(of=("self",)).exclude(deleted_at=None)
        return rows.filter(pk=self.collection_id).exists()

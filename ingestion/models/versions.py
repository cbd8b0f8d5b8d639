"""A document's versions, each with a file and a state, and the hand edits of its chunks."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from common.jobs import BULK, INTERACTIVE, Job
from ingestion.models.documents import Document


class State(models.TextChoices):
    """The processing state of a version."""

    QUEUED = "queued", _("Waiting")
    PARSING = "parsing", _("Reading")
    CHUNKING = "chunking", _("Cutting")
    EMBEDDING = "embedding", _("Indexing")
    READY = "ready", _("Ready")
    FAILED = "failed", _("Failed")
    SUPERSEDED = "superseded", _("Superseded")


UNFINISHED = (State.QUEUED, State.PARSING, State.CHUNKING, State.EMBEDDING)


class Lane(models.TextChoices):
    """The queue that a version waits in, so that uploads do not wait for imports."""

    INTERACTIVE = "interactive", _("Interactive")
    BULK = "bulk", _("Bulk")


class DocumentVersion(Job):
    """One uploaded file and its processing state, which alone determines the work left to do."""

    TASK = "ingestion.tasks.advance_version"
    QUEUES = {INTERACTIVE: Q(lane="interactive"), BULK: Q(lane="bulk")}
    OPEN = UNFINISHED

    document = models.ForeignKey(Document, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    file = models.FileField(max_length=300, editable=False)
    file_name = models.CharField(max_length=255)
    media_type = models.CharField(max_length=120)
    size = models.PositiveBigIntegerField(help_text=_("Bytes."))
    sha256 = models.CharField(max_length=64)

    state = models.CharField(
        max_length=12, choices=State.choices, default=State.QUEUED, db_index=True
    )
    progress = models.FloatField(default=0, help_text=_("Share of the work that is done, 0 to 1."))
    error_code = models.CharField(max_length=40, blank=True)
    finished = models.DateTimeField(null=True, blank=True)

    title = models.CharField(max_length=500, blank=True)
    language = models.CharField(max_length=8, blank=True)
    text = models.TextField(blank=True, help_text=_("Extracted text; chunk offsets refer to it."))
    page_count = models.PositiveIntegerField(null=True, blank=True)
    author = models.CharField(max_length=500, blank=True)
    file_created = models.DateTimeField(null=True, blank=True)
    file_modified = models.DateTimeField(null=True, blank=True)
    parser = models.CharField(max_length=80, blank=True)
    warnings = models.JSONField(default=list, blank=True)
    completeness = models.JSONField(
        null=True,
        editable=False,
        help_text=_("What became searchable: domain.Completeness. Empty: not known."),
    )
    stated = models.JSONField(
        null=True,
        editable=False,
        help_text=_("What file and import state of its currency: ingestion.currency_dates.KEYS."),
    )
    chunk_count = models.PositiveIntegerField(default=0)
    chunk_layout = models.PositiveSmallIntegerField(
        default=0, editable=False, help_text=_("Of its chunks: see chunking.options.LAYOUT.")
    )
    lane = models.CharField(max_length=12, choices=Lane.choices, default=Lane.INTERACTIVE)
    restored_from = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("The older version that this one restores."),
    )
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("-number",)
        constraints = (
            models.UniqueConstraint("document", "number", name="version_number_once"),
            models.CheckConstraint(
                condition=Q(progress__gte=0, progress__lte=1), name="version_progress_is_a_share"
            ),
        )
        indexes = (
            models.Index(
                fields=("leased_until", "enqueued_at"),
                name="version_unfinished",
                condition=Q(state__in=UNFINISHED),
            ),
        )

    def __str__(self) -> str:
        return f"{self.file_name} (version {self.number})"

    @classmethod
    def open_jobs(cls) -> models.QuerySet[DocumentVersion]:
        """The unfinished versions of documents and collections that are not in the bin."""
        document = Document.objects.undeleted().filter(pk=OuterRef("document_id"))
        return super().open_jobs().filter(Exists(document))

    def lock_parents(self) -> bool:
        """Lock the document before the version; return False if the document was deleted.

        All code takes the two locks in this order, since workers' rows refer to both and another
        order could deadlock.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT 1 FROM ingestion_document WHERE id = %s AND deleted_at IS NULL"
                " FOR KEY SHARE",
                [self.document_id],
            )
            return cursor.fetchone() is not None


# As many as a question may have (`search.query.parse`): any may be pinned.
MAX_QUESTION_CHARS = 4000


class ChunkEdit(models.Model):
    """A hand edit of one chunk of a document. It outlives the chunk (`hand_edit_matching`).

    Its anchor locates it: the hashes of the chunk's parsed text and of its neighbours', the
    headings and the ordinal. `Chunk.edit` refers to the edit wherever it is applied.
    """

    class State(models.TextChoices):
        APPLIED = "applied", _("Applied")
        HOMELESS = "homeless", _("Unplaced")

    document = models.ForeignKey(Document, models.CASCADE, related_name="edits")
    text = models.TextField(
        blank=True, help_text=_("Replacement text; leave empty to keep the text.")
    )
    disabled = models.BooleanField(default=False, help_text=_("Exclude the passage from search."))
    questions = ArrayField(
        models.CharField(max_length=MAX_QUESTION_CHARS),
        default=list,
        blank=True,
        help_text=_("Exact questions for which the passage ranks first, one per line."),
    )
    note = models.TextField(blank=True, help_text=_("Shown to staff only."))

    original = models.TextField(editable=False)
    content_hash = models.CharField(max_length=64, editable=False)
    hash_before = models.CharField(max_length=64, blank=True, editable=False)
    hash_after = models.CharField(max_length=64, blank=True, editable=False)
    heading_path = ArrayField(models.TextField(), default=list, editable=False)
    ordinal = models.PositiveIntegerField(editable=False)

    state = models.CharField(
        max_length=8, choices=State.choices, default=State.APPLIED, db_index=True, editable=False
    )
    reason = models.TextField(
        blank=True, editable=False, help_text=_("Why the edit could not be placed.")
    )
    added_by = user_or_none(editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        default_permissions = ()  # the permission to change a document includes its passages
        ordering = ("document", "ordinal", "pk")
        verbose_name = _("hand edit")

    def __str__(self) -> str:
        return f"Edit of passage {self.ordinal + 1} of {self.document}"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of change that the edit makes."""
        kinds = (
            (bool(self.text), "text"),
            (self.disabled, "disabled"),
            (bool(self.questions), "pinned"),
            (bool(self.note), "note"),
        )
        return tuple(word for does, word in kinds if does)

"""Folders on the server whose files a collection mirrors, and what is known of each file."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.jobs import IMPORTS, Job
from ingestion.models.library import Collection, Document, Viewer

LEAST_POLL_SECONDS = 5
MOST_POLL_SECONDS = 7 * 24 * 3600


class WatchedFolderQuerySet(models.QuerySet["WatchedFolder"]):
    def active(self) -> WatchedFolderQuerySet:
        """The folders that are to be looked through."""
        return self.filter(enabled=True, collection__in=Collection.objects.kept())

    def visible_to(self, viewer: Viewer) -> WatchedFolderQuerySet:
        """The folders mirrored into collections that `viewer` may read."""
        return self.filter(collection__in=Collection.objects.visible_to(viewer))


class WatchedFolder(Job):
    """A folder that is looked through every `poll_seconds` and mirrored into a collection.

    A job that never ends: `not_before` is its next look.
    """

    TASK = "ingestion.tasks.scan_folder"
    QUEUES = {IMPORTS: Q()}

    class State(models.TextChoices):
        NEW = "new", "Not looked through yet"
        OK = "ok", "In step"
        MISSING = "missing", "Folder is missing"
        HELD = "held", "Many files are gone: confirm"
        ERROR = "error", "Cannot be read"

    class Deletion(models.TextChoices):
        BIN = "bin", "Put the document into the bin"
        KEEP = "keep", "Keep the document"

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="watched_folders")
    path = models.CharField(max_length=900, help_text="Absolute, on the server.")
    include = models.TextField(
        blank=True,
        help_text="Patterns of paths below the folder, one a line, such as *.pdf or reports/**. "
        "Empty: every file of a type that can be read.",
    )
    exclude = models.TextField(
        blank=True, help_text="Patterns of paths that are left out, one a line."
    )
    recursive = models.BooleanField("with folders below it", default=True)
    enabled = models.BooleanField(default=True)
    poll_seconds = models.PositiveIntegerField(
        "look every … seconds",
        default=60,
        validators=[
            MinValueValidator(LEAST_POLL_SECONDS),
            MaxValueValidator(MOST_POLL_SECONDS),
        ],
    )
    deletion = models.CharField(
        "when a file is deleted", max_length=6, choices=Deletion.choices, default=Deletion.BIN
    )
    language = models.CharField(
        max_length=8, blank=True, help_text="ISO 639-1 code; empty: detected for each file."
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.NEW, editable=False)
    message = models.TextField(blank=True, editable=False, help_text="What is wrong, what to do.")
    last_scan = models.DateTimeField(null=True, blank=True, editable=False)
    last_seconds = models.FloatField(null=True, blank=True, editable=False)
    last_counts = models.JSONField(default=dict, blank=True, editable=False)
    error = None  # type: ignore[assignment]  # its `message` says what is wrong
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        editable=False,
    )
    created = models.DateTimeField(default=timezone.now, editable=False)

    objects = WatchedFolderQuerySet.as_manager()

    class Meta:
        ordering = ("path", "pk")
        constraints = (
            models.UniqueConstraint(
                "collection",
                "path",
                name="watched_folder_once",
                violation_error_message="This collection watches that folder already.",
            ),
            models.CheckConstraint(
                condition=Q(poll_seconds__gte=LEAST_POLL_SECONDS),
                name="watched_folder_poll_seconds",
                violation_error_message="Look every 5 seconds at most.",
            ),
        )

    def __str__(self) -> str:
        return self.path

    @classmethod
    def open_jobs(cls) -> WatchedFolderQuerySet:
        """The folders that are to be looked through."""
        return cls.objects.active()


class WatchedFile(models.Model):
    """One file below a watched folder, as it last was.

    `sha256` is of the bytes that were taken in; empty for what was not. `missing_since` is the
    first scan that did not find it. `size` and `mtime_ns` are those of the last scan.
    """

    class State(models.TextChoices):
        SETTLING = "settling", "Perhaps still being written"
        TAKEN = "taken", "In the collection"
        DUPLICATE = "duplicate", "Same bytes as another file"
        REFUSED = "refused", "Refused"
        UNREADABLE = "unreadable", "Cannot be read"

    folder = models.ForeignKey(WatchedFolder, models.CASCADE, related_name="files")
    path = models.CharField(max_length=1000, help_text="Below the folder.")
    size = models.PositiveBigIntegerField()
    mtime_ns = models.BigIntegerField()
    sha256 = models.CharField(max_length=64, blank=True, db_index=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.SETTLING)
    message = models.TextField(blank=True)
    document = models.ForeignKey(
        Document, models.SET_NULL, null=True, blank=True, related_name="watched_files"
    )
    missing_since = models.DateTimeField(null=True, blank=True)
    deletion_confirmed = models.BooleanField(default=False)

    class Meta:
        ordering = ("folder", "path")
        constraints = (models.UniqueConstraint("folder", "path", name="watched_file_once"),)

    def __str__(self) -> str:
        return self.path

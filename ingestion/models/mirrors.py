"""Mirrors of documents from elsewhere: watched folders and their files, sources of programs."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from common.jobs import IMPORTS, Job
from ingestion.models.collections import Collection
from ingestion.models.documents import Document
from ingestion.models.visibility import Viewer

LEAST_POLL_SECONDS = 5
MOST_POLL_SECONDS = 7 * 24 * 3600


class WatchedFolderQuerySet(models.QuerySet["WatchedFolder"]):
    def visible_to(self, viewer: Viewer) -> WatchedFolderQuerySet:
        """The folders mirrored into collections that `viewer` may read."""
        return self.filter(collection__in=Collection.objects.visible_to(viewer))


class WatchedFolder(Job):
    """A folder that is scanned every `poll_seconds` and mirrored into a collection.

    A job that never ends: `not_before` is the time of its next scan.
    """

    TASK = "ingestion.tasks.scan_folder"
    QUEUES = {IMPORTS: Q()}

    class State(models.TextChoices):
        NEW = "new", _("Not scanned yet")
        OK = "ok", _("Up to date")
        MISSING = "missing", _("Folder is missing")
        HELD = "held", _("Many files are missing: confirm")
        ERROR = "error", _("Cannot be read")

    class Deletion(models.TextChoices):
        BIN = "bin", _("Move the document to the bin")
        KEEP = "keep", _("Keep the document")

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="watched_folders")
    path = models.CharField(max_length=900, help_text=_("Absolute path on the server."))
    include = models.TextField(
        blank=True,
        help_text=_(
            "Patterns of paths below the folder, one per line, such as *.pdf or reports/**. "
            "Leave empty for all supported files."
        ),
    )
    exclude = models.TextField(blank=True, help_text=_("Patterns of paths to skip, one per line."))
    recursive = models.BooleanField(_("include subfolders"), default=True)
    enabled = models.BooleanField(default=True)
    poll_seconds = models.PositiveIntegerField(
        _("scan interval in seconds"),
        default=60,
        validators=[MinValueValidator(LEAST_POLL_SECONDS), MaxValueValidator(MOST_POLL_SECONDS)],
    )
    deletion = models.CharField(
        _("when a file is deleted"), max_length=6, choices=Deletion.choices, default=Deletion.BIN
    )
    language = models.CharField(
        max_length=8,
        blank=True,
        help_text=_("ISO 639-1 code; leave empty to detect it for each file."),
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.NEW, editable=False)
    message = models.TextField(
        blank=True, editable=False, help_text=_("What is wrong, and what to do.")
    )
    last_scan = models.DateTimeField(null=True, blank=True, editable=False)
    last_counts = models.JSONField(default=dict, blank=True, editable=False)
    error = None  # type: ignore[assignment]  # `message` is used instead
    added_by = user_or_none(editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)

    objects = WatchedFolderQuerySet.as_manager()

    class Meta:
        ordering = ("path", "pk")
        constraints = (
            models.UniqueConstraint(
                "collection",
                "path",
                name="watched_folder_once",
                violation_error_message=_("This collection already watches that folder."),
            ),
            models.CheckConstraint(
                condition=Q(poll_seconds__gte=LEAST_POLL_SECONDS),
                name="watched_folder_poll_seconds",
                violation_error_message=_("The scan interval must be at least 5 seconds."),
            ),
        )

    def __str__(self) -> str:
        return self.path

    @classmethod
    def open_jobs(cls) -> WatchedFolderQuerySet:
        """The enabled folders of kept collections."""
        return cls.objects.filter(enabled=True, collection__in=Collection.objects.undeleted())


class Mirrored(models.Model):
    """One external file or record that a collection mirrors, as of the last scan, and its document.

    `sha256` is that of the ingested bytes; empty if they were not ingested. `missing_since` is the
    time of the first look that did not find it.
    """

    # The changes to a row whose bytes must be ingested again.
    AFRESH: ClassVar[dict[str, Any]] = {"sha256": "", "document": None}
    # The changes to a row that gets the document of another row with the same bytes.
    OWN: ClassVar[dict[str, Any]] = {"missing_since": None}

    sha256 = models.CharField(max_length=64, blank=True, db_index=True)
    missing_since = models.DateTimeField(null=True, blank=True)
    deletion_confirmed = models.BooleanField(default=False)
    document: models.ForeignKey[Document | None, Document | None]

    class Meta:
        abstract = True

    @property
    def origin(self) -> str:
        """The value of `source` for the document that this row creates."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The file name."""
        raise NotImplementedError


class WatchedFile(Mirrored):
    """One file below a watched folder, as of the last scan."""

    class State(models.TextChoices):
        SETTLING = "settling", _("Waiting until unchanged")
        TAKEN = "taken", _("In the collection")
        DUPLICATE = "duplicate", _("Same content as another file")
        REFUSED = "refused", _("Refused")
        UNREADABLE = "unreadable", _("Cannot be read")

    AFRESH = {**Mirrored.AFRESH, "state": State.SETTLING}
    OWN = {"state": State.TAKEN, "message": ""}

    folder = models.ForeignKey(WatchedFolder, models.CASCADE, related_name="files")
    path = models.CharField(max_length=1000, help_text=_("Relative to the folder."))
    size = models.PositiveBigIntegerField()
    mtime_ns = models.BigIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.SETTLING)
    message = models.TextField(blank=True)
    document = models.ForeignKey(
        Document, models.SET_NULL, null=True, blank=True, related_name="watched_files"
    )

    class Meta:
        ordering = ("folder", "path")
        constraints = (models.UniqueConstraint("folder", "path", name="watched_file_once"),)

    def __str__(self) -> str:
        return self.path

    @property
    def origin(self) -> str:
        return f"{self.folder.path}/{self.path}"

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name


class SyncSourceQuerySet(models.QuerySet["SyncSource"]):
    def visible_to(self, viewer: Viewer) -> SyncSourceQuerySet:
        """The sources mirrored into collections that `viewer` may read."""
        return self.filter(collection__in=Collection.objects.visible_to(viewer))


class SyncSource(models.Model):
    """Where a program of `owner` takes documents from, which a collection mirrors.

    `message` says why nothing is deleted at the moment; empty if nothing is held back.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    name = models.SlugField(max_length=80)
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="sync_sources")
    message = models.TextField(blank=True)
    last_sync = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(default=timezone.now, editable=False)

    objects = SyncSourceQuerySet.as_manager()

    class Meta:
        ordering = ("name", "pk")
        constraints = (models.UniqueConstraint("owner", "name", name="sync_source_once"),)

    def __str__(self) -> str:
        return self.name

    @property
    def prefix(self) -> str:
        """What the `source` of each of its documents begins with.

        By name, not by key: a source that is made anew finds its documents again.
        """
        return f"sync:{self.owner_id}/{self.name}/"


class SyncItem(Mirrored):
    """One document of a source: its id there, and the state in which it was put last.

    An empty `etag` asks for the document again: its bytes were those of another one, which changed.
    """

    AFRESH = {**Mirrored.AFRESH, "etag": ""}

    source = models.ForeignKey(SyncSource, models.CASCADE, related_name="items")
    external_id = models.CharField(max_length=500)
    etag = models.CharField(max_length=200, blank=True)
    file_name = models.CharField(max_length=255)
    updated = models.DateTimeField(auto_now=True)
    document = models.ForeignKey(
        Document, models.SET_NULL, null=True, blank=True, related_name="sync_items"
    )

    class Meta:
        ordering = ("source", "external_id")
        constraints = (models.UniqueConstraint("source", "external_id", name="sync_item_once"),)

    def __str__(self) -> str:
        return self.external_id

    @property
    def origin(self) -> str:
        return f"{self.source.prefix}{self.external_id}"

    @property
    def name(self) -> str:
        return self.file_name

    @property
    def is_own(self) -> bool:
        """Whether its document was created from this row, or is erased."""
        return self.document is None or self.document.source == self.origin

    @property
    def is_there(self) -> bool:
        """Whether its document is outside the bin and, if created elsewhere, has the same bytes."""
        document = self.document
        if document is None or document.deleted_at is not None:
            return False
        return self.is_own or document.content_hash == self.sha256

"""Imports of many files: what was asked for, and what became of each, so that one can go on."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from common.jobs import IMPORTS, Job
from ingestion.models.library import Collection, Document, Viewer


class ImportQuerySet(models.QuerySet["Import"]):
    def visible_to(self, viewer: Viewer) -> ImportQuerySet:
        """The imports into collections that `viewer` may read."""
        return self.filter(collection__in=Collection.objects.visible_to(viewer))


class Import(Job):
    """One import of many files or pages into a collection. It goes on where it was stopped.

    `origin` is the archive's or manifest's name or path, or the address. `options` are those of
    its kind (depth, limits, ...), as given. `discovered` is the moment when all that the origin
    names was written down as items; until then it is read again from its start.
    """

    class Kind(models.TextChoices):
        ARCHIVE = "archive", "ZIP archive"
        MANIFEST = "manifest", "Manifest"
        FOLDER = "folder", "Folder"
        URL = "url", "Web address"
        SITE = "site", "Web pages from an address on"
        SITEMAP = "sitemap", "Sitemap"

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Stopped by an error"
        CANCELLED = "cancelled", "Stopped"

    TASK = "ingestion.tasks.run_import"
    QUEUES = {IMPORTS: Q()}

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="imports")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    origin = models.CharField(max_length=2000)
    options = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    file = models.FileField(max_length=300, blank=True, editable=False)
    language = models.CharField(max_length=8, blank=True, help_text="Of items that state none.")
    discovered = models.DateTimeField(null=True, blank=True, editable=False)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        editable=False,
    )
    created = models.DateTimeField(default=timezone.now, editable=False)
    finished = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ImportQuerySet.as_manager()

    class Meta:
        ordering = ("-created", "-pk")
        indexes = (
            models.Index(
                fields=("leased_until", "enqueued_at"),
                name="import_open",
                condition=Q(state__in=("queued", "running")),
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.origin}"

    def get_absolute_url(self) -> str:
        return reverse("admin:ingestion_import_change", args=(self.pk,))

    @classmethod
    def open_jobs(cls) -> models.QuerySet[Import]:
        """Those that any worker can run: not what a command reads from its own machine."""
        return cls.on_any_machine().exclude(options__has_key="host")

    @classmethod
    def on_any_machine(cls) -> models.QuerySet[Import]:
        """The open imports into kept collections."""
        return super().open_jobs().filter(collection__in=Collection.objects.kept())


class ImportItem(models.Model):
    """One file or page of an import: its path or address, and what became of it."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        ADDED = "added", "Added"
        REPLACED = "replaced", "New version"
        DUPLICATE = "duplicate", "Held already"
        SKIPPED = "skipped", "Left out"
        FAILED = "failed", "Failed"

    of = models.ForeignKey(Import, models.CASCADE, related_name="items")
    reference = models.CharField(max_length=2000, help_text="Its path or address.")
    position = models.PositiveIntegerField(default=0)
    depth = models.PositiveSmallIntegerField(default=0, help_text="Links from the start.")
    state = models.CharField(
        max_length=10, choices=State.choices, default=State.WAITING, db_index=True
    )
    message = models.TextField(blank=True)
    attempts = models.PositiveSmallIntegerField(default=0, editable=False)
    metadata = models.JSONField(default=dict, blank=True)
    document = models.ForeignKey(Document, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ("of", "position", "pk")
        constraints = (models.UniqueConstraint("of", "reference", name="import_item_once"),)
        indexes = (models.Index(fields=("of", "state", "position"), name="import_item_next"),)

    def __str__(self) -> str:
        return self.reference

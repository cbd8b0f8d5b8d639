"""Imports with their items."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.accounts.models import user_or_none
from common.jobs import IMPORTS, Job
from ingestion.models.collections import Collection
from ingestion.models.documents import Document
from ingestion.models.visibility import Viewer, open_to


class ImportQuerySet(models.QuerySet["Import"]):
    def visible_to(self, viewer: Viewer) -> ImportQuerySet:
        """The imports into collections that `viewer` may read, for readers who include them."""
        readable = self.filter(collection__in=Collection.objects.visible_to(viewer))
        return readable.filter(open_to(viewer))


class Import(Job):
    """An import of many files or pages into a collection. It can be stopped and resumed.

    `origin` is the archive's or manifest's name or path, or the address. `options` are those of
    its kind (depth, limits, ...), as given. `discovered` is the time at which every item of the
    origin had a row; until then discovery starts over.
    """

    class Kind(models.TextChoices):
        ARCHIVE = "archive", _("ZIP archive")
        MANIFEST = "manifest", _("Manifest")
        FOLDER = "folder", _("Folder")
        URL = "url", _("Web address")
        SITE = "site", _("Web page and its links")
        SITEMAP = "sitemap", _("Sitemap")

    class State(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Stopped")

    TASK = "ingestion.tasks.run_import"
    QUEUES = {IMPORTS: Q()}

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="imports")
    # The readers of its documents and of itself, whose items name files; null as in `Document`.
    audience = models.ForeignKey(
        Collection, models.CASCADE, null=True, blank=True, editable=False, related_name="+"
    )
    kind = models.CharField(max_length=10, choices=Kind.choices)
    origin = models.CharField(max_length=2000)
    options = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    file = models.FileField(max_length=300, blank=True, editable=False)
    language = models.CharField(
        max_length=8, blank=True, help_text=_("For items without a language.")
    )
    discovered = models.DateTimeField(null=True, blank=True, editable=False)
    added_by = user_or_none(editable=False)
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
        """The open imports that any worker can run, not bound to a command's machine."""
        return cls.on_any_machine().exclude(options__has_key="host")

    @classmethod
    def on_any_machine(cls) -> models.QuerySet[Import]:
        """The open imports into collections outside the bin."""
        return super().open_jobs().filter(collection__in=Collection.objects.undeleted())


class ImportItem(models.Model):
    """One file or page of an import and its outcome."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        ADDED = "added", _("Added")
        REPLACED = "replaced", _("New version")
        DUPLICATE = "duplicate", _("Duplicate")
        SKIPPED = "skipped", _("Skipped")
        FAILED = "failed", _("Failed")

    of = models.ForeignKey(Import, models.CASCADE, related_name="items")
    reference = models.CharField(max_length=2000, help_text=_("Path or address."))
    position = models.PositiveIntegerField(default=0)
    depth = models.PositiveSmallIntegerField(
        default=0, help_text=_("Number of links from the start page.")
    )
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

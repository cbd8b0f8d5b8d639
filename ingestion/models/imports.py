"""Imports of many files: what was asked for, and what became of each, so that one can go on."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from ingestion.models.library import Collection, Document


class Import(models.Model):
    """One import of many files or pages into a collection. It goes on where it was stopped.

    `origin` is the archive's or manifest's name or path, or the address. `options` are those of
    its kind (depth, limits, ...), as given.
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
        CANCELLED = "cancelled", "Cancelled"

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="imports")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    origin = models.CharField(max_length=2000)
    options = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    error = models.TextField(blank=True, help_text="What stopped it and what to do.")
    file = models.FileField(max_length=300, blank=True, editable=False)
    leased_until = models.DateTimeField(null=True, blank=True, editable=False)
    added_by = models.ForeignKey(
        "auth.User", models.SET_NULL, null=True, blank=True, related_name="+", editable=False
    )
    created = models.DateTimeField(default=timezone.now, editable=False)
    finished = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-created", "-pk")

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.origin}"


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
    metadata = models.JSONField(default=dict, blank=True)
    document = models.ForeignKey(Document, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ("of", "position", "pk")
        constraints = (models.UniqueConstraint("of", "reference", name="import_item_once"),)

    def __str__(self) -> str:
        return self.reference

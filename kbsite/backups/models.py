"""The attempts at backups, so that the site can say when the last good one was made."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class BackupRun(models.Model):
    """One attempt at a backup. A row that is running although no lock is held was interrupted."""

    class State(models.TextChoices):
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")

    name = models.CharField(
        max_length=40, blank=True, help_text=_("What restore calls it; empty until it is done.")
    )
    place = models.CharField(max_length=500)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    started = models.DateTimeField(default=timezone.now)
    finished = models.DateTimeField(null=True, blank=True)
    files = models.PositiveIntegerField(default=0, help_text=_("Originals in the backup."))
    missing = models.PositiveIntegerField(
        default=0, help_text=_("Originals that the site itself had lost, or that were damaged.")
    )
    size = models.PositiveBigIntegerField(default=0, help_text=_("Bytes of the whole backup."))
    added = models.PositiveBigIntegerField(default=0, help_text=_("Bytes that were new."))
    error = models.TextField(blank=True)

    class Meta:
        ordering = ("-started", "-pk")
        verbose_name = _("backup")
        verbose_name_plural = _("backups")
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.started:%Y-%m-%d %H:%M}"

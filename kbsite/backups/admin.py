"""Backups in the admin: the attempts, and the last good one on the front page."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display

from common.admin.pages import ReadOnly
from kbsite.backups import is_configured, services
from kbsite.backups.models import BackupRun
from search.admin import front_page

STATES = {"done": "success", "failed": "danger", "running": "info"}


@admin.register(BackupRun)
class BackupRunAdmin(ReadOnly, ModelAdmin):  # type: ignore[misc]
    """The attempts at backups, to be read: `manage.py backup` and beat make them."""

    empty_text = _("No backup has been made yet. Set BACKUP_URL, and run “manage.py backup”.")
    list_display = ("started", "status", "files", "missing", "total", "new", "place", "error")
    fields = ("name", "place", "state", "started", "finished", "files", "missing", "total", "new",
              "error")  # fmt: skip
    readonly_fields = fields
    list_filter_sheet = False

    @display(description=_("state"), label=STATES)
    def status(self, run: BackupRun) -> tuple[str, str]:
        return run.state, run.get_state_display()

    @admin.display(description=_("size"), ordering="size")
    def total(self, run: BackupRun) -> str:
        return filesizeformat(run.size)

    @admin.display(description=_("new"), ordering="added")
    def new(self, run: BackupRun) -> str:
        return filesizeformat(run.added)


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the admin's front page, with the last good backup for who may see backups."""
    if request.user.has_perm("backups.view_backuprun") and is_configured():
        context["backups"] = {"last": services.last_backup()}
    return front_page.dashboard(request, context)

"""Watched folders in the admin: state, scans on demand, confirmed deletions; and sources."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget

from common.admin.live_cells import StatusPages, live, state_label
from common.admin.mixins import ReadOnly, ViewersForm, VisibleOnly, actor, own_page
from ingestion.admin.fields import LanguageFormField
from ingestion.errors import IngestionError
from ingestion.intake import watched_folders
from ingestion.intake.watched_folders import counts_line
from ingestion.models import SyncSource, WatchedFile, WatchedFolder
from ingestion.models.visibility import open_to

State = WatchedFolder.State
VARIANTS = {
    State.NEW: "",
    State.OK: "success",
    State.MISSING: "danger",
    State.HELD: "warning",
    State.ERROR: "danger",
}
MAX_FILES = 100


class WatchedFolderForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = WatchedFolder
        fields = (
            "collection", "path", "include", "exclude", "recursive", "enabled", "poll_seconds",
            "deletion", "language",
        )  # fmt: skip
        widgets = {
            name: UnfoldAdminTextareaWidget(attrs={"rows": 3}) for name in ("include", "exclude")
        }

    viewer: Any = None
    language = LanguageFormField(empty=_("Detected for each file"))

    def clean_path(self) -> str:
        path = str(self.cleaned_data["path"])
        if path == self.instance.path:
            return path  # a folder that is missing at the moment must remain editable
        try:
            return watched_folders.checked_path(path, acting_user=self.viewer)
        except IngestionError as error:
            raise forms.ValidationError(str(error)) from error


@admin.register(WatchedFolder)
class WatchedFolderAdmin(StatusPages[WatchedFolder], ViewersForm, VisibleOnly, ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "No folder is watched. The files of a watched folder become documents, which are updated "
        "and deleted with the files."
    )
    form = WatchedFolderForm
    list_display = ("path", "collection", "state_cell", "counts_cell", "looked_cell", "enabled")
    list_filter = ("state", "enabled")
    search_fields = ("path",)
    search_help_text = _("Search by path")
    list_fullwidth = True
    live_cells = ("state", "counts", "looked")
    change_form_outer_before_template = "admin/steelyard/watched_folder.html"
    fieldsets = (
        (None, {"fields": ("collection", "path", "recursive", "enabled")}),
        (_("Files"), {"fields": ("include", "exclude", "language")}),
        (_("Options"), {"fields": ("poll_seconds", "deletion")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[WatchedFolder]:
        queryset: QuerySet[WatchedFolder] = super().get_queryset(request)
        return queryset.select_related("collection")

    def save_model(self, request: HttpRequest, obj: WatchedFolder, form: Any, change: bool) -> None:
        if not change:
            obj.added_by = actor(request)
        super().save_model(request, obj, form, change)
        watched_folders.look_now(obj)

    # --- columns -----------------------------------------------------------------------

    @admin.display(description=_("state"), ordering="state")
    def state_cell(self, folder: WatchedFolder) -> SafeString:
        return _live(folder, "state", _state(folder))

    @admin.display(description=_("result of last scan"))
    def counts_cell(self, folder: WatchedFolder) -> SafeString:
        return _live(folder, "counts", counts_line(folder) or "-")

    @admin.display(description=_("last scan"), ordering="last_scan")
    def looked_cell(self, folder: WatchedFolder) -> SafeString:
        return _live(folder, "looked", _looked(folder))

    def panel(self, request: HttpRequest, row: WatchedFolder) -> dict[str, Any]:
        files = row.files.filter(open_to(request.user, "document__"))
        missing = files.filter(missing_since__isnull=False, deletion_confirmed=False)
        troubled = (WatchedFile.State.UNREADABLE, WatchedFile.State.REFUSED)
        return {
            "folder": row,
            "state": _state(row),
            "results": counts_line(row) or "-",
            "looked": _looked(row),
            "missing": missing[:MAX_FILES],
            "missing_count": missing.count(),
            "troubled": files.filter(state__in=troubled, missing_since=None)[:MAX_FILES],
            "may_act": self.has_change_permission(request, row),
            "may_confirm": self._may_confirm(request, row),
            "held": row.state == State.HELD,
        }

    # --- actions ------------------------------------------------------------------------

    @own_page("<int:pk>/look/", posts=True)
    def look_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        watched_folders.look_now(self.changeable(request, pk))
        self.message_user(request, _("The folder is queued for a scan."), messages.SUCCESS)
        return self.back_to(pk)

    @own_page("<int:pk>/confirm/", posts=True)
    def confirm_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        folder = self.changeable(request, pk)
        if not self._may_confirm(request, folder):
            raise PermissionDenied
        count = watched_folders.confirm_deletion(folder, acting_user=actor(request))
        sentence = ngettext(
            "Confirmed: the document of %(count)s missing file will be deleted.",
            "Confirmed: the documents of %(count)s missing files will be deleted.",
            count,
        )
        self.message_user(request, sentence % {"count": f"{count:,}"}, messages.SUCCESS)
        return self.back_to(pk)

    def _may_confirm(self, request: HttpRequest, folder: WatchedFolder) -> bool:
        """True for users who may delete documents, because confirming deletes them."""
        deletes = request.user.has_perm("ingestion.delete_document")
        return bool(deletes and self.has_change_permission(request, folder))


@admin.register(SyncSource)
class SyncSourceAdmin(ReadOnly, VisibleOnly, ModelAdmin):  # type: ignore[misc]
    """Sources of programs that sync; they are created and changed through the API."""

    empty_text = _("No program syncs documents by the API.")
    list_display = ("name", "owner", "collection", "message", "last_sync")
    list_select_related = ("owner", "collection")
    search_fields = ("name", "owner__username")
    search_help_text = _("Search by name or owner")


def _state(folder: WatchedFolder) -> SafeString:
    variant = VARIANTS[State(folder.state)]
    return state_label(folder.get_state_display(), variant, error=folder.message)


def _looked(folder: WatchedFolder) -> str:
    if folder.last_scan is None:
        return gettext("never")
    return gettext("%(time)s ago") % {"time": timesince(folder.last_scan, timezone.now(), depth=1)}


def _live(folder: WatchedFolder, name: str, content: str) -> SafeString:
    """A cell that is updated while the folder is watched."""
    return live(folder, name, content, unfinished=folder.enabled)

"""Watched folders in the admin: how each stands, look now, confirm a large deletion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms import Script
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget

from ingestion.admin.fields import LanguageField
from ingestion.admin.visibility import VisibleOnly, actor
from ingestion.errors import IngestionError
from ingestion.models import Collection, WatchedFile, WatchedFolder
from ingestion.watching import services
from ingestion.watching.reporting import counts_line

State = WatchedFolder.State
VARIANTS = {
    State.NEW: "",
    State.OK: "success",
    State.MISSING: "danger",
    State.HELD: "warning",
    State.ERROR: "danger",
}
MAX_POLLED = 200
FILES_SHOWN = 100


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

    def __init__(self, *args: Any, viewer: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.viewer = viewer
        self.fields["language"] = LanguageField(
            empty="Detected for each file", current=self.instance.language
        )
        if "collection" in self.fields:
            seen = Collection.objects.visible_to(viewer)
            self.fields["collection"].queryset = seen  # type: ignore[attr-defined]

    def clean_path(self) -> str:
        path = str(self.cleaned_data["path"])
        if path == self.instance.path:
            return path  # it may be missing just now, and is to be edited all the same
        try:
            return services.checked_path(path, acting_user=self.viewer)
        except IngestionError as error:
            raise forms.ValidationError(str(error)) from error


@admin.register(WatchedFolder)
class WatchedFolderAdmin(VisibleOnly, ModelAdmin):  # type: ignore[misc]
    empty_text = (
        "No folder is watched. The files of a watched folder become documents, and follow it "
        "when they change or go."
    )
    form = WatchedFolderForm
    list_display = ("path", "collection", "state_cell", "counts_cell", "looked_cell", "enabled")
    list_filter = ("state", "enabled")
    search_fields = ("path",)
    search_help_text = "Search by path"
    list_fullwidth = True
    actions = ("look_at_selected",)
    change_form_outer_before_template = "admin/steelyard/watched_folder.html"
    fieldsets = (
        (None, {"fields": ("collection", "path", "recursive", "enabled")}),
        ("Which files", {"fields": ("include", "exclude", "language")}),
        ("How", {"fields": ("poll_seconds", "deletion")}),
    )

    class Media:
        js = (Script("admin/steelyard/rows.js", defer=True),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[WatchedFolder]:
        queryset: QuerySet[WatchedFolder] = super().get_queryset(request)
        return queryset.select_related("collection")

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, *args, **kwargs)

        class ViewersForm(form):  # type: ignore[misc]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, viewer=request.user, **kwargs)

        return ViewersForm

    def save_model(self, request: HttpRequest, obj: WatchedFolder, form: Any, change: bool) -> None:
        if not change:
            obj.added_by = actor(request)
        super().save_model(request, obj, form, change)
        services.look_now(obj, acting_user=actor(request))

    # --- what is shown -----------------------------------------------------------------------

    @admin.display(description="state", ordering="state")
    def state_cell(self, folder: WatchedFolder) -> SafeString:
        return cell(folder, "state")

    @admin.display(description="last look found")
    def counts_cell(self, folder: WatchedFolder) -> SafeString:
        return cell(folder, "counts")

    @admin.display(description="last look", ordering="last_scan")
    def looked_cell(self, folder: WatchedFolder) -> SafeString:
        return cell(folder, "looked")

    def get_urls(self) -> list[URLPattern]:
        def page(route: str, view: Callable[..., HttpResponse], name: str) -> URLPattern:
            guarded = self.admin_site.admin_view(view)
            return cast("URLPattern", path(route, guarded, name=f"ingestion_watchedfolder_{name}"))

        return [
            page("progress/", self.progress_view, "progress"),
            page("<int:pk>/look/", require_POST(self.look_view), "look"),
            page("<int:pk>/confirm/", require_POST(self.confirm_view), "confirm"),
            *super().get_urls(),
        ]

    def progress_view(self, request: HttpRequest) -> JsonResponse:
        """The changing cells of the folders asked for, as far as the reader may see them."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        ids = [int(text) for text in request.GET.getlist("id") if text.isdecimal()][:MAX_POLLED]
        rows = self.get_queryset(request).filter(pk__in=ids)
        names = ("state", "counts", "looked")
        return JsonResponse(
            {
                "rows": [
                    {"id": row.pk, "cells": {name: cell(row, name) for name in names}}
                    for row in rows
                ]
            }
        )

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        folder: WatchedFolder | None = self.get_object(request, object_id)
        context = dict(extra_context or {})
        if folder is not None:
            missing = folder.files.filter(missing_since__isnull=False, deletion_confirmed=False)
            troubled = (WatchedFile.State.UNREADABLE, WatchedFile.State.REFUSED)
            context |= {
                "folder": folder,
                "cells": [cell(folder, name) for name in ("state", "counts", "looked")],
                "missing": missing[:FILES_SHOWN],
                "missing_count": missing.count(),
                "troubled": folder.files.filter(state__in=troubled, missing_since=None)[
                    :FILES_SHOWN
                ],
                "may_act": self.has_change_permission(request, folder),
                "may_confirm": self._may_confirm(request, folder),
                "held": folder.state == State.HELD,
            }
        return super().change_view(request, object_id, form_url, context)  # type: ignore[no-any-return]

    # --- what is done ------------------------------------------------------------------------

    def look_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        services.look_now(self._mine(request, pk), acting_user=actor(request))
        self.message_user(request, "A worker looks through it now.", messages.SUCCESS)
        return self._back_to(pk)

    def confirm_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        folder = self._mine(request, pk)
        if not self._may_confirm(request, folder):
            raise PermissionDenied
        count = services.confirm_deletion(folder, acting_user=actor(request))
        self.message_user(
            request, f"{count:,} files are gone on purpose: their documents go.", messages.SUCCESS
        )
        return self._back_to(pk)

    @admin.action(description="Look through them now", permissions=["change"])
    def look_at_selected(self, request: HttpRequest, queryset: QuerySet[WatchedFolder]) -> None:
        for folder in queryset:
            services.look_now(folder, acting_user=actor(request))
        self.message_user(request, "Workers look through them now.", messages.SUCCESS)

    def _may_confirm(self, request: HttpRequest, folder: WatchedFolder) -> bool:
        """What it sets going deletes documents."""
        deletes = request.user.has_perm("ingestion.delete_document")
        return bool(deletes and self.has_change_permission(request, folder))

    def _mine(self, request: HttpRequest, pk: int) -> WatchedFolder:
        folder: WatchedFolder | None = self.get_object(request, str(pk))
        if folder is None:
            raise Http404
        if not self.has_change_permission(request, folder):
            raise PermissionDenied
        return folder

    def _back_to(self, pk: int) -> HttpResponse:
        return redirect(reverse("admin:ingestion_watchedfolder_change", args=(pk,)))


def cell(folder: WatchedFolder, name: str) -> SafeString:
    """A changing cell: the state, what the last look found, or when it was."""
    ago = f"{timesince(folder.last_scan, timezone.now(), depth=1)} ago" if folder.last_scan else ""
    context = {
        "row": folder,
        "cell": name,
        "live": folder.enabled,
        "variant": VARIANTS[State(folder.state)],
        "counts": counts_line(folder),
        "ago": ago,
    }
    return SafeString(render_to_string("admin/steelyard/folder_cell.html", context))

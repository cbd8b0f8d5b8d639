"""Two kinds of lists in the admin: versions of a profile, and rows with work in progress.

Versions have their order and labels; the services write the audit; drafts alone are deleted.

Live cells update while background work on their row is in progress. Such a cell names its row and
whether it is unfinished. While it is, the page's script (static/admin/steelyard/progress.js) polls
the list's `progress/` for all live cells of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Case, Model, QuerySet, When
from django.forms import Script
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from common import UserError
from common.admin.mixins import OwnPages, PanelPages, Row, own_page, state_column

# The most rows in one poll; a list page shows fewer.
MAX_POLLED = 200
SHORT_ERROR_CHARS = 80


def live(row: Model, name: str, content: object, *, unfinished: bool) -> SafeString:
    """`content` as a live cell, which the page polls while `unfinished`."""
    return format_html(
        '<span class="sy-live" data-row="{}" data-cell="{}"{}>{}</span>',
        row.pk,
        name,
        SafeString(" data-unfinished" if unfinished else ""),
        content,
    )


def state_label(
    text: str,
    variant: str = "",
    *,
    percent: int | None = None,
    bar: str = "",
    note: str = "",
    error: str = "",
    is_brief: bool = False,
) -> SafeString:
    """A state as a coloured label, with a bar unless `percent` is None, a note and an error.

    `is_brief` shows only the beginning of the error, which the row's own page shows in full.
    """
    context = {
        "text": text,
        "variant": variant,
        "percent": percent,
        "bar": bar or _("Progress"),
        "note": note,
        "error": Truncator(error).chars(SHORT_ERROR_CHARS) if is_brief else error,
        "whole_error": error if is_brief else "",
    }
    return SafeString(render_to_string("admin/steelyard/state.html", context))


class LiveCells(OwnPages[Row]):
    """A ModelAdmin mixin for rows that change in the background.

    `live_cells` names the cells that change; the method `state_cell` renders "state".
    """

    live_cells: ClassVar[Sequence[str]]

    class Media:
        js = (Script("admin/steelyard/progress.js", defer=True),)

    def live_rows(self, rows: QuerySet[Row]) -> Iterable[Row]:
        """`rows` with additional data for their cells, loaded for all rows at once."""
        return rows

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changelist = super().get_changelist_instance(request)
        changelist.result_list = self.live_rows(changelist.result_list)
        return changelist

    @own_page("progress/")
    def progress_view(self, request: HttpRequest) -> JsonResponse:
        """The live cells of the requested rows that the user may see."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        ids = [int(text) for text in request.GET.getlist("id") if text.isdecimal()][:MAX_POLLED]
        rows = self.live_rows(self.get_queryset(request).filter(pk__in=ids))
        return JsonResponse({"rows": [{"id": row.pk, "cells": self._cells(row)} for row in rows]})

    def _cells(self, row: Row) -> dict[str, SafeString]:
        return {name: getattr(self, f"{name}_cell")(row) for name in self.live_cells}


class StatusPages(PanelPages[Row], LiveCells[Row]):
    """A ModelAdmin mixin: a panel above the row's page, which its script loads while it changes."""

    change_form_outer_before_template: ClassVar[str]

    @own_page("<int:pk>/status/")
    def status_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The panel alone: the state and the buttons, which belong together."""
        panel = self.panel(request, self.seen(request, pk))
        return TemplateResponse(request, self.change_form_outer_before_template, panel)


class VersionForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form of a profile with versions: a new name is free, and a change may have a reason."""

    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text=_("Optional. Stored with the change in the audit."),
    )

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        try:
            self._meta.model.check_new_name(name)
        except UserError as error:
            raise forms.ValidationError(str(error)) from error
        return name


STATE_LABELS = {"draft": "warning", "active": "success", "retired": ""}


class VersionPages:
    """For a model with `name`, `version`, `state` and `is_draft`, whose services write the audit.

    `audit` is the URL name of the audit's list, `never_deleted` names published versions.
    """

    audit: str
    never_deleted: Promise

    if TYPE_CHECKING:
        model: Any
        opts: Any
        get_object: Callable[..., Any]
        has_view_permission: Callable[..., bool]

    def get_ordering(self, request: HttpRequest) -> tuple[Any, ...]:
        """The active version first, then drafts."""
        places = ("active", "draft")
        cases = (When(state=state, then=place) for place, state in enumerate(places))
        return (Case(*cases, default=len(places)), "name", "-version")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("name",) if obj else ()

    @admin.display(description=_("profile"), ordering="name")
    def profile(self, profile: Model) -> str:
        return str(profile)

    state_label = state_column(STATE_LABELS)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Redirect to the audit of all versions of the profile."""
        profile = self.get_object(request, object_id)
        if profile is None or not self.has_view_permission(request, profile):
            raise Http404
        return redirect(f"{reverse(self.audit)}?{urlencode({'profile__name': profile.name})}")

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Do nothing: the services write the audit."""

    log_change = log_addition

    # --- deletion: drafts only ----------------------------------------------------------------

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)  # type: ignore[misc]
        return allowed and (not isinstance(obj, self.model) or obj.is_draft)

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> Any:
        profiles = list(objs)
        perms_needed: set[str] = set()
        if not self.has_delete_permission(request):
            perms_needed.add(str(self.opts.verbose_name))
        if any(not profile.is_draft for profile in profiles):
            perms_needed.add(str(self.never_deleted))
        labels = [str(profile) for profile in profiles]
        return labels, {gettext("drafts"): len(profiles)}, perms_needed, []

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.delete_queryset(request, self.model.objects.filter(pk=obj.pk))

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        # A draft may have been published during the confirmation.
        pks = [profile.pk for profile in queryset]
        locked = self.model.objects.select_for_update().filter(pk__in=pks)
        drafts = [profile.pk for profile in locked if profile.is_draft]
        self.model.objects.filter(pk__in=drafts).delete()

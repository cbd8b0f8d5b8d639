"""Rows with work in progress in the admin.

Live cells update while background work on their row is in progress. Such a cell names its row and
whether it is unfinished. While it is, the page's script (static/admin/steelyard/progress.js) polls
the list's `progress/` for all live cells of the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.forms import Script
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from common import heartbeat
from common.admin.mixins import OwnPages, PanelPages, Row, own_page

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
        """The live cells of the requested rows that the user may see; whether a worker runs."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        ids = [int(text) for text in request.GET.getlist("id") if text.isdecimal()][:MAX_POLLED]
        rows = self.live_rows(self.get_queryset(request).filter(pk__in=ids))
        cells = [{"id": row.pk, "cells": self._cells(row)} for row in rows]
        return JsonResponse({"rows": cells, "worker": heartbeat.answers()})

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

"""Embedding spaces in the admin: their state. `manage.py embedding_space` changes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from common.admin.live_cells import StatusPages, live, state_label
from common.admin.mixins import ReadOnly, actor
from ingestion.embedding.fastembed import COMMAND, EMBEDDERS, RERANKERS
from ingestion.models import EmbeddingSpace
from ingestion.models.collections import language_name
from ingestion.spaces.index import IndexState
from ingestion.spaces.report import Report, better_models, overview, report_on, reports_on

State = EmbeddingSpace.State
VARIANTS = {
    State.ACTIVE: "success",
    State.BUILDING: "info",
    State.PREVIOUS: "",
    State.DROPPING: "warning",
}
INDEX_VARIANTS = {
    IndexState.READY: "success",
    IndexState.OUTDATED: "success",
    IndexState.BUILDING: "info",
    IndexState.INVALID: "warning",
}


@admin.register(EmbeddingSpace)
class EmbeddingSpaceAdmin(ReadOnly, StatusPages[EmbeddingSpace], ModelAdmin):  # type: ignore[misc]
    list_display = ("name", "state_cell", "index_cell", "dimensions", "max_tokens", "knows")
    ordering = ("pk",)
    list_fullwidth = True
    live_cells = ("state", "index")
    fields = ("name",)
    change_form_outer_before_template = "admin/steelyard/space_status.html"
    change_list_template = "admin/ingestion/embeddingspace/change_list.html"

    # --- columns ---------------------------------------------------------------------

    @admin.display(description=_("state"), ordering="state")
    def state_cell(self, space: EmbeddingSpace) -> SafeString:
        report: Report = space.report  # type: ignore[attr-defined]
        label = report.state_words.split(",")[0]
        fault = space.paused and space.error
        variant = "danger" if fault else VARIANTS[State(space.state)]
        counts = {"filled": space.chunks_filled, "total": space.chunks_total}
        cell = state_label(
            label,
            {"Ready to be activated": "success", "Not started": ""}.get(label, variant),
            percent=round(report.share * 100) if report.is_filling else None,
            bar=gettext("Filled"),
            note=gettext("%(filled)d of %(total)d") % counts if report.is_filling else "",
            error=space.error,
            is_brief=True,
        )
        return live(space, "state", cell, unfinished=not report.is_settled)

    @admin.display(description=_("index"))
    def index_cell(self, space: EmbeddingSpace) -> SafeString:
        report: Report = space.report  # type: ignore[attr-defined]
        index = report.index
        label = state_label(
            index.state.value.capitalize(),
            INDEX_VARIANTS.get(index.state, ""),
            percent=None if index.share is None else round(index.share * 100),
            bar=gettext("Built"),
            note=index.phase,
        )
        return live(space, "index", label, unfinished=not report.is_settled)

    @admin.display(description=_("languages"))
    def knows(self, space: EmbeddingSpace) -> str:
        return _names(space.languages)

    def live_rows(self, rows: Iterable[EmbeddingSpace]) -> list[EmbeddingSpace]:
        """The spaces, each with its report."""
        spaces = list(rows)
        for report in reports_on(spaces, brief=True):
            report.space.report = report  # type: ignore[attr-defined]
        return spaces

    # --- pages -----------------------------------------------------------------------------

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        rows = list(EmbeddingSpace.objects.all())
        return {
            "notes": overview(rows),
            # Their shares cover all collections.
            "advice": better_models(rows) if actor(request).is_superuser else [],
            "command": COMMAND,
            "offers": [
                [(each, _names(each.languages), round(1000 * each.gigabytes)) for each in models]
                for models in (EMBEDDERS, RERANKERS)
            ],
        }

    def panel(self, request: HttpRequest, row: EmbeddingSpace) -> dict[str, Any]:
        report = row.report = report_on(row)  # type: ignore[attr-defined]
        return {
            "report": report,
            # They cover all collections, so they would reveal hidden ones to others.
            "shows_counts": actor(request).is_superuser,
            "state_cell": self.state_cell(row),
            "index_cell": self.index_cell(row),
        }


def _names(languages: Iterable[str]) -> str:
    return ", ".join(map(language_name, languages)) or gettext("many")

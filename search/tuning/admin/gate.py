"""The publish gate and publications in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from common.admin.mixins import OneRow, PanelPages, ReadOnly, actor, own_page, state_column
from search.tuning import gate, gate_runs, publications
from search.tuning.admin.publish_pages import ranking_lines
from search.tuning.evaluation.golden_runs import QueryRow, query_rows
from search.tuning.models import EvaluationRun, Publication, PublishGate

State = Publication.State
STATE_LABELS = {
    State.MEASURING: "info",
    State.PUBLISHED: "success",
    State.REFUSED: "danger",
    State.FAILED: "warning",
    State.OUTDATED: "warning",
    State.CANCELLED: "",
}


@admin.register(PublishGate)
class PublishGateAdmin(OneRow, ModelAdmin):  # type: ignore[misc]
    fieldsets = (
        (None, {"fields": ("enabled",)}),
        (_("Measure"), {"fields": ("measure", "margin", "min_queries")}),
        (_("Must be first"), {"fields": ("first_required",)}),
        (_("Latency"), {"fields": ("latency_margin", "latency_floor_ms", "background_above")}),
    )

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        gate_runs.gate_row()  # made, if it is missing
        return super().changelist_view(request, extra_context)


@admin.register(Publication)
class PublicationAdmin(ReadOnly, PanelPages[Publication], ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "Nobody has published a profile since the installation, which made the default one "
        "active. Create a draft under Search profiles or in the workbench, then publish it."
    )
    list_display = ("asked", "profile", "state_label", "user", "reason", "overridden")
    list_select_related = ("profile", "user")
    list_filter = ("state",)
    search_fields = ("profile__name", "reason")
    change_form_template = "admin/tuning/publication/page.html"

    state_label = state_column(STATE_LABELS)

    @admin.display(description=_("gate overridden"), ordering="override")
    def overridden(self, publication: Publication) -> str:
        # An icon would mark the usual case as a fault.
        return "yes" if publication.override else "–"

    def panel(self, request: HttpRequest, row: Publication) -> dict[str, Any]:
        refused = row.state in (State.REFUSED, State.FAILED) and row.profile.state != "active"
        return {
            "publication": row,
            "variant": STATE_LABELS[State(row.state)],
            "percent": round(100 * row.run.progress) if row.run else 0,
            "notes": [line for line in row.findings if line not in row.refusals],
            "from_active": ranking_lines(row.differences),
            "may_override": refused
            and request.user.has_perms(gate_runs.permissions(override=True)),
            "may_publish": request.user.has_perm(gate_runs.PUBLISH),
            **_lost_and_won(row, request),
        }

    @own_page("<int:pk>/cancel/")
    def cancel_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Cancel the measurement; nothing is published."""

        def act(publication: Publication) -> str:
            publications.cancel(publication, acting_user=actor(request))
            return gettext("Publishing was cancelled.")

        return self.acted(request, pk, act, permission=gate_runs.PUBLISH)


def _lost_and_won(publication: Publication, request: HttpRequest) -> dict[str, Any]:
    run = publication.run
    if run is None or run.state != EvaluationRun.State.DONE:
        return {}
    measure = gate_runs.gate_row().measure
    rows = query_rows(run, viewer=request.user)
    return {"measure": measure, **split(rows, measure)}


def split(rows: list[QueryRow], measure: str) -> dict[str, Any]:
    """The queries that lost, that won, and whose must-be-first document is not first."""
    moves = [(row, row.change(measure)) for row in rows]
    changed = [(row, by) for row, by in moves if by is not None and abs(by) >= gate.MOVED]
    lost = sorted((each for each in changed if each[1] < 0), key=lambda each: each[1])
    won = sorted((each for each in changed if each[1] > 0), key=lambda each: -each[1])
    return {
        "lost": [_line(row, by) for row, by in lost],
        "won": [_line(row, by) for row, by in won],
        "broken": [_line(row, None) for row in rows if row.breaks],
    }


def _line(row: QueryRow, by: float | None) -> dict[str, Any]:
    return {
        "url": reverse("admin:tuning_goldenquery_change", args=(row.pk,)),
        "text": row.text,
        "by": by,
        "was_first": row.title(row.was_first),
        "first": row.title(row.first),
        "must": row.title(row.must_be_first),
    }

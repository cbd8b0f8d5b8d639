"""The publish gate, publications and the audit of profiles in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display

from common.admin.pages import ActionPages, ReadOnly, actor
from search.tuning.admin.publishing import differences_from_active, targets_context
from search.tuning.evaluation.golden_runs import QueryRow, query_rows
from search.tuning.models import EvaluationRun, ProfileChange, Publication, PublishGate
from search.tuning.publishing import gate, measuring, publications

State = Publication.State
STATE_LABELS = {
    State.MEASURING: "info",
    State.PUBLISHED: "success",
    State.REFUSED: "danger",
    State.FAILED: "warning",
    State.CANCELLED: "",
}


@admin.register(PublishGate)
class PublishGateAdmin(ModelAdmin):  # type: ignore[misc]
    fieldsets = (
        (None, {"fields": ("enabled",)}),
        (_("Measure"), {"fields": ("measure", "margin", "min_queries")}),
        (_("Must be first"), {"fields": ("first_required",)}),
        (_("Latency"), {"fields": ("latency_margin", "latency_floor_ms", "background_above")}),
    )

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the only gate."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return redirect("admin:tuning_publishgate_change", measuring.gate_row().pk)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> str:
        """The changed settings with both values, for the history."""
        return "; ".join(
            f"{form.fields[name].label.lower()}: {form.initial[name]} → {form.cleaned_data[name]}"
            for name in form.changed_data
        )

    def response_post_save_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return redirect("admin:tuning_publishgate_change", obj.pk)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Publication)
class PublicationAdmin(ReadOnly, ActionPages[Publication], ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "No profile has been published through the gate yet. Create a draft under Search "
        "profiles or in the workbench, then publish it."
    )
    list_display = ("asked", "profile", "state_label", "user", "reason", "overridden")
    list_select_related = ("profile", "user")
    list_filter = ("state",)
    search_fields = ("profile__name", "reason")
    change_form_template = "admin/tuning/publication/page.html"

    @display(description=_("state"), ordering="state", label=STATE_LABELS)
    def state_label(self, publication: Publication) -> tuple[str, str]:
        return publication.state, publication.get_state_display()

    @admin.display(description=_("gate overridden"), ordering="override")
    def overridden(self, publication: Publication) -> str:
        return (
            "yes" if publication.override else "–"
        )  # an icon would mark the usual case as a fault

    def get_urls(self) -> list[URLPattern]:
        return [
            self.own_page("<int:pk>/override/", self.override_view, "override"),
            self.own_page("<int:pk>/cancel/", self.cancel_view, "cancel"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        publication = self.seen(request, object_id)
        refused = publication.state in (State.REFUSED, State.FAILED)
        context = {
            "publication": publication,
            "variant": STATE_LABELS[State(publication.state)],
            "percent": round(100 * publication.run.progress) if publication.run else 0,
            "notes": [f for f in publication.findings if f not in publication.refusals],
            "from_active": differences_from_active(publication.profile),
            "may_override": refused
            and request.user.has_perms((measuring.PUBLISH, measuring.OVERRIDE)),
            "may_publish": request.user.has_perm(measuring.PUBLISH),
            **targets_context(publication.profile, publication.run),
            **_lost_and_won(publication, request),
        }
        return super().change_view(  # type: ignore[no-any-return]
            request, object_id, form_url, {**context, **(extra_context or {})}
        )

    def override_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Publish a refused profile with the given reason."""

        def act(publication: Publication) -> str:
            reason = request.POST.get("reason", "")
            publications.override(publication, acting_user=actor(request), reason=reason)
            return gettext("%(profile)s is active, overriding the gate, from the next search.") % {
                "profile": publication.profile
            }

        return self.acted(request, pk, act, permission=measuring.PUBLISH)

    def cancel_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Cancel the measurement; nothing is published."""

        def act(publication: Publication) -> str:
            publications.cancel(publication, acting_user=actor(request))
            return gettext("Publishing was cancelled.")

        return self.acted(request, pk, act, permission=measuring.PUBLISH)


def _lost_and_won(publication: Publication, request: HttpRequest) -> dict[str, Any]:
    run = publication.run
    if run is None or run.state != EvaluationRun.State.DONE:
        return {}
    measure = measuring.gate_row().measure
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


@admin.register(ProfileChange)
class ProfileChangeAdmin(ReadOnly, ModelAdmin):  # type: ignore[misc]
    list_display = ("at", "profile_link", "action_label", "user", "reason", "what", "found")
    list_display_links = None
    list_select_related = ("profile", "user")
    list_filter = ("action", ("profile__name", admin.AllValuesFieldListFilter))
    search_fields = ("profile__name", "reason")
    list_per_page = 50

    @admin.display(description=_("profile"), ordering="profile__name")
    def profile_link(self, change: ProfileChange) -> SafeString:
        url = reverse("admin:search_searchprofile_change", args=(change.profile_id,))
        return format_html('<a class="text-link" href="{}">{}</a>', url, change.profile)

    @display(
        description=_("action"),
        ordering="action",
        label={
            "created": "",
            "edited": "info",
            "published": "success",
            "refused": "danger",
            "overridden": "warning",
            "rolled_back": "success",
            "targets": "info",
            "exp_started": "info",
            "exp_refused": "danger",
            "exp_ended": "info",
        },
    )
    def action_label(self, change: ProfileChange) -> tuple[str, str]:
        return change.action, change.get_action_display()

    @admin.display(description=_("what changed"))
    def what(self, change: ProfileChange) -> SafeString:
        return format_html(
            '<ul class="sy-differences">{}</ul>',
            format_html_join("", "<li>{}</li>", ((line,) for line in change.differences)),
        )

    @admin.display(description=_("gate findings"))
    def found(self, change: ProfileChange) -> SafeString:
        lines = format_html_join("", "<li>{}</li>", ((line,) for line in change.findings))
        run = SafeString("")
        if change.run_id:
            url = reverse("admin:tuning_evaluationrun_change", args=(change.run_id,))
            run = format_html(
                '<li><a class="text-link" href="{}">{}</a></li>', url, gettext("Evaluation run")
            )
        return format_html('<ul class="sy-differences">{}{}</ul>', lines, run)

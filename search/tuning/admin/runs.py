"""Evaluation runs in the admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget

from common.admin.pages import ActionPages, ReadOnly, actor
from search.models import SearchProfile
from search.presentation.labels import measure_label
from search.tuning.admin.publications import split
from search.tuning.evaluation import golden_runs, measures
from search.tuning.evaluation.golden_runs import query_rows
from search.tuning.models import EvaluationRun

State = EvaluationRun.State
STATE_LABELS = {
    State.QUEUED: "info",
    State.RUNNING: "info",
    State.DONE: "success",
    State.FAILED: "danger",
    State.CANCELLED: "",
}
START, CONTROL = "tuning.add_evaluationrun", "tuning.change_evaluationrun"


class StartForm(forms.Form):
    """The profile to measure."""

    profile = forms.ModelChoiceField(
        SearchProfile.objects.all(),
        widget=UnfoldAdminSelectWidget,
        help_text=_("Measured on the golden queries and compared with the active profile."),
    )


@admin.register(EvaluationRun)
class EvaluationRunAdmin(ReadOnly, ActionPages[EvaluationRun], ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "No evaluation runs yet. A run searches for all golden queries with a profile and "
        "measures the results."
    )
    list_display = (
        "created", "profile", "over", "state_label", "queries", "ndcg", "change", "p95", "user",
    )  # fmt: skip
    list_select_related = ("profile", "user")
    list_filter = ("kind", "state")
    search_fields = ("profile__name", "collection")
    change_form_template = "admin/tuning/evaluationrun/page.html"
    change_list_template = "admin/tuning/evaluationrun/list.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[EvaluationRun]:
        # Loaded where it is shown: hundreds of queries take a megabyte.
        return super().get_queryset(request).defer("by_query")  # type: ignore[no-any-return]

    @admin.display(description=_("measured on"), ordering="collection")
    def over(self, run: EvaluationRun) -> str:
        return run.collection or gettext("Golden queries")

    @display(description=_("state"), ordering="state", label=STATE_LABELS)
    def state_label(self, run: EvaluationRun) -> tuple[str, str]:
        percent = f" {run.progress:.0%}" if run.state == State.RUNNING else ""
        return run.state, f"{run.get_state_display()}{percent}"

    @admin.display(description=measures.LEADING)
    def ndcg(self, run: EvaluationRun) -> str:
        value = run.measures.get(measures.LEADING)
        return "-" if value is None else f"{value:.3f}"

    @admin.display(description=_("difference to active"))
    def change(self, run: EvaluationRun) -> str:
        difference = run.differences.get(measures.LEADING)
        return "-" if difference is None else f"{difference['mean']:+.3f}"

    @admin.display(description=_("p95 (ms)"))
    def p95(self, run: EvaluationRun) -> str:
        value = run.latency_ms.get("p95")
        return "-" if value is None else f"{value:.0f}"

    def get_urls(self) -> list[URLPattern]:
        return [
            self.own_page("start/", self.start_view, "start"),
            self.own_page("<int:pk>/cancel/", self.cancel_view, "cancel"),
            self.own_page("<int:pk>/restart/", self.restart_view, "restart"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        context = {
            "may_start": request.user.has_perm(START),
            "is_moving": EvaluationRun.objects.filter(
                state__in=[State.QUEUED, State.RUNNING]
            ).exists(),
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)  # type: ignore[no-any-return]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        run = self.seen(request, object_id)
        is_golden = run.kind == EvaluationRun.Kind.GOLDEN
        rows = query_rows(run, viewer=request.user) if is_golden and run.by_query else []
        context = {
            "run": run,
            "variant": STATE_LABELS[State(run.state)],
            "percent": round(100 * run.progress),
            "figures": _figures(run),
            "measure": measures.LEADING,
            "may_control": request.user.has_perm(CONTROL) and is_golden,
            **split(rows, measures.LEADING),
        }
        return super().change_view(  # type: ignore[no-any-return]
            request, object_id, form_url, {**context, **(extra_context or {})}
        )

    def start_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form, or queue a run of the chosen profile."""
        if not request.user.has_perm(START) or not self.has_view_permission(request):
            raise PermissionDenied
        form = StartForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            run = golden_runs.start(form.cleaned_data["profile"], acting_user=actor(request))
            return self.back_to(run.pk)
        return self.shown(
            request, "tuning/evaluationrun/start.html", gettext("Measure a profile"), {"form": form}
        )

    def cancel_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        def act(run: EvaluationRun) -> str:
            golden_runs.cancel(run)
            return gettext("The run has been cancelled.")

        return self._acted(request, pk, act)

    def restart_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        def act(run: EvaluationRun) -> str:
            golden_runs.restart(run)
            return gettext("The run has been queued again.")

        return self._acted(request, pk, act)

    def _acted(
        self, request: HttpRequest, pk: int, act: Callable[[EvaluationRun], str]
    ) -> HttpResponse:
        return self.acted(request, pk, act, permission=CONTROL, failure=messages.WARNING)


def _figures(run: EvaluationRun) -> list[dict[str, Any]]:
    """A row for each measure, with its difference to the baseline if there is one."""
    names = run.measures if run.kind == EvaluationRun.Kind.ANSWERS else measures.NAMES
    return [
        {"name": measure_label(name), "value": run.measures[name], **run.differences.get(name, {})}
        for name in names
        if name in run.measures
    ]

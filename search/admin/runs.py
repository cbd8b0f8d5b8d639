"""W3: runs of the golden set and of judged collections in the admin."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget

from search.admin.gate import ReadOnly, split
from search.errors import SearchError
from search.evaluation import golden_runs, measures
from search.models import EvaluationRun, SearchProfile
from search.tuning.reading import query_rows

State = EvaluationRun.State
STATE_LABELS = {
    State.QUEUED: "info",
    State.RUNNING: "info",
    State.DONE: "success",
    State.FAILED: "danger",
    State.CANCELLED: "",
}
START, CONTROL = "search.add_evaluationrun", "search.change_evaluationrun"


class StartForm(forms.Form):
    """Which profile to measure."""

    profile = forms.ModelChoiceField(
        SearchProfile.objects.all(),
        widget=UnfoldAdminSelectWidget,
        help_text="It is measured on the golden queries beside the active profile.",
    )


@admin.register(EvaluationRun)
class EvaluationRunAdmin(ReadOnly, ModelAdmin):  # type: ignore[misc]
    empty_text = (
        "Nothing has been measured yet. A measurement asks all golden queries under a profile "
        "and says how good its results are."
    )
    list_display = (
        "created", "profile", "over", "state_label", "queries", "ndcg", "change", "p95", "user",
    )  # fmt: skip
    list_select_related = ("profile", "user")
    list_filter = ("kind", "state")
    search_fields = ("profile__name", "collection")
    change_form_template = "admin/search/evaluationrun/page.html"
    change_list_template = "admin/search/evaluationrun/list.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[EvaluationRun]:
        # Read where it is shown: a run of hundreds of queries holds a megabyte.
        return super().get_queryset(request).defer("by_query")  # type: ignore[no-any-return]

    @admin.display(description="measured on", ordering="collection")
    def over(self, run: EvaluationRun) -> str:
        return run.collection or "Golden queries"

    @display(description="state", ordering="state", label=STATE_LABELS)
    def state_label(self, run: EvaluationRun) -> tuple[str, str]:
        percent = f" {run.progress:.0%}" if run.state == State.RUNNING else ""
        return run.state, f"{run.get_state_display()}{percent}"

    @admin.display(description=measures.LEADING)
    def ndcg(self, run: EvaluationRun) -> str:
        value = run.measures.get(measures.LEADING)
        return "-" if value is None else f"{value:.3f}"

    @admin.display(description="against the active")
    def change(self, run: EvaluationRun) -> str:
        held = run.differences.get(measures.LEADING)
        return "-" if held is None else f"{held['mean']:+.3f}"

    @admin.display(description="p95 (ms)")
    def p95(self, run: EvaluationRun) -> str:
        value = run.latency_ms.get("p95")
        return "-" if value is None else f"{value:.0f}"

    def get_urls(self) -> list[URLPattern]:
        def at(address: str, view: Any, name: str) -> URLPattern:
            guarded = self.admin_site.admin_view(view)
            return path(address, guarded, name=f"search_evaluationrun_{name}")  # type: ignore[no-any-return]

        return [
            at("start/", self.start_view, "start"),
            at("<int:pk>/cancel/", self.cancel_view, "cancel"),
            at("<int:pk>/restart/", self.restart_view, "restart"),
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
        run = self._seen(request, object_id)
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
        """Asks which profile, and queues its run."""
        if not request.user.has_perm(START) or not self.has_view_permission(request):
            raise PermissionDenied
        form = StartForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            run = golden_runs.start(form.cleaned_data["profile"], acting_user=request.user)  # type: ignore[arg-type]
            return redirect("admin:search_evaluationrun_change", run.pk)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Measure a profile",
            "form": form,
        }
        return TemplateResponse(request, "admin/search/evaluationrun/start.html", context)

    def cancel_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        return self._act(request, pk, golden_runs.cancel, "The run is cancelled.")

    def restart_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        return self._act(request, pk, golden_runs.restart, "The run is queued once more.")

    def _act(self, request: HttpRequest, pk: int, act: Any, done: str) -> HttpResponse:
        run = self._seen(request, str(pk))
        if not request.user.has_perm(CONTROL):
            raise PermissionDenied
        if request.method == "POST":
            try:
                act(run)
                self.message_user(request, done, messages.SUCCESS)
            except SearchError as error:
                self.message_user(request, str(error), messages.WARNING)
        return redirect("admin:search_evaluationrun_change", run.pk)

    def _seen(self, request: HttpRequest, object_id: str) -> EvaluationRun:
        found: EvaluationRun | None = self.get_object(request, object_id)
        if found is None or not self.has_view_permission(request, found):
            raise Http404
        return found


def _figures(run: EvaluationRun) -> list[dict[str, Any]]:
    """A line for each measure, with its difference to the baseline where there is one."""
    return [
        {"name": name, "value": run.measures[name], **run.differences.get(name, {})}
        for name in measures.NAMES
        if name in run.measures
    ]

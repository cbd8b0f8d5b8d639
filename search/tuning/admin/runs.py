"""Jobs on a profile in the admin, and evaluation runs, the first kind of these."""

from __future__ import annotations

from typing import Any, TypeVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget

from common.accounts.models import User
from common.admin.pages import ActionPages, ReadOnly, actor
from common.jobs import JobState
from search.errors import SearchError
from search.models import SearchProfile
from search.presentation.labels import measure_label
from search.tuning.admin.publications import split
from search.tuning.evaluation import golden_runs, measures
from search.tuning.evaluation.golden_runs import query_rows
from search.tuning.models import EvaluationRun, Optimisation

State = JobState
Run = TypeVar("Run", EvaluationRun, Optimisation)
STATE_LABELS = {
    State.QUEUED: "info",
    State.RUNNING: "info",
    State.DONE: "success",
    State.FAILED: "danger",
    State.CANCELLED: "",
}


class StartForm(forms.Form):
    """The profile to start from."""

    profile = forms.ModelChoiceField(
        SearchProfile.objects.order_by("state", "name", "-version"),
        widget=UnfoldAdminSelectWidget,
    )


class RunAdmin(ReadOnly, ActionPages[Run], ModelAdmin):  # type: ignore[misc]
    """Jobs on a profile that a worker carries out: a list, and pages to start and to cancel one.

    Subclasses define `start` and `cancel`, the permissions for both, and the words of the pages.
    """

    list_select_related: tuple[str, ...] = ("profile", "user")
    change_list_template = "admin/tuning/evaluationrun/list.html"
    start_permission: str
    cancel_permission: str
    start_title: Promise
    start_note: Promise
    cancelled: Promise

    def start(self, profile: SearchProfile, user: User) -> Run:
        raise NotImplementedError

    def cancel(self, row: Run, user: User) -> None:
        raise NotImplementedError

    @display(description=_("state"), ordering="state", label=STATE_LABELS)
    def state_label(self, row: Any) -> tuple[str, str]:
        percent = f" {row.progress:.0%}" if row.state == State.RUNNING else ""
        return row.state, f"{row.get_state_display()}{percent}"

    def get_urls(self) -> list[URLPattern]:
        return [
            self.own_page("start/", self.start_view, "start"),
            self.own_page("<int:pk>/cancel/", self.cancel_view, "cancel"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        context = {
            "may_start": request.user.has_perm(self.start_permission),
            "start_title": self.start_title,
            "is_moving": self.model.objects.filter(state__in=self.model.OPEN).exists(),
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)  # type: ignore[no-any-return]

    def start_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form, or start a job on the chosen profile."""
        if not request.user.has_perm(self.start_permission) or not self.has_view_permission(
            request
        ):
            raise PermissionDenied
        active = SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).first()
        initial = {"profile": request.GET.get("profile") or active}
        form = StartForm(request.POST or None, initial=initial)
        if request.method == "POST" and form.is_valid():
            try:
                return self.back_to(self.start(form.cleaned_data["profile"], actor(request)).pk)
            except SearchError as error:
                form.add_error(None, str(error))
        context = {"form": form, "note": self.start_note}
        return self.shown(
            request, "tuning/evaluationrun/start.html", str(self.start_title), context
        )

    def cancel_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        def act(row: Run) -> str:
            self.cancel(row, actor(request))
            return str(self.cancelled)

        return self.acted(
            request, pk, act, permission=self.cancel_permission, failure=messages.WARNING
        )


@admin.register(EvaluationRun)
class EvaluationRunAdmin(RunAdmin[EvaluationRun]):
    empty_text = _(
        "No evaluation runs yet. A run searches for all golden queries with a profile and "
        "measures the results."
    )
    list_display = (
        "created", "profile", "over", "state_label", "queries", "ndcg", "change", "p95", "user",
    )  # fmt: skip
    list_filter = ("kind", "state")
    search_fields = ("profile__name", "collection")
    change_form_template = "admin/tuning/evaluationrun/page.html"
    start_permission, cancel_permission = "tuning.add_evaluationrun", "tuning.change_evaluationrun"
    start_title = _("Measure a profile")
    start_note = _("Measured on the golden queries and compared with the active profile.")
    cancelled = _("The run has been cancelled.")

    def start(self, profile: SearchProfile, user: User) -> EvaluationRun:
        return golden_runs.start(profile, acting_user=user)

    def cancel(self, row: EvaluationRun, user: User) -> None:
        golden_runs.cancel(row)

    def get_queryset(self, request: HttpRequest) -> QuerySet[EvaluationRun]:
        # Loaded where it is shown: hundreds of queries take a megabyte.
        return super().get_queryset(request).defer("by_query")  # type: ignore[no-any-return]

    @admin.display(description=_("measured on"), ordering="collection")
    def over(self, run: EvaluationRun) -> str:
        return run.collection or gettext("Golden queries")

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
            "may_control": request.user.has_perm(self.cancel_permission) and is_golden,
            **split(rows, measures.LEADING),
        }
        return super().change_view(  # type: ignore[no-any-return]
            request, object_id, form_url, {**context, **(extra_context or {})}
        )


def _figures(run: EvaluationRun) -> list[dict[str, Any]]:
    """A row for each measure, with its difference to the baseline if there is one."""
    names = run.measures if run.kind == EvaluationRun.Kind.ANSWERS else measures.NAMES
    return [
        {"name": measure_label(name), "value": run.measures[name], **run.differences.get(name, {})}
        for name in names
        if name in run.measures
    ]

"""Jobs on a profile in the admin: measurements, and searches for better weights."""

from __future__ import annotations

from typing import Any, TypeVar

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget

from common.admin.mixins import PanelPages, ReadOnly, actor, own_page
from common.jobs import JobState
from search.domain import Signal
from search.errors import SearchError
from search.models import SearchProfile
from search.presentation.labels import measure_label
from search.signals import registry
from search.tuning import optimisations
from search.tuning.admin.gate import split
from search.tuning.admin.workbench_actions import CHANGE, VIEW
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
        SearchProfile.objects.order_by("state", "name", "-version"), widget=UnfoldAdminSelectWidget
    )


class RunAdmin(ReadOnly, PanelPages[Run], ModelAdmin):  # type: ignore[misc]
    """Jobs on a profile that a worker carries out: a list, and pages to start and to cancel one.

    `service` is the module with `start` and `cancel`; subclasses define the permissions and the
    texts.
    """

    list_select_related: tuple[str, ...] = ("profile", "user")
    change_list_template = "admin/tuning/evaluationrun/list.html"
    service: Any
    start_permission: str
    cancel_permission: str
    start_title: Promise
    start_note: Promise

    @display(description=_("state"), ordering="state", label=STATE_LABELS)
    def state_label(self, row: Any) -> tuple[str, str]:
        percent = f" {row.progress:.0%}" if row.state == State.RUNNING else ""
        return row.state, f"{row.get_state_display()}{percent}"

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        return {
            "may_start": request.user.has_perm(self.start_permission),
            "start_title": self.start_title,
            "is_moving": self.model.objects.filter(state__in=self.model.OPEN).exists(),
        }

    @own_page("start/")
    def start_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form, or start a job on the chosen profile."""
        may = self.has_view_permission(request) and request.user.has_perm(self.start_permission)
        if not may:
            raise PermissionDenied
        initial = {"profile": request.GET.get("profile") or SearchProfile.active()}
        form = StartForm(request.POST or None, initial=initial)
        if request.method == "POST" and form.is_valid():
            try:
                row = self.service.start(form.cleaned_data["profile"], acting_user=actor(request))
                return self.back_to(row.pk)
            except SearchError as error:
                form.add_error(None, str(error))
        template, title = "tuning/evaluationrun/start.html", str(self.start_title)
        return self.page(request, template, title, {"form": form, "note": self.start_note})

    @own_page("<int:pk>/cancel/")
    def cancel_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        def act(row: Run) -> str:
            self.service.cancel(row)
            return gettext("It has been cancelled.")

        return self.acted(request, pk, act, permission=self.cancel_permission)


@admin.register(EvaluationRun)
class EvaluationRunAdmin(RunAdmin[EvaluationRun]):
    empty_text = _(
        "No measurements yet. Each searches for all golden queries with a profile, and holds the "
        "results against the judgements."
    )
    list_display = (
        "created", "profile", "state_label", "queries", "ndcg", "change", "p95", "user",
    )  # fmt: skip
    list_filter = ("state",)
    search_fields = ("profile__name",)
    change_form_template = "admin/tuning/evaluationrun/page.html"
    service = golden_runs
    start_permission, cancel_permission = "tuning.add_evaluationrun", "tuning.change_evaluationrun"
    start_title = _("Measure a profile")
    start_note = _("Measured on the golden queries and compared with the active profile.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[EvaluationRun]:
        # Loaded where it is shown: hundreds of queries take a megabyte.
        return super().get_queryset(request).defer("by_query")  # type: ignore[no-any-return]

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

    def panel(self, request: HttpRequest, row: EvaluationRun) -> dict[str, Any]:
        rows = query_rows(row, viewer=request.user) if row.by_query else []
        return {
            "run": row,
            "variant": STATE_LABELS[State(row.state)],
            "percent": round(100 * row.progress),
            "figures": _figures(row),
            "measure": measures.LEADING,
            "may_control": request.user.has_perm(self.cancel_permission),
            "refused": [each for each in rows if each.error],
            **split(rows, measures.LEADING),
        }


def _figures(run: EvaluationRun) -> list[dict[str, Any]]:
    """A row for each measure, with its difference to the baseline if there is one."""
    return [
        {"name": measure_label(name), "value": run.measures[name], **run.differences.get(name, {})}
        for name in measures.NAMES
        if name in run.measures
    ]


@admin.register(Optimisation)
class OptimisationAdmin(RunAdmin[Optimisation]):
    empty_text = _(
        "Nobody has searched for better weights yet. A worker tests hundreds of weights on the "
        "golden queries, and measures by cross-validation whether any are reliably better."
    )
    list_display = ("created", "profile", "state_label", "outcome", "draft_link", "user")
    list_select_related = ("profile", "draft", "user")
    list_filter = ("state",)
    change_form_template = "admin/tuning/optimisation/page.html"
    service = optimisations
    start_permission = cancel_permission = CHANGE
    start_title = _("Find better weights")
    start_note = _(
        "A worker tests hundreds of weights on the golden queries, starting from this profile's, "
        "and measures by cross-validation whether any are reliably better. The result is a draft "
        "with one set of weights: nothing is published. A few dozen questions give an indication, "
        "a few hundred a reliable result."
    )

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the person may see search profiles, of which these are measurements."""
        return request.user.has_perm(VIEW) or request.user.has_perm(CHANGE)

    @admin.display(description=_("outcome"))
    def outcome(self, row: Optimisation) -> str:
        return str(row.found.get("verdict") or row.error or "-")

    @admin.display(description=_("draft"))
    def draft_link(self, row: Optimisation) -> SafeString | str:
        if row.draft is None:
            return "-"
        return format_html(
            '<a class="text-link" href="{}">{}</a>', _workbench(row.draft), row.draft
        )

    def panel(self, request: HttpRequest, row: Optimisation) -> dict[str, Any]:
        return {
            "row": row,
            "percent": round(100 * row.progress),
            "may_change": request.user.has_perm(CHANGE),
            "shares": _shares(row),
        }


def _workbench(profile: SearchProfile) -> str:
    return f"{reverse('admin:search_workbench')}?profile={profile.pk}"


def _shares(row: Optimisation) -> list[tuple[str, Any, float, float]]:
    """Each signal with a weight: its name and label, and its weights before and after in percent.

    Empty if the weights stay. Searches before 0.4 have a verdict alone.
    """
    found = row.found.get("weights") or {"before": {}, "after": {}}
    before, after = found["before"], found["after"]
    return [
        (signal.value, registry.label(signal), 100 * before[signal], 100 * after[signal])
        for signal in Signal
        if before.get(signal) or after.get(signal)
    ]

"""Experiments in the admin: plan, start, follow, end."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from common.accounts.models import User
from common.admin.mixins import PanelPages, actor, own_page, state_column
from search.models import SearchProfile
from search.parts.experiments import life_cycle
from search.parts.experiments.models import Experiment
from search.tuning import gate_runs
from search.tuning.admin.publish_pages import ranking_differences
from search.tuning.life_cycle import locked

State = Experiment.State
STATE_LABELS = {
    State.DRAFT: "",
    State.RUNNING: "success",
    State.ENDED: "primary",
}


class ExperimentForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Experiment
        fields = ("name", "a", "b", "share", "indifference", "days", "note")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        published = SearchProfile.objects.exclude(state=SearchProfile.State.DRAFT)
        for name in ("a", "b"):
            if name in self.fields:  # absent on a read-only page
                field: Any = self.fields[name]
                field.queryset = published
                field.help_text = gettext("It was active before, so it has passed the gate.")


@admin.register(Experiment)
class ExperimentAdmin(PanelPages[Experiment], ModelAdmin):  # type: ignore[misc]
    empty_text = _(
        "No experiments yet. An experiment compares two profiles by the results that visitors open."
    )
    form = ExperimentForm
    actions = None  # plans alone can be deleted, one by one
    fieldsets = (
        (None, {"fields": ("name", "a", "b")}),
        (_("Participation and duration"), {"fields": ("share", "days", "indifference")}),
        (None, {"fields": ("note",)}),
    )
    list_display = ("name", "state_label", "a", "b", "visitors", "conclusion", "started")
    list_select_related = ("a", "b")
    list_filter = ("state",)
    search_fields = ("name", "note")
    change_form_template = "admin/experiments/experiment/page.html"
    list_before_template = "admin/experiments/experiment/note.html"

    state_label = state_column(STATE_LABELS)

    @admin.display(description=_("visitors"))
    def visitors(self, experiment: Experiment) -> str:
        return f"{experiment.verdict['visitors']:,}" if experiment.verdict else "-"

    @admin.display(description=_("conclusion"))
    def conclusion(self, experiment: Experiment) -> str:
        return str(experiment.verdict.get("sentence", "-"))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_plan(obj) and bool(super().has_change_permission(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_plan(obj) and bool(super().has_delete_permission(request, obj))

    def panel(self, request: HttpRequest, row: Experiment) -> dict[str, Any]:
        is_running = row.state == State.RUNNING and request.method == "GET"
        return _context(life_cycle.analyse(row) if is_running else row, request)

    @own_page("<int:pk>/start/")
    def start_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what starting would do, or start the experiment."""
        experiment = self.seen(request, pk, gate_runs.PUBLISH)
        if request.method == "POST":
            self.attempt(request, partial(self._start, experiment, actor(request)))
            return self.back_to(experiment.pk)
        context = {
            "experiment": experiment,
            "differences": ranking_differences(experiment.a, experiment.b),
        }
        return self.page(
            request,
            "experiments/experiment/start.html",
            gettext("Start %(experiment)s") % {"experiment": experiment},
            context,
        )

    def _start(self, experiment: Experiment, user: User) -> str:
        started = life_cycle.start(experiment, acting_user=user)
        text = gettext("%(experiment)s has started and applies from the next search.")
        return text % {"experiment": started}

    @own_page("<int:pk>/end/")
    def end_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """End the experiment with the given reason."""

        def act(experiment: Experiment) -> str:
            reason = request.POST.get("reason", "")
            life_cycle.end(experiment, acting_user=actor(request), reason=reason)
            return gettext("The experiment has ended. No profile was published.")

        return self.acted(request, pk, act, permission=gate_runs.PUBLISH)

    # --- saving a plan ----------------------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: Experiment, form: Any, change: bool) -> None:
        if change:
            _check_plan(obj)
        else:
            obj.added_by = actor(request)
        super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: Experiment) -> None:
        _check_plan(obj)
        super().delete_model(request, obj)


def _check_plan(experiment: Experiment) -> None:
    """Raise PermissionDenied if it was started since the request read it; lock it."""
    if not _is_plan(locked(experiment)):
        raise PermissionDenied


def _context(experiment: Experiment, request: HttpRequest) -> dict[str, Any]:
    """The context of the panels above the plan."""
    verdict = experiment.verdict
    winner = {"a": experiment.a, "b": experiment.b}.get(verdict.get("verdict", ""))
    may_publish = request.user.has_perm(gate_runs.PUBLISH)
    return {
        "experiment": experiment,
        "variant": STATE_LABELS[State(experiment.state)],
        "verdict": verdict,
        "looked": datetime.fromisoformat(verdict["at"]) if verdict else None,
        "winner": winner,
        "winner_is_active": winner is not None and winner.state == SearchProfile.State.ACTIVE,
        "may_start": may_publish and experiment.state == State.DRAFT,
        "may_publish": may_publish,
    }


def _is_plan(experiment: Any) -> bool:
    return not isinstance(experiment, Experiment) or experiment.state == State.DRAFT

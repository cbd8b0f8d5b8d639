"""Embedding spaces in the admin: how each stands, and the change from one model to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.forms import Script
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin

from ingestion import space_changes
from ingestion.admin.fields import language_name
from ingestion.admin.space_forms import NewSpaceForm, SpaceForm
from ingestion.admin.visibility import actor
from ingestion.errors import IngestionError
from ingestion.models import EmbeddingSpace
from ingestion.space_report import Report, overview, report_on, reports_on
from ingestion.spaces.index import IndexState

State = EmbeddingSpace.State
VARIANTS = {
    State.ACTIVE: "success",
    State.BUILDING: "info",
    State.PREVIOUS: "",
    State.RETIRED: "",
    State.DROPPING: "warning",
}


@dataclass(frozen=True, slots=True)
class Action:
    """Something that is done to a space after a page that says what it means."""

    name: str
    label: str
    icon: str
    done: str
    perform: Callable[..., object]
    permission: str = "change"


ACTIONS = {
    action.name: action
    for action in (
        Action(
            "start", "Fill it", "play_arrow", "The workers fill it in the background.",
            space_changes.start,
        ),
        Action("pause", "Pause", "pause", "It is filled no further.", space_changes.pause),
        Action(
            "activate", "Activate", "check_circle", "It is active: the next search uses it.",
            space_changes.activate,
        ),
        Action(
            "drop", "Remove", "delete", "The workers remove it.", space_changes.drop, "delete",
        ),
    )
}  # fmt: skip


@admin.register(EmbeddingSpace)
class EmbeddingSpaceAdmin(ModelAdmin):  # type: ignore[misc]
    list_display = ("name", "state_cell", "index_cell", "dimensions", "max_tokens", "knows")
    ordering = ("pk",)
    list_fullwidth = True
    change_form_outer_before_template = "admin/steelyard/space_status.html"
    change_list_template = "admin/ingestion/embeddingspace/change_list.html"

    class Media:
        js = (Script("admin/steelyard/spaces.js", defer=True),)

    # --- what is shown ---------------------------------------------------------------------

    @admin.display(description="state", ordering="state")
    def state_cell(self, space: EmbeddingSpace) -> SafeString:
        return cell(_report_of(space), "state")

    @admin.display(description="index")
    def index_cell(self, space: EmbeddingSpace) -> SafeString:
        return cell(_report_of(space), "index")

    @admin.display(description="languages")
    def knows(self, space: EmbeddingSpace) -> str:
        return ", ".join(map(language_name, space.languages)) or "many"

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The list with the reports on all its rows, read together."""
        changelist = super().get_changelist_instance(request)
        changelist.result_list = list(changelist.result_list)
        for report in reports_on(changelist.result_list, brief=True):
            report.space.brief_report = report  # type: ignore[attr-defined]
        return changelist

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        if obj is None:
            return NewSpaceForm
        return super().get_form(request, obj, **kwargs | {"form": SpaceForm})

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        limits = ("Limits and price", {"fields": space_changes.LIMITS})
        if obj is not None:
            return ((None, {"fields": ("name",)}), limits)
        return (
            ("Model", {"fields": ("kind", "name", "model", "base_url", "api_key_env", "folder")}),
            limits,
            ("What only some models need", {"fields": (
                "dimensions_asked", "max_tokens_read", "query_prefix", "document_prefix", "knows",
            )}),
        )  # fmt: skip

    # --- pages -----------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        def page(route: str, view: Callable[..., HttpResponse], name: str) -> URLPattern:
            guarded = self.admin_site.admin_view(view)
            return cast("URLPattern", path(route, guarded, name=f"ingestion_embeddingspace_{name}"))

        return [
            page("progress/", self.progress_view, "progress"),
            page("<int:pk>/<slug:name>/confirm/", self.confirm_view, "confirm"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        context = {
            "notes": overview(list(EmbeddingSpace.objects.all())),
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)  # type: ignore[no-any-return]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        space = context.get("original")
        if space is not None:
            report = report_on(space)
            context |= {
                "report": report,
                # Over all collections: they would tell others that there are hidden ones.
                "shows_counts": actor(request).is_superuser,
                "state_cell": cell(report, "state"),
                "index_cell": cell(report, "index"),
                "possible": [a for a in possible(report) if self._may(request, a, space)],
                "show_save_and_add_another": False,
                "show_save_and_continue": False,
            }
        return super().render_change_form(request, context, *args, **kwargs)  # type: ignore[no-any-return]

    def progress_view(self, request: HttpRequest) -> JsonResponse:
        """The changing cells of all spaces."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        reports = reports_on(EmbeddingSpace.objects.order_by("pk"), brief=True)
        rows = [
            {"id": report.space.pk, "cells": {name: cell(report, name) for name in CELLS}}
            for report in reports
        ]
        return JsonResponse({"spaces": rows})

    def confirm_view(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        """Says what an action means, what it costs and what speaks against it; then does it."""
        action, space = ACTIONS.get(name), self.get_object(request, str(pk))
        if action is None or space is None:
            raise Http404
        if not self._may(request, action, space):
            raise PermissionDenied
        if request.method == "POST":
            return self._perform(request, action, space)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{action.label}: {space}",
            "action": action,
            "report": report_on(space),
            "obstacles": space_changes.obstacles(space) if name == "activate" else [],
            "active": EmbeddingSpace.objects.filter(state=State.ACTIVE).first(),
        }
        return TemplateResponse(request, "admin/ingestion/embeddingspace/confirm.html", context)

    def _perform(self, request: HttpRequest, action: Action, space: EmbeddingSpace) -> HttpResponse:
        try:
            action.perform(space, acting_user=actor(request))
        except IngestionError as error:
            self.message_user(request, str(error), messages.WARNING)
        else:
            self.message_user(request, f"{space}: {action.done}", messages.SUCCESS)
        return redirect("admin:ingestion_embeddingspace_changelist")

    # --- what is done: all of it by space_changes ---------------------------------------------

    def save_model(
        self, request: HttpRequest, obj: EmbeddingSpace, form: Any, change: bool
    ) -> None:
        user, name = actor(request), form.cleaned_data["name"]
        if change:
            held = EmbeddingSpace.objects.get(pk=obj.pk)
            saved = space_changes.configure(held, form.limits, name=name, acting_user=user)
        else:
            kind = form.cleaned_data["kind"]
            saved = space_changes.create(
                kind, form.options, name=name, limits=form.limits, acting_user=user
            )
        obj.pk = saved.pk
        obj._state.adding = False
        obj.refresh_from_db()

    def response_add(
        self, request: HttpRequest, obj: EmbeddingSpace, post_url_continue: str | None = None
    ) -> HttpResponse:
        return redirect("admin:ingestion_embeddingspace_confirm", obj.pk, "start")

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Nothing: `space_changes` writes the audit."""

    log_change = log_addition

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never by Django's own page: vectors are removed in batches, by the workers."""
        return False

    def _may(self, request: HttpRequest, action: Action, space: EmbeddingSpace) -> bool:
        if action.permission == "delete":
            return bool(super().has_delete_permission(request, space))
        return bool(self.has_change_permission(request, space))


def _report_of(space: EmbeddingSpace) -> Report:
    report: Report = space.brief_report  # type: ignore[attr-defined]
    return report


def possible(report: Report) -> list[Action]:
    """What can be done to a space as it stands, the likeliest first."""
    space, names = report.space, []
    if space.state in (State.BUILDING, State.PREVIOUS):
        if report.is_ready or space.state == State.PREVIOUS:
            names.append("activate")
        if space.paused or (report.missing and space.filled_at is not None):
            names.append("start")
        if not space.paused and space.filled_at is None:
            names.append("pause")
    if space.state == State.RETIRED:
        names.append("start")
    if space.state not in (State.ACTIVE, State.DROPPING):
        names.append("drop")
    return [ACTIONS[name] for name in names]


def cell(report: Report, name: str) -> SafeString:
    """A cell of a space, marked so that the page can replace it while the space changes."""
    settled = report.is_settled
    return format_html(
        '<span class="sy-live" data-space="{}" data-cell="{}"{}>{}</span>',
        report.space.pk,
        name,
        SafeString("" if settled else " data-unfinished"),
        CELLS[name](report),
    )


def _state(report: Report) -> SafeString:
    space = report.space
    words = {"Ready to be activated": "success", "Not started": ""}
    label = report.state_words.split(",")[0]
    variant = "danger" if space.paused and space.error else VARIANTS[State(space.state)]
    context = {
        "text": label,
        "variant": words.get(label, variant),
        "percent": round(report.share * 100) if report.is_filling else None,
        "done": space.chunks_filled,
        "total": space.chunks_total,
        "error": space.error,
    }
    return SafeString(render_to_string("admin/steelyard/space_state.html", context))


def _index(report: Report) -> SafeString:
    variant = {
        IndexState.READY: "success",
        IndexState.BUILDING: "info",
        IndexState.INVALID: "warning",
    }.get(report.index.state, "")
    share = report.index.share
    context = {
        "text": report.index.state.value.capitalize(),
        "variant": variant,
        "percent": None if share is None else round(share * 100),
        "phase": report.index.phase,
    }
    return SafeString(render_to_string("admin/steelyard/space_index.html", context))


CELLS: dict[str, Callable[[Report], SafeString]] = {"state": _state, "index": _index}

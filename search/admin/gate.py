"""W3: the gate in the admin: its settings, and what came of each attempt to publish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.decorators import display

from search.admin.profiles import differences_from_active
from search.errors import SearchError
from search.models import EvaluationRun, Publication, PublishGate
from search.tuning import gate, gatekeeping, publishing
from search.tuning.reading import QueryRow, query_rows

if TYPE_CHECKING:
    from django.contrib.auth.models import User

State = Publication.State
STATE_LABELS = {
    State.MEASURING: "info",
    State.PUBLISHED: "success",
    State.REFUSED: "danger",
    State.FAILED: "warning",
    State.CANCELLED: "",
}


class ReadOnly:
    """For a ModelAdmin whose rows are written by services alone."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(PublishGate)
class PublishGateAdmin(ModelAdmin):  # type: ignore[misc]
    fieldsets = (
        (None, {"fields": ("enabled",)}),
        ("The measure", {"fields": ("measure", "margin", "min_queries", "count_synthetic")}),
        ("Must be first", {"fields": ("first_required",)}),
        ("Time", {"fields": ("latency_margin", "latency_floor_ms", "background_above")}),
    )

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """There is one gate: its list is its page."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return redirect("admin:search_publishgate_change", publishing.gate_row().pk)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        settings = {name: form.cleaned_data[name] for name in form.changed_data}
        gatekeeping.change(settings, acting_user=_user(request))

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Nothing: the service has written the line of the history."""

    def response_post_save_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return redirect("admin:search_publishgate_change", obj.pk)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Publication)
class PublicationAdmin(ReadOnly, ModelAdmin):  # type: ignore[misc]
    empty_text = (
        "No profile has been published through the gate yet. Make a draft under Search "
        "profiles or in the workbench, and publish it."
    )
    list_display = ("asked", "profile", "state_label", "user", "reason", "overridden")
    list_select_related = ("profile", "user")
    list_filter = ("state",)
    search_fields = ("profile__name", "reason")
    change_form_template = "admin/search/publication/page.html"

    @display(description="state", ordering="state", label=STATE_LABELS)
    def state_label(self, publication: Publication) -> tuple[str, str]:
        return publication.state, publication.get_state_display()

    @admin.display(description="against the gate", boolean=True, ordering="override")
    def overridden(self, publication: Publication) -> bool:
        return publication.override

    def get_urls(self) -> list[URLPattern]:
        def at(name: str, view: Any) -> URLPattern:
            guarded = self.admin_site.admin_view(view)
            return path(f"<int:pk>/{name}/", guarded, name=f"search_publication_{name}")  # type: ignore[no-any-return]

        return [
            at("override", self.override_view),
            at("cancel", self.cancel_view),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        publication = self._seen(request, object_id)
        refused = publication.state in (State.REFUSED, State.FAILED)
        context = {
            "publication": publication,
            "variant": STATE_LABELS[State(publication.state)],
            "percent": round(100 * publication.run.progress) if publication.run else 0,
            "notes": [f for f in publication.findings if f not in publication.refusals],
            "from_active": differences_from_active(publication.profile),
            "may_override": refused
            and request.user.has_perms((publishing.PUBLISH, publishing.OVERRIDE)),
            "may_publish": request.user.has_perm(publishing.PUBLISH),
            **_lost_and_won(publication, request),
        }
        return super().change_view(  # type: ignore[no-any-return]
            request, object_id, form_url, {**context, **(extra_context or {})}
        )

    def override_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Publishes what was refused, for the reason that the form gives."""

        def act(publication: Publication) -> str:
            reason = request.POST.get("reason", "")
            publishing.override(publication, acting_user=_user(request), reason=reason)
            return f"{publication.profile} is active, against the gate: the next search uses it."

        return self._act(request, pk, act)

    def cancel_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Stops measuring; nothing is published."""

        def act(publication: Publication) -> str:
            publishing.cancel(publication, acting_user=_user(request))
            return "It is cancelled. Nothing was published."

        return self._act(request, pk, act)

    def _act(self, request: HttpRequest, pk: int, act: Any) -> HttpResponse:
        publication = self._seen(request, str(pk))
        if not request.user.has_perm(publishing.PUBLISH):
            raise PermissionDenied
        if request.method == "POST":
            try:
                self.message_user(request, act(publication), messages.SUCCESS)
            except SearchError as error:
                self.message_user(request, str(error), messages.ERROR)
        return redirect("admin:search_publication_change", publication.pk)

    def _seen(self, request: HttpRequest, object_id: str) -> Publication:
        found: Publication | None = self.get_object(request, object_id)
        if found is None or not self.has_view_permission(request, found):
            raise Http404
        return found


def _lost_and_won(publication: Publication, request: HttpRequest) -> dict[str, Any]:
    run = publication.run
    if run is None or run.state != EvaluationRun.State.DONE:
        return {}
    measure = publishing.gate_row().measure
    rows = query_rows(run, viewer=request.user)
    return {"measure": measure, **split(rows, measure)}


def split(rows: list[QueryRow], measure: str) -> dict[str, Any]:
    """The queries that lost, won, and break what must be first, the furthest first."""
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
        "url": reverse("admin:search_goldenquery_change", args=(row.pk,)),
        "text": row.text,
        "by": by,
        "was_first": row.title(row.was_first),
        "first": row.title(row.first),
        "must": row.title(row.must_be_first),
    }


def link(url: str, text: object) -> SafeString:
    return format_html('<a class="text-link" href="{}">{}</a>', url, text)


def _user(request: HttpRequest) -> User:
    return request.user  # type: ignore[return-value]

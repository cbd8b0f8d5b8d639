"""Weight optimisation in the admin: start, follow, read the result, create a draft."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.accounts.models import User
from common.admin.pages import actor
from search.domain import QueryClass, Signal
from search.errors import SearchError
from search.models import SearchProfile
from search.models.rules import NORMALISERS
from search.presentation.labels import CLASS_LABELS
from search.signals import registry
from search.tuning.admin.runs import RunAdmin
from search.tuning.admin.workbench_actions import CHANGE, VIEW
from search.tuning.models import GoldenQuery, Optimisation
from search.tuning.optimiser import optimisations


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
    start_permission = cancel_permission = CHANGE
    start_title = _("Find better weights")
    start_note = _(
        "A worker tests hundreds of weights on the golden queries, starting from this profile's, "
        "and measures by cross-validation whether any are reliably better. The result is a draft: "
        "nothing is published. A class with fewer than ten questions keeps its weights: a few "
        "dozen questions give an indication, a few hundred a reliable result."
    )
    cancelled = _("The optimisation has been cancelled.")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the person may see search profiles, of which these are measurements."""
        return request.user.has_perm(VIEW) or request.user.has_perm(CHANGE)

    def start(self, profile: SearchProfile, user: User) -> Optimisation:
        return optimisations.start(profile, acting_user=user)

    def cancel(self, row: Optimisation, user: User) -> None:
        optimisations.cancel(row, acting_user=user)

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

    def get_urls(self) -> list[URLPattern]:
        draft = self.own_page("<int:pk>/draft/", self.draft_view, "draft")
        return [draft, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        row = self.seen(request, object_id)
        context = {
            "row": row,
            "percent": round(100 * row.progress),
            "may_change": request.user.has_perm(CHANGE),
            **_result(row),
        }
        return super().change_view(  # type: ignore[no-any-return]
            request, object_id, form_url, {**context, **(extra_context or {})}
        )

    def draft_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Create a draft from the result, and open it in the workbench."""
        row = self.seen(request, pk)
        if not request.user.has_perm(CHANGE):
            raise PermissionDenied
        if request.method != "POST":
            return self.back_to(pk)
        try:
            draft = optimisations.make_draft(row, acting_user=actor(request))
        except SearchError as error:
            self.message_user(request, str(error), messages.WARNING)
            return self.back_to(pk)
        text = gettext("The draft %(draft)s was created. Review it here before you publish it.")
        self.message_user(request, text % {"draft": draft}, messages.SUCCESS)
        return redirect(_workbench(draft))


def _workbench(profile: SearchProfile) -> str:
    return f"{reverse('admin:search_workbench')}?profile={profile.pk}"


def _result(row: Optimisation) -> dict[str, Any]:
    """The result for the page, with a column for each signal that has a weight; empty without one.

    Comparisons of shipped profiles, which were made before 0.2.0, have a verdict alone.
    """
    classes = row.found.get("classes")
    if not classes:
        return {}
    origins, scales = dict(GoldenQuery.Origin.choices), dict(NORMALISERS)
    used = [
        signal
        for signal in Signal
        if any(each[side][signal] for each in classes for side in ("before", "after"))
    ]
    return {
        "signals": [(signal.value, registry.label(signal)) for signal in used],
        "classes": [
            {
                **each,
                "label": CLASS_LABELS[QueryClass(each["class"])],
                "is_changed": each["before"] != each["after"],
                "shares": [
                    (
                        registry.label(signal),
                        *(100 * each[of][signal] for of in ("before", "after")),
                    )
                    for signal in used
                ],
            }
            for each in classes
        ],
        "normalisers": [
            (registry.label(Signal(signal)), scales.get(name, name))
            for signal, name in row.found["normalisers"].items()
        ],
        "origins": [(origins.get(name, name), of) for name, of in row.found["origins"].items()],
    }

"""The queue of search gaps in the admin, with the remedies for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from common.accounts.models import User
from common.admin.mixins import FixedRows, OwnPages, VisibleOnly, actor, own_page
from search.analytics import gap_queue
from search.analytics.gap_queue import COSTS, GapSummary
from search.analytics.models import Gap, GapStep, Sign
from search.errors import GapError

Kind = GapStep.Kind

MAX_GAPS = 100
STATES = {state.value: state.label for state in Gap.State}


@dataclass(frozen=True, slots=True)
class Remedy:
    """A kind of row that may close a gap: the view that adds one, and its field for the query."""

    kind: str
    label: Promise
    hint: Promise
    view: str
    field: str
    permission: str


REMEDIES = (
    Remedy(
        Kind.SYNONYM, _("Add a synonym"), _("The documents use other words for it."),
        "admin:search_synonym_add", "terms", "search.add_synonym",
    ),
    Remedy(
        Kind.PATTERN, _("Add an identifier pattern"), _("The query is a code that is not "
"recognised."),
        "admin:ingestion_identifierpattern_add", "examples", "ingestion.add_identifierpattern",
    ),
    Remedy(
        Kind.PIN, _("Pin a document"), _("One document answers the question."),
        "admin:search_pin_add", "query", "search.add_pin",
    ),
    Remedy(
        Kind.JUDGEMENT, _("Judge the results"), _("Measure the ranking, then tune the weights."),
        "admin:search_workbench", "q", "tuning.add_judgement",
    ),
)  # fmt: skip


class NoteForm(forms.Form):
    note = forms.CharField(max_length=2_000, required=False)


class OwnerForm(NoteForm):
    owner = forms.ModelChoiceField(User.objects.filter(is_active=True, is_staff=True))


@admin.register(Gap)
class GapAdmin(VisibleOnly, FixedRows, OwnPages[Gap], ModelAdmin):  # type: ignore[misc]
    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the queue, the costliest first; Django's own list can sort by columns only."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        state = request.GET.get("state", "")
        state = state if state in STATES else Gap.State.OPEN
        summaries = gap_queue.summaries(request.user, state=state, limit=MAX_GAPS)
        context = {
            "cl": None,
            "gaps": [each for each in summaries if not each.is_probably_fine],
            "fine": [each for each in summaries if each.is_probably_fine],
            "state": state,
            "states": STATES.items(),
            "shown": MAX_GAPS if len(summaries) == MAX_GAPS else 0,
            "opts": self.opts,
            "costs": [(Sign(sign).label, cost) for sign, cost in COSTS.items()],
        }
        return self.page(request, "analytics/gap/queue.html", gettext("Search gaps"), context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        summary = self._summary(request, int(object_id) if object_id.isdecimal() else 0)
        may_change = self.has_change_permission(request)
        context = {
            "summary": summary,
            "gap": summary.gap,
            "counts": [(sign.label, count) for sign, count in summary.counts.items()],
            "wordings": gap_queue.wordings(summary.gap, request.user),
            "may_change": may_change,
            "remedies": _remedies(request) if may_change else [],
            "owners": User.objects.filter(is_active=True, is_staff=True) if may_change else [],
            "history": summary.gap.steps.select_related("user").order_by("-pk"),
            "search": f"{reverse('search:page')}?{urlencode({'q': summary.query})}",
        }
        return self.page(request, "analytics/gap/page.html", summary.query, context)

    @own_page("<int:pk>/act/", posts=True)
    def act_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Carry out the chosen action, then redirect to the form of its remedy or back."""
        summary = self._summary(request, pk)
        if not self.has_change_permission(request):
            raise PermissionDenied
        try:
            address = self._act(request, summary)
        except GapError as error:
            self.message_user(request, str(error), messages.ERROR)
            address = ""
        return HttpResponseRedirect(address) if address else self.back_to(pk)

    def _act(self, request: HttpRequest, summary: GapSummary) -> str:
        """Carry out the action; return the address to continue at, empty for the gap's page.

        Raises GapError.
        """
        gap, action, user = summary.gap, request.POST.get("act", ""), actor(request)
        form = OwnerForm(request.POST) if action == Kind.DOCUMENT else NoteForm(request.POST)
        if not form.is_valid():
            raise GapError(
                gettext("Choose who will write the document, and describe what it should answer.")
            )
        note = form.cleaned_data["note"]
        remedy = next((each for each in _remedies(request) if each[0].kind == action), None)
        if remedy is not None:
            gap_queue.take_step(gap, action, acting_user=user)
            return f"{remedy[1]}?{urlencode({remedy[0].field: summary.query})}"
        if action == Kind.DOCUMENT:
            gap_queue.assign(gap, form.cleaned_data["owner"], acting_user=user, note=note)
        elif action in gap_queue.STATES:
            gap_queue.take_step(gap, action, acting_user=user, note=note)
        else:
            raise GapError(gettext("Unknown action, or you do not have permission for it."))
        return reverse("admin:analytics_gap_changelist") if action == Kind.DISMISSED else ""

    def _summary(self, request: HttpRequest, pk: int) -> GapSummary:
        """The gap's summary for the reader. Raises Http404 for hidden and missing gaps alike."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        summaries = gap_queue.summaries(request.user, pk=pk) if pk else []
        if not summaries:
            raise Http404
        return summaries[0]


def _remedies(request: HttpRequest) -> list[tuple[Remedy, str]]:
    """The remedies that the reader has permission for, with the addresses of their forms."""
    own = (remedy for remedy in REMEDIES if request.user.has_perm(remedy.permission))
    return [(remedy, reverse(remedy.view)) for remedy in own]

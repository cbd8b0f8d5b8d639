"""The queue of search gaps: what failed, whom it cost, and what to do about it in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import NoReverseMatch, URLPattern, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin

from common.accounts.models import User
from common.admin.pages import ActionPages, VisibleOnly, actor
from ingestion.models import Document
from search.analytics import gaps
from search.analytics.gaps import COSTS, Standing
from search.analytics.models import Gap, GapStep, Sign
from search.errors import GapError, SearchError

Kind = GapStep.Kind

SHOWN = 100
STATES = {state.value: state.label for state in Gap.State}


@dataclass(frozen=True, slots=True)
class Remedy:
    """A row that may close a gap: where one is made, and which of its fields takes the query."""

    kind: str
    label: str
    hint: str
    view: str
    field: str
    permission: str


REMEDIES = (
    Remedy(
        Kind.SYNONYM, "Add a synonym", "The documents say it in other words.",
        "admin:search_synonym_add", "terms", "search.add_synonym",
    ),
    Remedy(
        Kind.PATTERN, "Add an identifier pattern", "It is a code that is not recognised.",
        "admin:ingestion_identifierpattern_add", "examples", "ingestion.add_identifierpattern",
    ),
    Remedy(
        Kind.PIN, "Pin a document", "One document is the answer.",
        "admin:search_pin_add", "query", "search.add_pin",
    ),
    Remedy(
        Kind.JUDGEMENT, "Judge the results", "Measure it, and tune the weights.",
        "admin:search_workbench", "q", "tuning.add_judgement",
    ),
)  # fmt: skip


class NoteForm(forms.Form):
    note = forms.CharField(max_length=2_000, required=False)


class OwnerForm(NoteForm):
    owner = forms.ModelChoiceField(User.objects.filter(is_active=True, is_staff=True))


@dataclass(frozen=True, slots=True)
class Finding:
    """What a search found, for one reader: documents that they may not see are left out."""

    total: int
    confidence: float | None
    unsure: bool
    documents: tuple[Document, ...]

    @classmethod
    def of(
        cls, found: Mapping[str, Any] | None, readable: Mapping[str, Document]
    ) -> Finding | None:
        if found is None:
            return None
        documents = [readable[key] for key in found["results"] if key in readable]
        return cls(found["total"], found["confidence"], found["unsure"], tuple(documents))


@admin.register(Gap)
class GapAdmin(VisibleOnly, ActionPages[Gap], ModelAdmin):  # type: ignore[misc]
    def get_urls(self) -> list[URLPattern]:
        act = self.own_page("<int:pk>/act/", require_POST(self.act_view), "act")
        return [act, *super().get_urls()]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The queue, the costliest first. Django's own list orders by columns alone."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        state = request.GET.get("state", "")
        state = state if state in STATES else Gap.State.OPEN
        found = gaps.standing(request.user, state=state, limit=SHOWN)
        context = {
            "cl": None,
            "gaps": found,
            "state": state,
            "states": STATES.items(),
            "shown": SHOWN,
            "costs": [(Sign(sign).label, cost) for sign, cost in COSTS.items()],
            **(extra_context or {}),
        }
        return self.shown(request, "gap/queue.html", "Search gaps", context)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        standing = self._standing(request, int(object_id) if object_id.isdecimal() else 0)
        may_change = self.has_change_permission(request)
        context = {
            "standing": standing,
            "gap": standing.gap,
            "counts": [(sign.label, count) for sign, count in standing.counts.items()],
            "wordings": gaps.wordings(standing.gap, request.user),
            "may_change": may_change,
            "remedies": list(_remedies(request)) if may_change else [],
            "owners": User.objects.filter(is_active=True, is_staff=True) if may_change else [],
            **_findings(request, standing),
            **(extra_context or {}),
        }
        return self.shown(request, "gap/gap.html", standing.query, context)

    def act_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Does what the page's buttons say, and goes on to the row that is to be made."""
        standing = self._standing(request, pk)
        if not self.has_change_permission(request):
            raise PermissionDenied
        here = reverse("admin:analytics_gap_change", args=(pk,))
        try:
            address = self._act(request, standing)
        except (GapError, SearchError) as error:
            self.message_user(request, str(error), messages.ERROR)
            address = here
        return HttpResponseRedirect(address or here)

    def _act(self, request: HttpRequest, standing: Standing) -> str:
        """Where to go on; empty for the gap's own page. Raises GapError, SearchError."""
        gap, asked, user = standing.gap, request.POST.get("act", ""), actor(request)
        form = OwnerForm(request.POST) if asked == Kind.DOCUMENT else NoteForm(request.POST)
        if not form.is_valid():
            raise GapError("Choose who writes the document, and say what it should answer.")
        note = form.cleaned_data["note"]
        remedy = next((each for each in _remedies(request) if each[0].kind == asked), None)
        if remedy is not None:
            step = gaps.begin(gap, asked, acting_user=user)
            return f"{remedy[1]}?{urlencode({remedy[0].field: step.query})}"
        if asked == Kind.DOCUMENT:
            gaps.assign(gap, form.cleaned_data["owner"], acting_user=user, note=note)
        elif asked == Kind.CLOSED:
            gaps.close(gap, acting_user=user, note=note)
        elif asked == Kind.DISMISSED:
            gaps.dismiss(gap, acting_user=user, reason=note)
            return reverse("admin:analytics_gap_changelist")
        elif asked == Kind.REOPENED:
            gaps.reopen(gap, acting_user=user)
        else:
            raise GapError("There is no such action, or you may not do it.")
        return ""

    def _standing(self, request: HttpRequest, pk: int) -> Standing:
        """The gap as the reader may see it. Raises Http404: hidden and missing are the same."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        found = gaps.standing(request.user, pk=pk) if pk else []
        if not found:
            raise Http404
        return found[0]


def _remedies(request: HttpRequest) -> Iterator[tuple[Remedy, str]]:
    """What the reader may make, with the address where they do."""
    for remedy in REMEDIES:
        try:
            address = reverse(remedy.view)
        except NoReverseMatch:
            continue
        if request.user.has_perm(remedy.permission):
            yield remedy, address


def _findings(request: HttpRequest, standing: Standing) -> dict[str, Any]:
    """What the question finds now, and the history with what it found before and after."""
    steps = list(standing.gap.steps.select_related("user"))
    now: GapStep | None = None
    problem = ""
    try:
        query, collections = gaps.question(standing.gap, request.user)
        found = gaps.snapshot(query, viewer=request.user, collections=collections)
        now = GapStep(after=found.as_json(), query=query)
    except SearchError as error:
        problem = str(error)
    readable = gaps.readable_results([*steps, *([now] if now else [])], request.user)
    return {
        "now": Finding.of(now.after, readable) if now else None,
        "now_query": now.query if now else "",
        "problem": problem,
        "history": [
            (step, Finding.of(step.before, readable), Finding.of(step.after, readable))
            for step in reversed(steps)
        ],
    }

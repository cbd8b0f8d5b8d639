"""Requests of the workbench: permissions, the draft sent with each, and the queries to choose."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from common.admin.pages import whole_number
from ingestion.models import Document
from ingestion.models.library import Viewer
from search.analytics.gaps import summaries
from search.analytics.models import SearchEvent
from search.domain import Profile
from search.engine import configuration
from search.errors import SearchError
from search.models import SearchProfile
from search.tuning.admin.forms import WorkbenchForm
from search.tuning.models import GoldenQuery, Judgement
from search.tuning.workbench.comparing import visible_goldens, weakest

VIEW, CHANGE, JUDGE, RUN = (
    "search.view_searchprofile",
    "search.change_searchprofile",
    "tuning.add_judgement",
    "tuning.add_evaluationrun",
)
MAX_BODY = 64 * 1024
JsonAnswer = dict[str, Any]


def check(request: HttpRequest, *permissions: str) -> None:
    """Raises PermissionDenied unless the person may see profiles and has the permissions."""
    user = request.user
    may_see = user.has_perm(VIEW) or user.has_perm(CHANGE)
    if not may_see or not user.has_perms(permissions):
        raise PermissionDenied


def asking(
    *permissions: str,
) -> Callable[[Callable[..., JsonAnswer]], Callable[[HttpRequest], HttpResponse]]:
    """A decorator: makes a JSON view of a function from posted JSON to the answer.

    People without access to the workbench or a permission are refused; the message of a SearchError
    is returned.
    """

    def decorated(answer: Callable[..., JsonAnswer]) -> Callable[[HttpRequest], HttpResponse]:
        @require_POST
        @wraps(answer)
        def view(request: HttpRequest) -> HttpResponse:
            check(request, *permissions)
            posted = posted_in(request)
            if posted is None:
                return JsonResponse({"error": gettext("Send a JSON object.")}, status=400)
            try:
                return JsonResponse(answer(request, posted))
            except InvalidDraft as error:
                return JsonResponse({"problems": error.problems}, status=422)
            except SearchError as error:
                return JsonResponse({"error": str(error)}, status=409)

        return view

    return decorated


class InvalidDraft(Exception):
    """The draft's controls have invalid values; `problems` are by field."""

    def __init__(self, problems: Mapping[str, list[str]]) -> None:
        super().__init__("; ".join(text for texts in problems.values() for text in texts))
        self.problems = problems


def posted_in(request: HttpRequest) -> JsonAnswer | None:
    if len(request.body) > MAX_BODY:
        return None
    try:
        value = json.loads(request.body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def form_of(posted: JsonAnswer, *, is_saving: bool = False) -> WorkbenchForm:
    values = posted.get("values")
    rows = SearchProfile.objects.prefetch_related("class_weights")
    row = get_object_or_404(rows, pk=whole_number(posted.get("profile")))
    data = values if isinstance(values, dict) else {}
    return WorkbenchForm({k: str(v) for k, v in data.items()}, instance=row, is_saving=is_saving)


def draft_of(posted: JsonAnswer) -> tuple[Profile, SearchProfile]:
    """The profile described by the controls, and the row that it edits.

    Raises InvalidDraft.
    """
    form = form_of(posted)
    if not form.is_valid():
        raise InvalidDraft(form.problems())
    return form.trial(), form.instance


def collections_of(posted: JsonAnswer) -> tuple[str, ...]:
    given = posted.get("collections")
    return tuple(map(str, given)) if isinstance(given, list) else ()


def document_of(request: HttpRequest, posted: JsonAnswer) -> Document:
    try:
        public_id = UUID(str(posted.get("document")))
    except ValueError as error:
        raise Http404 from error
    return get_object_or_404(Document.objects.visible_to(request.user), public_id=public_id)


TABS = (("golden", _("Golden")), ("recent", _("Recent")), ("failing", _("Failing")))
SHOWN = 60
# A golden query with an nDCG@10 below this counts as failing. A guess.
LOW = 0.6
READ = 400  # newest searches to read, as many are repeats


@dataclass(frozen=True, slots=True)
class Listed:
    """A query to choose, with a note and optionally a heading."""

    text: str
    note: str
    collections: tuple[str, ...] = ()
    heading: str = ""


def queries(tab: str, viewer: Viewer) -> list[Listed]:
    """The queries of a tab that `viewer` may read; none for an unknown tab."""
    listed = {"golden": _golden, "recent": _recent, "failing": _failing}.get(tab)
    return list(listed(viewer)) if listed else []


def _golden(viewer: Viewer) -> Iterator[Listed]:
    rows = list(GoldenQuery.objects.visible_to(viewer).filter(enabled=True).order_by("-pk")[:SHOWN])
    judgements = Judgement.objects.visible_to(viewer).filter(query__in=rows).order_by()
    counted = judgements.values_list("query").annotate(Count("reference", distinct=True))
    judged = dict(counted)
    for row in rows:
        notes = [gettext("%(count)d judged") % {"count": judged.get(row.pk, 0)}]
        if row.must_be_first_id:
            notes.append(gettext("with a must-be-first document"))
        yield Listed(row.text, ", ".join(notes), tuple(row.collections))


def _recent(viewer: Viewer) -> Iterator[Listed]:
    events = SearchEvent.objects.visible_to(viewer).searches().exclude(query="")
    seen: dict[str, Listed] = {}
    for event in events.order_by("-at", "-pk")[:READ]:
        counted = ngettext("%(count)d result", "%(count)d results", event.total)
        notes = [counted % {"count": event.total} if event.total else gettext("no results")]
        if event.unsure:
            notes.append(gettext("low confidence"))
        seen.setdefault(
            event.folded, Listed(event.query, ", ".join(notes), tuple(event.collections))
        )
        if len(seen) == SHOWN:
            break
    yield from seen.values()


def _failing(viewer: Viewer) -> Iterator[Listed]:
    """Golden queries that the active profile ranks badly, and search gaps."""
    if configuration.current().active is not None:
        yield from _low(viewer)
    for gap in summaries(viewer, limit=SHOWN):
        yield Listed(gap.query, ", ".join(gap.signs).lower(), heading=gettext("Search gaps"))


def _low(viewer: Viewer) -> Iterator[Listed]:
    """Golden queries with a low measure; first those whose must-be-first document is not first."""
    weak = weakest(configuration.current().profile(), below=LOW)
    visible = visible_goldens(weak, viewer)
    for each in [each for each in weak if each.golden.pk in visible][:SHOWN]:
        notes = [] if each.value is None else [f"nDCG@10 {each.value:.2f}"]
        if each.first_missed:
            notes.insert(0, gettext("must-be-first document is not first"))
        yield Listed(
            each.golden.text, ", ".join(notes), each.golden.collections,
            heading=gettext("Golden queries that the active profile ranks badly"),
        )  # fmt: skip

"""The workbench: adjust, preview, measure and judge; then save and publish.

One page, updated with HTML fragments in JSON. The draft's controls are a form that is sent with
each request, so nothing is stored before saving.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib import admin
from django.contrib.admin.sites import AdminSite
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from common.admin import mixins
from ingestion.models.visibility import Viewer
from search.analytics.gap_queue import summaries
from search.analytics.models import SearchEvent
from search.engine import configuration
from search.models import SearchProfile
from search.presentation.labels import CLASS_LABELS
from search.signals import registry
from search.tuning import judging
from search.tuning.admin import workbench_actions as actions
from search.tuning.admin.forms import WorkbenchForm
from search.tuning.admin.weight_fields import class_rows
from search.tuning.admin.workbench_actions import (
    CHANGE,
    JUDGE,
    JsonAnswer,
    asking,
    check,
    collections_of,
    draft_of,
)
from search.tuning.admin.workbench_columns import columns, grades_of
from search.tuning.evaluation.golden_set import fingerprint
from search.tuning.models import GoldenQuery, Judgement
from search.tuning.workbench_comparison import compare, visible_goldens, weakest
from search.tuning.workbench_preview import preview


def urls(site: AdminSite) -> list[URLPattern]:
    """URL patterns of these pages."""
    views: dict[str, tuple[mixins.View, str]] = {
        "": (page, "search_workbench"),
        "preview/": (preview_view, "search_workbench_preview"),
        "measures/": (measures_view, "search_workbench_measures"),
        "queries/": (queries_view, "search_workbench_queries"),
        "pools/": (actions.pools_view, "search_workbench_pools"),
        "save/": (actions.save_view, "search_workbench_save"),
        "judge/": (actions.judge_view, "search_workbench_judge"),
    }
    return mixins.urls(site, "search/workbench/", views)


# --- the page -----------------------------------------------------------------------------


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """Show the workbench for the chosen profile, the newest draft, or the active profile."""
    check(request)
    profile = _chosen(request)
    form = WorkbenchForm(instance=profile) if profile else None
    rows = SearchProfile.objects.order_by("state", "name", "-version")
    context = {
        **admin.site.each_context(request),
        "title": gettext("Workbench"),
        "profile": profile,
        "profiles": [row for row in rows if row.state != SearchProfile.State.RETIRED],
        "form": form,
        "class_rows": list(class_rows(form)) if form else [],
        "groups": form.groups() if form else [],
        "lean": form.lean() if form else None,
        "signals": [(each.signal.value, each.label, each.advice) for each in registry.by_weight()],
        "tabs": TABS,
        "text": request.GET.get("q", ""),
        "collections": request.GET.getlist("collection"),
        "attempt": profile.publications.first() if profile and profile.is_draft else None,
        "has_change_permission": request.user.has_perm(CHANGE),
        "may_judge": request.user.has_perm(JUDGE),
        "add": True,  # weights are inputs even without permission to save
    }
    return TemplateResponse(request, "admin/tuning/workbench/page.html", context)


def _chosen(request: HttpRequest) -> SearchProfile | None:
    number = request.GET.get("profile", "")
    if number.isdecimal():
        return get_object_or_404(SearchProfile, pk=int(number))
    drafts = SearchProfile.objects.filter(state=SearchProfile.State.DRAFT)
    active = SearchProfile.active()
    return drafts.order_by("-created").first() or active


# --- requests of a slider -----------------------------------------------------------------


@asking()
def preview_view(request: HttpRequest, posted: JsonAnswer) -> JsonAnswer:
    """Both rankings of one query. Needs no search if the candidate set is cached."""
    started = time.perf_counter()
    draft, base = draft_of(posted)
    text = str(posted.get("text", "")).strip()
    if not text:
        return {"html": ""}
    collections = collections_of(posted)
    configured = configuration.current()
    active = configured.profile()
    previewed = preview(
        text, active, draft,
        viewer=request.user, collections=collections, configured=configured,
    )  # fmt: skip
    golden = judging.find_query(text, collections, viewer=request.user)
    edited = gettext("Draft: %(profile)s") if base.is_draft else gettext("Draft of %(profile)s")
    if not base.is_draft and fingerprint(draft) == fingerprint(base.as_profile()):
        edited = "%(profile)s"  # nothing is changed, so there is no draft yet
    running = gettext("Active: %(profile)s")
    titles = (running % {"profile": f"{active.name} v{active.version}"}, edited % {"profile": base})
    html = render_to_string(
        "admin/tuning/workbench/rankings.html",
        {
            "columns": columns(previewed, titles, grades_of(golden, request.user)),
            "preview": previewed,
            "golden": golden,
            "may_judge": request.user.has_perm(JUDGE),
        },
        request,
    )
    milliseconds = (time.perf_counter() - started) * 1000
    return {
        "html": html,
        "class": previewed.draft.ranking.settled.classification.query_class.value,
        "changed": previewed.changed,
        "milliseconds": round(milliseconds, 1),
    }


@asking()
def measures_view(request: HttpRequest, posted: JsonAnswer) -> JsonAnswer:
    """The measures of the active profile and the draft on the golden set, from the pools."""
    started = time.perf_counter()
    draft, _ = draft_of(posted)
    comparison = compare(configuration.current().profile(), draft)
    changes = (*comparison.winners, *comparison.losers, *comparison.broken)
    visible = visible_goldens(changes, request.user)
    winners = [c for c in comparison.winners if c.golden.pk in visible]
    losers = [c for c in comparison.losers if c.golden.pk in visible]
    context = {
        "comparison": comparison,
        "winners": winners,
        "losers": losers,
        "broken": [c for c in comparison.broken if c.golden.pk in visible],
        "classes": [(CLASS_LABELS[c], *rest) for c, rest in comparison.by_class.items()],
        "milliseconds": (time.perf_counter() - started) * 1000,
    }
    building = [c.building for c in comparison.coverage if c.building is not None]
    return {
        "html": render_to_string("admin/tuning/workbench/measures.html", context, request),
        "summary": render_to_string("admin/tuning/workbench/draft_summary.html", context, request),
        "moved": [
            {
                "text": change.golden.text,
                "collections": ",".join(change.golden.collections),
                "by": round(change.difference, 3),
            }
            for change in (*winners, *losers)
        ],
        "complete": comparison.is_complete,
        "building": min(building, default=None),
    }


@require_GET
def queries_view(request: HttpRequest) -> HttpResponse:
    """The queries of a tab."""
    check(request)
    tab = request.GET.get("tab", "")
    context = {"queries": queries(tab, request.user), "tab": tab}
    return TemplateResponse(request, "admin/tuning/workbench/questions.html", context)


# --- the queries to choose -----------------------------------------------------------------

TABS = (("golden", _("Golden")), ("recent", _("Recent")), ("failing", _("Failing")))
LIMIT = 60
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
    opens: bool = False  # the workbench begins with it


def queries(tab: str, viewer: Viewer) -> list[Listed]:
    """The queries of a tab that `viewer` may read; none for an unknown tab."""
    listed = {"golden": _golden, "recent": _recent, "failing": _failing}.get(tab)
    return list(listed(viewer)) if listed else []


def _golden(viewer: Viewer) -> Iterator[Listed]:
    rows = list(GoldenQuery.objects.visible_to(viewer).filter(enabled=True).order_by("-pk")[:LIMIT])
    judgements = Judgement.objects.visible_to(viewer).filter(query__in=rows).order_by()
    judged = dict(judgements.values_list("query").annotate(Count("reference", distinct=True)))
    # The most grades to see, and rather a question than a name.
    opening = max(rows, key=lambda row: (judged.get(row.pk, 0), row.text.count(" ")), default=None)
    for row in rows:
        notes = [gettext("%(count)d judged") % {"count": judged.get(row.pk, 0)}]
        if row.must_be_first_id:
            notes.append(gettext("with a must-be-first document"))
        yield Listed(row.text, ", ".join(notes), tuple(row.collections), opens=row is opening)


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
        if len(seen) == LIMIT:
            break
    yield from seen.values()


def _failing(viewer: Viewer) -> Iterator[Listed]:
    """Golden queries that the active profile ranks badly, then search gaps."""
    if configuration.current().active is not None:
        yield from _low(viewer)
    for gap in summaries(viewer, limit=LIMIT):
        yield Listed(gap.query, ", ".join(gap.signs).lower(), heading=gettext("Search gaps"))


def _low(viewer: Viewer) -> Iterator[Listed]:
    weak = weakest(configuration.current().profile(), below=LOW)
    visible = visible_goldens(weak, viewer)
    for each in [each for each in weak if each.golden.pk in visible][:LIMIT]:
        notes = [] if each.value is None else [f"nDCG@10 {each.value:.2f}"]
        if each.first_missed:
            notes.insert(0, gettext("must-be-first document is not first"))
        yield Listed(
            each.golden.text, ", ".join(notes), each.golden.collections,
            heading=gettext("Golden queries that the active profile ranks badly"),
        )  # fmt: skip

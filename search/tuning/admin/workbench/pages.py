"""The workbench: adjust, preview, measure and judge; then save, verify live and publish.

One page, updated with HTML fragments in JSON. The draft's controls are a form that is sent with
each request, so nothing is stored before saving.
"""

from __future__ import annotations

import time
from datetime import timedelta

from django.contrib import admin
from django.contrib.admin.sites import AdminSite
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from common.admin import pages
from common.admin.charts import ACCENT, PLAIN, Chart, Series, points
from search.domain import Profile, QueryClass, Signal
from search.engine import configuration
from search.models import SearchProfile
from search.presentation.labels import CLASS_LABELS
from search.signals import registry
from search.tuning.admin.forms import WorkbenchForm
from search.tuning.admin.weights import class_rows
from search.tuning.admin.workbench import actions
from search.tuning.admin.workbench.columns import columns, grades_of
from search.tuning.admin.workbench.requests import (
    CHANGE,
    JUDGE,
    TABS,
    JsonAnswer,
    asking,
    check,
    collections_of,
    draft_of,
    queries,
)
from search.tuning.golden import judging
from search.tuning.models import EvaluationRun
from search.tuning.workbench import pools
from search.tuning.workbench.comparing import LEADING, compare, vector_curve, visible_goldens
from search.tuning.workbench.preview import preview

RECENT = timedelta(hours=1)  # a live run is shown after a reload within this time


def urls(site: AdminSite) -> list[URLPattern]:
    """URL patterns of these pages."""
    views: dict[str, tuple[pages.View, str]] = {
        "": (page, "search_workbench"),
        "preview/": (preview_view, "search_workbench_preview"),
        "measures/": (measures_view, "search_workbench_measures"),
        "curve/": (curve_view, "search_workbench_curve"),
        "queries/": (queries_view, "search_workbench_queries"),
        "pools/": (actions.pools_view, "search_workbench_pools"),
        "save/": (actions.save_view, "search_workbench_save"),
        "verify/": (actions.verify_view, "search_workbench_verify"),
        "run/<int:pk>/": (actions.run_view, "search_workbench_run"),
        "judge/": (actions.judge_view, "search_workbench_judge"),
    }
    return pages.urls(site, "search/workbench/", views)


# --- the page -----------------------------------------------------------------------------


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """Show the workbench for the chosen profile, the newest draft, or the active profile."""
    check(request)
    chosen = _chosen(request)
    form = WorkbenchForm(instance=chosen) if chosen else None
    rows = SearchProfile.objects.order_by("state", "name", "-version")
    context = {
        **admin.site.each_context(request),
        "title": gettext("Workbench"),
        "profile": chosen,
        "profiles": [row for row in rows if row.is_draft or _is_active(row)],
        "form": form,
        "class_rows": list(class_rows(form)) if form else [],
        "groups": form.groups() if form else [],
        "lean": form.lean() if form else None,
        "signals": [(each.signal.value, each.label, each.advice) for each in registry.by_weight()],
        "tabs": TABS,
        "text": request.GET.get("q", ""),
        "collections": request.GET.getlist("collection"),
        "live_run": _live_run(chosen) if chosen else None,
        "has_change_permission": request.user.has_perm(CHANGE),
        "may_judge": request.user.has_perm(JUDGE),
        "add": True,  # weights are inputs even without permission to save
    }
    return TemplateResponse(request, "admin/tuning/workbench/page.html", context)


def _is_active(row: SearchProfile) -> bool:
    return row.state == SearchProfile.State.ACTIVE


def _chosen(request: HttpRequest) -> SearchProfile | None:
    number = request.GET.get("profile", "")
    if number.isdecimal():
        return get_object_or_404(SearchProfile, pk=int(number))
    drafts = SearchProfile.objects.filter(state=SearchProfile.State.DRAFT)
    active = SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).first()
    return drafts.order_by("-created").first() or active


def _live_run(profile: SearchProfile) -> int | None:
    """The profile's newest run over the golden set, if it is open or within RECENT."""
    runs = EvaluationRun.objects.filter(profile=profile, kind=EvaluationRun.Kind.GOLDEN)
    newest = runs.order_by("-pk").values_list("pk", "state", "created").first()
    if newest is None:
        return None
    pk, state, created = newest
    is_open = state in (EvaluationRun.State.QUEUED, EvaluationRun.State.RUNNING)
    return pk if is_open or timezone.now() - created < RECENT else None


# --- requests of a slider -----------------------------------------------------------------


@asking()
def preview_view(request: HttpRequest, posted: JsonAnswer) -> JsonAnswer:
    """Both rankings of one query. Needs no search if the candidate set is cached."""
    started = time.perf_counter()
    draft, base = draft_of(posted)
    text = str(posted.get("text", "")).strip()
    if not text:
        return {"html": "", "text": ""}
    collections = collections_of(posted)
    configured = configuration.current()
    active = configured.profile()
    shown = preview(
        text, active, draft,
        viewer=request.user, collections=collections, configured=configured,
    )  # fmt: skip
    golden = judging.find_query(text, collections, viewer=request.user)
    edited = gettext("Draft: %(profile)s") if base.is_draft else gettext("Draft of %(profile)s")
    running = gettext("Active: %(name)s v%(version)s")
    titles = (
        running % {"name": active.name, "version": active.version},
        edited % {"profile": base},
    )
    both = columns(shown, titles, grades_of(golden, request.user))
    html = render_to_string(
        "admin/tuning/workbench/rankings.html",
        {
            "columns": both,
            "preview": shown,
            "golden": golden,
            "may_judge": request.user.has_perm(JUDGE),
        },
        request,
    )
    milliseconds = (time.perf_counter() - started) * 1000
    return {
        "html": html,
        "class": both[1].class_value,
        "changed": shown.changed,
        "milliseconds": round(milliseconds, 1),
    }


@asking()
def measures_view(request: HttpRequest, posted: JsonAnswer) -> JsonAnswer:
    """The measures of the active profile and the draft on the golden set, from the pools."""
    started = time.perf_counter()
    draft, _ = draft_of(posted)
    active = configuration.current().profile()
    comparison = compare(active, draft)
    named = (*comparison.winners, *comparison.losers, *comparison.broken)
    visible = visible_goldens(named, request.user)
    winners = [c for c in comparison.winners if c.golden.pk in visible]
    losers = [c for c in comparison.losers if c.golden.pk in visible]
    context = {
        "found": comparison,
        "winners": winners,
        "losers": losers,
        "broken": [c for c in comparison.broken if c.golden.pk in visible],
        "classes": [(CLASS_LABELS[c], *rest) for c, rest in comparison.by_class.items()],
        "milliseconds": (time.perf_counter() - started) * 1000,
    }
    html = render_to_string("admin/tuning/workbench/measures.html", context, request)
    summary = render_to_string("admin/tuning/workbench/summary.html", context, request)
    building = [c.building for c in comparison.coverage if c.building is not None]
    return {
        "html": html,
        "summary": summary,
        "moved": [
            {
                "text": change.golden.text,
                "collections": ",".join(change.golden.collections),
                "by": round(change.difference, 3),
            }
            for change in (*winners, *losers)
        ],
        "complete": comparison.is_complete,
        "building": min(building) if building else None,
        "milliseconds": round((time.perf_counter() - started) * 1000, 1),
    }


@asking()
def curve_view(request: HttpRequest, posted: JsonAnswer) -> JsonAnswer:
    """The chart of the leading measure by the weight of meaning, for one class."""
    draft, _ = draft_of(posted)
    active = configuration.current().profile()
    try:
        query_class = QueryClass(str(posted.get("class", QueryClass.GENERAL.value)))
    except ValueError:
        query_class = QueryClass.GENERAL
    context = {
        "curve": weight_curve(active, draft, query_class),
        "query_class": CLASS_LABELS[query_class],
    }
    return {"html": render_to_string("admin/tuning/workbench/charts.html", context, request)}


def weight_curve(active: Profile, draft: Profile, query_class: QueryClass) -> Chart | None:
    """The chart with both profiles marked; None without golden queries of the class."""
    curve = vector_curve(draft, query_class, pools.pooled(draft))
    if not curve:
        return None
    values = [value for _, value in curve]
    best, most = max(curve, key=lambda point: point[1])
    # Never so narrow that noise looks steep.
    pad = max((max(values) - min(values)) * 0.1, 0.01)
    low, high = max(0.0, min(values) - pad), min(1.0, max(values) + pad)
    marks = []
    for name, colour, profile in (
        (gettext("Active"), PLAIN, active), (gettext("Draft"), ACCENT, draft),
    ):  # fmt: skip
        share = profile.weights[query_class].of(Signal.VECTOR)
        places = points([(share, low), (share, high)])
        marks.append(Series(f"{name} {share:.0%}", places, colour, is_dashed=True))
    return Chart(
        gettext("%(measure)s by the weight of meaning") % {"measure": LEADING},
        (Series(gettext("Draft, other weights in proportion"), points(curve)), *marks),
        gettext(
            "%(measure)s from %(without).3f without meaning to %(alone).3f with meaning only; "
            "highest at %(best)s: %(most).3f."
        )
        % {
            "measure": LEADING,
            "without": values[0],
            "alone": values[-1],
            "best": f"{best:.0%}",
            "most": most,
        },
        (gettext("Weight of meaning"), LEADING),
        tuple((f"{share:.0%}", f"{value:.4f}") for share, value in curve),
        x_title=gettext("Weight of meaning"),
        y_axis={"min": low, "max": high},
    )


@require_GET
def queries_view(request: HttpRequest) -> HttpResponse:
    """The queries of a tab."""
    check(request)
    tab = request.GET.get("tab", "")
    context = {"queries": queries(tab, request.user), "tab": tab}
    return TemplateResponse(request, "admin/tuning/workbench/queries.html", context)

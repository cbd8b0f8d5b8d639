"""The pages of weight optimisation: start, follow, read the result, create a draft."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.sites import AdminSite
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_GET, require_POST

from common.admin import pages
from common.admin.pages import actor
from search.errors import SearchError
from search.models import SearchProfile
from search.tuning.admin.optimisation_parts import OptimisationForm, result
from search.tuning.admin.workbench.requests import CHANGE, check
from search.tuning.golden import from_clicks, synthetic
from search.tuning.models import GoldenQuery, Optimisation
from search.tuning.optimiser import optimisations
from search.tuning.optimiser.optimisations import PRESETS, WEIGHTS, Options

LISTED = 20
SYNTHETIC, REMOVE = "tuning.add_goldenquery", "tuning.delete_goldenquery"
CLICKS = ("tuning.add_judgement", "analytics.view_searchevent")


def urls(site: AdminSite) -> list[URLPattern]:
    """URL patterns of these pages."""
    views: dict[str, tuple[pages.View, str]] = {
        "": (page, "search_optimisations"),
        "synthetic/": (synthetic_view, "search_optimisations_synthetic"),
        "clicks/": (clicks_view, "search_optimisations_clicks"),
        "<int:pk>/": (result_view, "search_optimisation"),
        "<int:pk>/cancel/": (cancel_view, "search_optimisation_cancel"),
        "<int:pk>/draft/": (draft_view, "search_optimisation_draft"),
    }
    return pages.urls(site, "search/optimisations/", views)


# --- the list and the form ------------------------------------------------------------------------


def page(request: HttpRequest) -> HttpResponse:
    """Show the form and the latest optimisations; a POST starts one."""
    check(request)
    if request.method == "POST":
        return _start(request)
    return _page(request, OptimisationForm(initial=_initial(request)))


def _page(request: HttpRequest, form: OptimisationForm) -> HttpResponse:
    rows = Optimisation.objects.select_related("profile", "draft", "user")[:LISTED]
    context = {"rows": rows, "live": any(row.is_open for row in rows)}
    if "fragment" in request.GET:
        return TemplateResponse(request, "admin/tuning/optimisation/rows.html", context)
    counted = GoldenQuery.objects.filter(enabled=True).values_list("origin").order_by()
    counts = dict(counted.annotate(count=Count("pk")))
    origins = [(label, counts.get(value, 0)) for value, label in GoldenQuery.Origin.choices]
    context |= {
        **admin.site.each_context(request),
        "title": gettext("Find better weights"),
        "form": form,
        "origins": origins,
        "judged": sum(counts.values()),
        "synthetic": counts.get(GoldenQuery.Origin.SYNTHETIC, 0),
        "may_start": request.user.has_perm(CHANGE),
        "may_make": request.user.has_perm(SYNTHETIC),
        "may_remove": request.user.has_perm(REMOVE),
        "may_learn": request.user.has_perms(CLICKS),
        "count": synthetic.COUNT,
        "most": synthetic.MAX_COUNT,
        "kinds": (WEIGHTS, PRESETS),
    }
    return TemplateResponse(request, "admin/tuning/optimisation/page.html", context)


def _start(request: HttpRequest) -> HttpResponse:
    check(request, CHANGE)
    form = OptimisationForm(request.POST)
    if not form.is_valid():
        return _page(request, form)
    kind = PRESETS if request.POST.get("kind") == PRESETS else WEIGHTS
    try:
        options = Options.from_json({**form.options.as_json(), "kind": kind})
        row = optimisations.start(form.cleaned_data["profile"], options, acting_user=actor(request))
    except SearchError as error:
        form.add_error(None, str(error))
        return _page(request, form)
    return redirect("admin:search_optimisation", row.pk)


def _initial(request: HttpRequest) -> dict[str, Any]:
    number = request.GET.get("profile", "")
    if number.isdecimal():
        return {"profile": int(number)}
    active = SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).first()
    return {"profile": active.pk if active else None}


# --- one optimisation -----------------------------------------------------------------------------


@require_GET
def result_view(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the progress or the result of an optimisation."""
    check(request)
    rows = Optimisation.objects.select_related("profile", "draft", "user")
    row = get_object_or_404(rows, pk=pk)
    context = {
        "row": row,
        "live": row.is_open,
        "percent": round(100 * row.progress),
        "shown": result(row),
        "may_change": request.user.has_perm(CHANGE),
    }
    if "fragment" in request.GET:
        return TemplateResponse(request, "admin/tuning/optimisation/state.html", context)
    title = (
        gettext("Shipped profiles")
        if row.options.get("kind") == PRESETS
        else gettext("Better weights")
    )
    context |= {
        **admin.site.each_context(request),
        "title": f"{title}: {row.profile}",
    }
    return TemplateResponse(request, "admin/tuning/optimisation/result.html", context)


@require_POST
def cancel_view(request: HttpRequest, pk: int) -> HttpResponse:
    check(request, CHANGE)
    row = get_object_or_404(Optimisation, pk=pk)
    try:
        optimisations.cancel(row, acting_user=actor(request))
        messages.success(request, gettext("The optimisation has been cancelled."))
    except SearchError as error:
        messages.warning(request, str(error))
    return redirect("admin:search_optimisation", pk)


@require_POST
def draft_view(request: HttpRequest, pk: int) -> HttpResponse:
    """Create a draft from the result, and open it in the workbench."""
    check(request, CHANGE)
    row = get_object_or_404(Optimisation, pk=pk)
    given = request.POST.get("preset", "")
    preset = get_object_or_404(SearchProfile, pk=int(given)) if given.isdecimal() else None
    try:
        draft = optimisations.make_draft(row, acting_user=actor(request), preset=preset)
    except SearchError as error:
        messages.warning(request, str(error))
        return redirect("admin:search_optimisation", pk)
    messages.success(
        request,
        gettext("The draft %(draft)s was created. Review it here before you publish it.")
        % {"draft": draft},
    )
    response = redirect("admin:search_workbench")
    response["Location"] += f"?profile={draft.pk}"
    return response


# --- generated judgements -------------------------------------------------------------------------


@require_POST
def synthetic_view(request: HttpRequest) -> HttpResponse:
    """Generate synthetic golden queries, or remove all of them."""
    removing = "remove" in request.POST
    check(request, REMOVE if removing else SYNTHETIC)
    count, seed = request.POST.get("count", ""), request.POST.get("seed", "")
    try:
        if removing:
            removed = synthetic.remove(acting_user=actor(request))
            message = ngettext(
                "%(count)d synthetic query removed.",
                "%(count)d synthetic queries removed.",
                removed,
            ) % {"count": removed}
        else:
            outcome = synthetic.make(
                int(count) if count.isdecimal() else synthetic.COUNT,
                seed=int(seed) if seed.isdecimal() else 1,
                acting_user=actor(request),
            )
            message = ngettext(
                "%(count)d synthetic query created; %(already)d existed already.",
                "%(count)d synthetic queries created; %(already)d existed already.",
                outcome.queries,
            ) % {"count": outcome.queries, "already": outcome.already}
        messages.success(request, message)
    except SearchError as error:
        messages.warning(request, str(error))
    return redirect("admin:search_optimisations")


@require_POST
def clicks_view(request: HttpRequest) -> HttpResponse:
    """Derive judgements from clicks and ratings, or remove all of these."""
    check(request, *CLICKS)
    if "take_back" in request.POST:
        removed = from_clicks.take_back()
        message = ngettext(
            "%(count)d judgement of searchers removed.",
            "%(count)d judgements of searchers removed.",
            removed,
        ) % {"count": removed}
    else:
        judged = from_clicks.learn(acting_user=actor(request))
        message = ngettext(
            "%(count)d document judged from clicks and ratings.",
            "%(count)d documents judged from clicks and ratings.",
            judged,
        ) % {"count": judged}
    messages.success(request, message)
    return redirect("admin:search_optimisations")

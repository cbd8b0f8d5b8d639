"""W1: "Find better weights": ask for them, watch, read the verdict, make a draft of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.sites import AdminSite
from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_GET, require_POST
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldBooleanWidget,
)

from search.admin.optimisations_shown import result
from search.admin.workbench_requests import CHANGE, may_view
from search.errors import SearchError
from search.models import GoldenQuery, Optimisation, SearchProfile
from search.templatetags.weighing import CLASS_LABELS, SIGNAL_LABELS
from search.templatetags.workbench import measure_label
from search.tuning import optimisations, synthetic
from search.tuning.optimisations import MAX_FOLDS, MEASURES, PRESETS, WEIGHTS, Options
from search.tuning.optimise import FOLDS
from search.watching import learning

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LISTED = 20
SYNTHETIC, REMOVE = "search.add_goldenquery", "search.delete_goldenquery"
CLICKS = ("search.add_judgement", "search.view_searchevent")
View = Callable[..., HttpResponse]


class FindForm(forms.Form):
    """What to look for. What is left as it is asks for the usual."""

    profile = forms.ModelChoiceField(
        SearchProfile.objects.none(),
        widget=UnfoldAdminSelectWidget,
        help_text="The search begins with its weights; its other settings stay.",
    )
    measure = forms.ChoiceField(
        choices=[(name, measure_label(name)) for name in MEASURES],
        initial=MEASURES[0],
        widget=UnfoldAdminSelectWidget,
        help_text="What is to rise, on the mean of the golden queries.",
    )
    classes = forms.MultipleChoiceField(
        label="Classes of questions",
        required=False,
        choices=[(each.value, label) for each, label in CLASS_LABELS.items()],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="None ticked: all that have questions enough. The others keep their weights.",
    )
    signals = forms.MultipleChoiceField(
        required=False,
        choices=[(each.value, label) for each, label in SIGNAL_LABELS.items()],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="Which may have a share. None ticked: meaning, keywords, title, and what the "
        "profile gives one.",
    )
    origins = forms.MultipleChoiceField(
        label="Whose judgements",
        required=False,
        choices=GoldenQuery.Origin.choices,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="None ticked: people's and imported ones; synthetic ones only where there are "
        "no others.",
    )
    normalisers = forms.BooleanField(
        label="Scales as well",
        required=False,
        initial=True,
        widget=UnfoldBooleanWidget,
        help_text="Tries other ways of bringing the signals on one scale, too.",
    )
    folds = forms.IntegerField(
        min_value=2,
        max_value=MAX_FOLDS,
        initial=FOLDS,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="The questions are dealt into so many parts; each is measured under weights "
        "that the others chose.",
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**31 - 1,
        initial=1,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="Deals the questions. The same one comes to the same result.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = SearchProfile.objects.order_by("state", "name", "-version")
        self.fields["profile"].queryset = rows  # type: ignore[attr-defined]

    @property
    def options(self) -> Options:
        """What was asked for. Raises OptimisationError."""
        given = {name: each for name, each in self.cleaned_data.items() if name != "profile"}
        return Options.from_json(given)


def install(site: AdminSite) -> None:
    """Puts the pages among the site's, as `admin:search_optimisations` and so on."""
    inherited = site.get_urls
    site.get_urls = lambda: [*_urls(site), *inherited()]  # type: ignore[method-assign]


def _urls(site: AdminSite) -> list[URLPattern]:
    pages: dict[str, tuple[str, View]] = {
        "": ("s", page),
        "synthetic/": ("s_synthetic", synthetic_view),
        "clicks/": ("s_clicks", clicks_view),
        "<int:pk>/": ("", result_view),
        "<int:pk>/cancel/": ("_cancel", cancel_view),
        "<int:pk>/draft/": ("_draft", draft_view),
    }
    return [
        path(f"search/optimisations/{at}", site.admin_view(view), name=f"search_optimisation{name}")
        for at, (name, view) in pages.items()
    ]


# --- the list, and asking for one -----------------------------------------------------------------


def page(request: HttpRequest) -> HttpResponse:
    """The form and the latest runs; a POST asks for one."""
    _check(request)
    if request.method == "POST":
        return _start(request)
    return _page(request, FindForm(initial=_initial(request)))


def _page(request: HttpRequest, form: FindForm) -> HttpResponse:
    rows = Optimisation.objects.select_related("profile", "draft", "user")[:LISTED]
    context = {"rows": rows, "live": any(row.state in optimisations.OPEN for row in rows)}
    if "fragment" in request.GET:
        return TemplateResponse(request, "admin/search/optimisation/rows.html", context)
    counted = GoldenQuery.objects.filter(enabled=True).values_list("origin").order_by()
    counts = dict(counted.annotate(count=Count("pk")))
    origins = [(label, counts.get(value, 0)) for value, label in GoldenQuery.Origin.choices]
    context |= {
        **admin.site.each_context(request),
        "title": "Find better weights",
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
    return TemplateResponse(request, "admin/search/optimisation/page.html", context)


def _start(request: HttpRequest) -> HttpResponse:
    _check(request, CHANGE)
    form = FindForm(request.POST)
    if not form.is_valid():
        return _page(request, form)
    kind = PRESETS if request.POST.get("kind") == PRESETS else WEIGHTS
    try:
        asked = Options.from_json({**form.options.as_json(), "kind": kind})
        row = optimisations.start(form.cleaned_data["profile"], asked, acting_user=_actor(request))
    except SearchError as error:
        form.add_error(None, str(error))
        return _page(request, form)
    return redirect("admin:search_optimisation", row.pk)


def _initial(request: HttpRequest) -> dict[str, Any]:
    asked = request.GET.get("profile", "")
    if asked.isdecimal():
        return {"profile": int(asked)}
    active = SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).first()
    return {"profile": active.pk if active else None}


# --- one of them ----------------------------------------------------------------------------------


@require_GET
def result_view(request: HttpRequest, pk: int) -> HttpResponse:
    """How far it is, or what was found."""
    _check(request)
    rows = Optimisation.objects.select_related("profile", "draft", "user")
    row = get_object_or_404(rows, pk=pk)
    context = {
        "row": row,
        "live": row.state in optimisations.OPEN,
        "percent": round(100 * row.progress),
        "shown": result(row),
        "may_change": request.user.has_perm(CHANGE),
    }
    if "fragment" in request.GET:
        return TemplateResponse(request, "admin/search/optimisation/state.html", context)
    title = "Shipped profiles" if row.options.get("kind") == PRESETS else "Better weights"
    context |= {**admin.site.each_context(request), "title": f"{title}: {row.profile}"}
    return TemplateResponse(request, "admin/search/optimisation/result.html", context)


@require_POST
def cancel_view(request: HttpRequest, pk: int) -> HttpResponse:
    def act(row: Optimisation) -> str:
        optimisations.cancel(row, acting_user=_actor(request))
        return "The search for better weights is cancelled."

    return _act(request, pk, act)


@require_POST
def draft_view(request: HttpRequest, pk: int) -> HttpResponse:
    """Makes the draft, and opens it in the workbench."""
    _check(request, CHANGE)
    row = get_object_or_404(Optimisation, pk=pk)
    given = request.POST.get("preset", "")
    preset = get_object_or_404(SearchProfile, pk=int(given)) if given.isdecimal() else None
    try:
        draft = optimisations.make_draft(row, acting_user=_actor(request), preset=preset)
    except SearchError as error:
        messages.warning(request, str(error))
        return redirect("admin:search_optimisation", pk)
    messages.success(request, f"{draft} is a draft: look at it here before you publish it.")
    response = redirect("admin:search_workbench")
    response["Location"] += f"?profile={draft.pk}"
    return response


def _act(request: HttpRequest, pk: int, act: Callable[[Optimisation], str]) -> HttpResponse:
    _check(request, CHANGE)
    row = get_object_or_404(Optimisation, pk=pk)
    try:
        messages.success(request, act(row))
    except SearchError as error:
        messages.warning(request, str(error))
    return redirect("admin:search_optimisation", pk)


# --- judgements to start with ---------------------------------------------------------------------


@require_POST
def synthetic_view(request: HttpRequest) -> HttpResponse:
    """Makes synthetic golden queries, or removes all of them."""
    removing = "remove" in request.POST
    _check(request, REMOVE if removing else SYNTHETIC)
    count, seed = request.POST.get("count", ""), request.POST.get("seed", "")
    try:
        if removing:
            told = f"{synthetic.remove(acting_user=_actor(request))} synthetic queries removed."
        else:
            made = synthetic.make(
                int(count) if count.isdecimal() else synthetic.COUNT,
                seed=int(seed) if seed.isdecimal() else 1,
                acting_user=_actor(request),
            )
            told = f"{made.queries} synthetic queries made; {made.already} were there already."
        messages.success(request, told)
    except SearchError as error:
        messages.warning(request, str(error))
    return redirect("admin:search_optimisations")


@require_POST
def clicks_view(request: HttpRequest) -> HttpResponse:
    """Makes judgements of what searchers did, or takes all of these back."""
    _check(request, *CLICKS)
    if "take_back" in request.POST:
        told = f"{learning.take_back()} judgements of searchers taken back."
    else:
        judged = learning.learn(acting_user=_actor(request))
        told = f"{judged} documents are judged by what searchers did."
    messages.success(request, told)
    return redirect("admin:search_optimisations")


def _check(request: HttpRequest, *permissions: str) -> None:
    if not may_view(request.user) or not request.user.has_perms(permissions):
        raise PermissionDenied


def _actor(request: HttpRequest) -> User:
    return cast("User", request.user)

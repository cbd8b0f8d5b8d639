"""The admin site: unfold's, with the pages that belong to no model."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.sites import AdminSite
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext, gettext_lazy
from django.views import defaults
from unfold.sites import UnfoldAdminSite

from common.accounts import tokens
from common.accounts.models import User
from common.accounts.second_factor import lacks_factor
from common.admin import mixins
from ingestion import collections
from ingestion.models import Collection


class SteelyardAdminSite(UnfoldAdminSite):  # type: ignore[misc]
    """The site behind `admin.site`; `kbsite.apps.AdminConfig` names it."""

    index_title = gettext_lazy("Overview")

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(super().has_permission(request)) and not lacks_factor(request)

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The sign-in page of the site, with a message for accounts without access to the admin."""
        index = reverse("admin:index")
        if request.method == "GET" and self.has_permission(request):
            return redirect(index)
        if lacks_factor(request):
            return redirect("mfa_index")
        return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME) or index)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """All models by application, built only when a template reads it: most pages do not.

        Django makes it for every page; it took a twelfth of one.
        """
        return SimpleLazyObject(partial(super().get_app_list, request, app_label))

    def search(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Pages of the menu by words; without the parameter, the overview of “search”.

        Unfold's search has the same address as Django's overview of the application “search”.
        """
        if "s" not in request.GET:
            return cast("HttpResponse", self.app_index(request, "search"))
        return cast("HttpResponse", super().search(request, extra_context))

    def _search_apps(self, app_list: Any, search_term: str) -> list[Any]:
        """Nothing: the menu has other names for lists than their models (`menu.matches`)."""
        return []

    def get_urls(self) -> list[URLPattern | URLResolver]:
        # Not at the top of the module: the admin modules register their models with this site.
        from search.tuning.admin import workbench_pages as workbench

        return [
            *who_sees(self),
            *workbench.urls(self),
            *super().get_urls(),
        ]


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The site's page for addresses without one; below the admin, for staff, in its frame."""
    below = request.path.startswith(reverse("admin:index"))
    # A read-only site refuses before it reads who asks.
    if not (below and hasattr(request, "user") and admin.site.has_permission(request)):
        return defaults.page_not_found(request, exception)
    frame = {**admin.site.each_context(request), "title": gettext("Page not found")}
    return TemplateResponse(request, "admin/404.html", frame, status=404)


def who_sees(site: AdminSite) -> list[URLPattern]:
    """URL patterns of the pages for superusers on what a person sees."""
    views: dict[str, tuple[mixins.View, str]] = {
        "": (find, "who_sees"),
        "people/<int:pk>/": (person, "who_sees_person"),
    }
    return mixins.urls(site, "who-sees/", views)


def find(request: HttpRequest) -> HttpResponse:
    """A form for a user name; it redirects to that person's page."""
    _check(request)
    text = request.GET.get("q", "").replace("\0", "").strip()  # Postgres takes no null characters
    problem = ""
    if text:
        if user := User.objects.filter(username=text).first():
            return redirect("admin:who_sees_person", user.pk)
        problem = gettext("No user has this name.")
    context = {"text": text, "problem": problem}
    return _page(request, "find.html", gettext("Who sees what"), context)


def person(request: HttpRequest, pk: int) -> HttpResponse:
    """The collections that a person may read and why, and those that they may not."""
    _check(request)
    user = get_object_or_404(User, pk=pk)
    sights = collections.seen_by(user)
    names = dict(Collection.objects.values_list("pk", "name"))
    limited = [
        (row.grant, sorted(names.get(one, "?") for one in row.grant.collections))
        for row in tokens.alive(user)
        if getattr(row, "grant", None) and row.grant.collections is not None
    ]
    context = {
        "person": user,
        "seen": [sight for sight in sights if sight.reasons],
        "unseen": [sight for sight in sights if not sight.reasons],
        "tokens": limited,
    }
    title = gettext("What %(name)s sees") % {"name": user}
    return _page(request, "person.html", title, context)


def _check(request: HttpRequest) -> None:
    # The pages name groups and collections that staff may not see.
    if not request.user.is_superuser:
        raise PermissionDenied


def _page(
    request: HttpRequest, template: str, title: str, context: dict[str, Any]
) -> TemplateResponse:
    frame = {**admin.site.each_context(request), "title": title}
    return TemplateResponse(request, f"admin/who_sees/{template}", {**frame, **context})

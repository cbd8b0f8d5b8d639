"""The root URL configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NoReturn

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, include, path

from common.api.requests import Rank, states
from kbsite.operations.monitoring.endpoint import metrics
from kbsite.operations.probes.health import health
from kbsite.sign_in import urls as sign_in
from kbsite.sign_in.views import SignIn
from search.api.urls import compatible

handler500 = "kbsite.serving.outages.server_error"


def not_found(request: HttpRequest, **arguments: str) -> NoReturn:
    raise Http404


def staffs(patterns: Sequence[URLPattern | URLResolver]) -> list[URLPattern | URLResolver]:
    """The patterns, whose views have the rank of signing in and administration."""
    for each in patterns:
        if isinstance(each, URLPattern):
            each.callback = _staffs(each.callback)
        else:
            staffs(each.url_patterns)
    return [*patterns]


def _staffs(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    @states(rank=Rank.STAFF)
    @wraps(view)
    def ranked(*args: Any, **kwargs: Any) -> HttpResponseBase:
        return view(*args, **kwargs)

    return ranked


urlpatterns = [
    # Django's redirect from a row to its page would reveal to all staff which rows exist.
    path("admin/r/<path:rest>", not_found),
    path("admin/", (staffs(admin.site.urls[0]), *admin.site.urls[1:])),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("", include(staffs(sign_in.urlpatterns))),
    path("health/", health.view, name="health"),
    path("metrics", metrics.view, name="metrics"),
    path("api/", include("search.api.urls")),
    path("v1/", include((compatible, "compatible"))),
    path("", include("search.urls")),
]

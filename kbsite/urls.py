"""The root URL configuration."""

from __future__ import annotations

from typing import NoReturn

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.http import Http404, HttpRequest
from django.urls import include, path

from kbsite.operations.monitoring.endpoint import metrics
from kbsite.operations.probes.health import health
from kbsite.sign_in.views import SignIn

handler500 = "kbsite.serving.outages.server_error"


def not_found(request: HttpRequest, **arguments: str) -> NoReturn:
    raise Http404


urlpatterns = [
    # Django's redirect from a row to its page would reveal to all staff which rows exist.
    path("admin/r/<path:rest>", not_found),
    path("admin/", admin.site.urls),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("", include("kbsite.sign_in.urls")),
    path("health/", health.view, name="health"),
    path("metrics", metrics.view, name="metrics"),
    path("api/", include("search.api.urls")),
    path("v1/", include("search.api.compatible.urls")),
    path("", include("search.urls")),
]

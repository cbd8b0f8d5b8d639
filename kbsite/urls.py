"""The root URL configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NoReturn

from allauth.account import views as account
from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, include, path

from common.api.requests import Rank, states
from kbsite import oauth
from kbsite.operations.endpoints import health, metrics
from kbsite.sign_in import SignIn, callback, login
from search.api.urls import compatible

handler500 = "kbsite.serving.outage.server_error"


def not_found(request: HttpRequest, **arguments: str) -> NoReturn:
    """Answer 404 at a package's address that this site does not offer."""
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


# Of allauth's addresses those for signing up, e-mail addresses and lost passwords are left out:
# accounts are made by administrators and by the sign-on.
sign_in_patterns = [
    # allauth asks for these names.
    path("login/", SignIn.as_view(), name="account_login"),
    path("logout/", LogoutView.as_view(), name="account_logout"),
    path("accounts/inactive/", account.account_inactive, name="account_inactive"),
    path("accounts/sign-up/", account.signup, name="account_signup"),
    path("accounts/reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("accounts/password/", account.password_change, name="account_change_password"),
    # A local password would outlive the provider's account.
    path("accounts/password/set/", not_found, name="account_set_password"),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("accounts/sign-on/", include("allauth.socialaccount.urls")),
    path("accounts/oidc/<slug:provider_id>/login/", login, name="openid_connect_login"),
    path(
        "accounts/oidc/<slug:provider_id>/login/callback/", callback, name="openid_connect_callback"
    ),
]


urlpatterns = [
    # Django's redirect from a row to its page would reveal to all staff which rows exist.
    path("admin/r/<path:rest>", not_found),
    path("admin/", (staffs(admin.site.urls[0]), *admin.site.urls[1:])),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("", include(staffs(sign_in_patterns))),
    path("health/", health.view, name="health"),
    path("metrics", metrics.view, name="metrics"),
    *oauth.patterns,
    path("api/", include("search.api.urls")),
    path("v1/", include((compatible, "compatible"))),
    path("", include("search.urls")),
]

handler404 = "kbsite.admin_site.page_not_found"

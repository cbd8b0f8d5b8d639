"""The addresses of signing in besides /login/ and /logout/: sign-on, second factors, passwords.

Of allauth's own addresses, those for signing up, for e-mail addresses and for lost passwords are
left out: accounts are made by administrators and by the sign-on.
"""

from __future__ import annotations

from typing import NoReturn

from allauth.account import views as account
from django.contrib.auth.views import LogoutView
from django.http import Http404, HttpRequest
from django.urls import include, path

from kbsite.sign_in import views


def no_password(request: HttpRequest) -> NoReturn:
    """Answer 404: a local password would outlive the provider's account."""
    raise Http404


urlpatterns = [
    # allauth asks for these names.
    path("login/", views.SignIn.as_view(), name="account_login"),
    path("logout/", LogoutView.as_view(), name="account_logout"),
    path("accounts/inactive/", account.account_inactive, name="account_inactive"),
    path("accounts/sign-up/", account.signup, name="account_signup"),
    path("accounts/reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("accounts/password/", account.password_change, name="account_change_password"),
    path("accounts/password/set/", no_password, name="account_set_password"),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("accounts/sign-on/", include("allauth.socialaccount.urls")),
    path("accounts/oidc/<slug:provider_id>/login/", views.login, name="openid_connect_login"),
    path(
        "accounts/oidc/<slug:provider_id>/login/callback/",
        views.callback,
        name="openid_connect_callback",
    ),
]

"""The addresses of signing in besides /login/ and /logout/: sign-on, second factors, passwords.

Of allauth's own addresses, those for signing up, for e-mail addresses and for lost passwords are
left out: accounts are made by administrators and by the sign-on.
"""

from __future__ import annotations

from typing import NoReturn

from allauth.account import views as account
from django.apps import apps
from django.contrib.auth.views import LogoutView
from django.http import Http404, HttpRequest
from django.urls import include, path

from kbsite.sign_in import oidc
from kbsite.sign_in.views import SignIn


def no_password(request: HttpRequest) -> NoReturn:
    """Nothing: whoever signs in with a provider gets no password that would outlive that."""
    raise Http404


saml = (
    [path("accounts/saml/", include("kbsite.sign_in.saml"))]
    if apps.is_installed("allauth.socialaccount.providers.saml")
    else []
)
urlpatterns = [
    # allauth asks for these names.
    path("login/", SignIn.as_view(), name="account_login"),
    path("logout/", LogoutView.as_view(), name="account_logout"),
    path("accounts/inactive/", account.account_inactive, name="account_inactive"),
    path("accounts/sign-up/", account.signup, name="account_signup"),
    path("accounts/reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("accounts/password/", account.password_change, name="account_change_password"),
    path("accounts/password/set/", no_password, name="account_set_password"),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("accounts/sign-on/", include("allauth.socialaccount.urls")),
    path("accounts/oidc/<slug:provider_id>/login/", oidc.login, name="openid_connect_login"),
    path(
        "accounts/oidc/<slug:provider_id>/login/callback/",
        oidc.callback,
        name="openid_connect_callback",
    ),
    *saml,
]

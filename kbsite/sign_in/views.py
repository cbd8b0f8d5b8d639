"""The sign-in page, and OpenID Connect with every ID token's signature verified."""

from __future__ import annotations

import logging
from typing import Any

import requests
from allauth.account.adapter import get_adapter as account_adapter
from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from allauth.socialaccount.adapter import get_adapter as sign_on_adapter
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse

from common.accounts import guard
from common.api.requests import Rank

logger = logging.getLogger(__name__)


class SignIn(LoginView):
    """The sign-in page: a password, then a second factor where there is one; or a provider.

    Without `next` it leads to where the person works.
    """

    template_name = "registration/login.html"
    rank = Rank.STAFF

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        # Not Django's login: allauth asks for the second factor first.
        user = form.get_user()
        response: HttpResponse = perform_password_login(
            self.request,
            {"username": user.get_username()},
            Login(user=user, redirect_url=self.get_redirect_url() or None),
        )
        guard.remember_device(response, user.get_username())
        return response

    def get_default_redirect_url(self) -> str:
        return str(account_adapter().get_login_redirect_url(self.request))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        providers = sign_on_adapter().list_providers(self.request)
        shown = [
            {"name": one.name, "address": one.get_login_url(self.request)} for one in providers
        ]
        return {**super().get_context_data(**kwargs), "providers": shown}


class VerifyingAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """allauth trusts TLS for tokens that it fetches itself. Behind a proxy that is not enough."""

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        decoded: dict[str, Any] = jwtkit.verify_and_decode(
            credential=id_token,
            keys_url=self.openid_config["jwks_uri"],
            issuer=self.openid_config["issuer"],
            audience=app.client_id,
            lookup_kid=jwtkit.lookup_kid_jwk,
        )
        return decoded

    def complete_login(
        self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any
    ) -> Any:
        login = super().complete_login(request, app, token, **kwargs)
        data = login.account.extra_data
        subjects = {part["sub"] for part in data.values() if isinstance(part, dict)}
        if "id_token" not in data or len(subjects) != 1:
            raise OAuth2Error("The ID token and the user info are not about the same person")
        return login


def login(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send the browser to the provider."""
    return _answer(OAuth2LoginView, request, provider_id)


def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Sign in whom the provider sent back."""
    return _answer(OAuth2CallbackView, request, provider_id)


def _answer(view: Any, request: HttpRequest, provider_id: str) -> HttpResponse:
    adapter = VerifyingAdapter(request, provider_id)
    try:
        response: HttpResponse = view.adapter_view(adapter)(request)
    except SocialApp.DoesNotExist:
        raise Http404 from None
    except (requests.RequestException, KeyError, ValueError) as error:
        # Of the provider's description, which allauth fetches outside its own handling of errors.
        logger.warning("The sign-on provider %s does not answer: %s", provider_id, error)
        response = render_authentication_error(request, adapter.get_provider(), exception=error)
    return response

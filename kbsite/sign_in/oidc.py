"""Signing in with OpenID Connect, stricter than allauth: every ID token's signature is verified."""

from __future__ import annotations

import logging
from typing import Any

import requests
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.http import Http404, HttpRequest, HttpResponse

logger = logging.getLogger(__name__)


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
        found: HttpResponse = view.adapter_view(adapter)(request)
    except SocialApp.DoesNotExist:
        raise Http404 from None
    except (requests.RequestException, KeyError, ValueError) as error:
        # Of the provider's description, which allauth fetches outside its own handling of errors.
        logger.warning("The sign-on provider %s does not answer: %s", provider_id, error)
        found = render_authentication_error(request, adapter.get_provider(), exception=error)
    return found

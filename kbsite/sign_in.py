"""Signing in over the web: the page, sign-on, the adapters for allauth, and refusals."""

from __future__ import annotations

import logging
from typing import Any

import requests
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.adapter import get_adapter as account_adapter
from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.adapter import get_adapter as sign_on_adapter
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from axes.helpers import get_cache_timeout
from axes.middleware import AxesMiddleware
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import SimpleTemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.accounts import claims, encryption, guard
from common.accounts.guard import address_of, network_of
from common.accounts.models import User
from common.accounts.quotas import QuotaExceeded
from common.api.errors import Problem
from common.api.requests import Rank
from kbsite.serving.refusals import refusal

logger = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Accounts are made by administrators; nobody signs up with a password."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        user = request.user
        works = user.is_authenticated and user.is_staff and bool(user.get_all_permissions())
        return reverse("admin:index" if works else settings.LOGIN_REDIRECT_URL)

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("search:me")

    def get_client_ip(self, request: HttpRequest) -> str:
        # allauth counts by it as well; `network_of` as for passwords.
        return network_of(address_of(request)) or "unknown"

    def add_message(self, request: HttpRequest, level: int, *args: Any, **kwargs: Any) -> None:
        """Only failures: readers' pages show no others, and the admin would much later."""
        if level >= messages.WARNING:
            super().add_message(request, level, *args, **kwargs)


class SignOnAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Accounts by sign-on: made only if SSO_SIGN_UP says so, their groups from claims."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        match settings.SSO_SIGN_UP:
            case "open":
                return True
            case "mapped":
                stated = claims.claims_of(sociallogin.account)
                return bool(claims.group_names(stated))
            case _:
                return False

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        self._refuse_without_groups(request, sociallogin)
        if sociallogin.account.pk:
            claims.confirmed(sociallogin)
        # One that is found by its address is connected, and confirmed then.
        elif not sociallogin.is_existing and sociallogin.state.get("process") != "connect":
            self._refuse_existing_address(request, sociallogin)

    def _refuse_without_groups(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Show a refusal if claims of groups are missing: so would collections, unexplained."""
        if missing := claims.left_out(claims.claims_of(sociallogin.account)):
            logger.warning(claims.LEFT_OUT, sociallogin.account.uid, ", ".join(missing))
            context = {"claims": missing}
            page = render(request, "socialaccount/groups_left_out.html", context, status=403)
            raise ImmediateHttpResponse(page)

    def _refuse_existing_address(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        address = User.objects.normalize_email(sociallogin.user.email)
        if address and User.objects.filter(email=address).exists():
            context = {"address": address}
            page = render(request, "socialaccount/address_taken.html", context, status=403)
            raise ImmediateHttpResponse(page)

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: Any) -> Any:
        user = super().populate_user(request, sociallogin, data)
        # Anybody may claim an address; mails with titles of documents go to it.
        proven = [one for one in sociallogin.email_addresses if one.verified]
        sociallogin.email_addresses = proven
        if not proven:
            user.email = None
        return user

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> Any:
        user = super().save_user(request, sociallogin, form)
        claims.confirmed(sociallogin)
        return user

    def list_apps(self, request: Any, provider: Any = None, client_id: Any = None) -> Any:
        """The apps of the settings: secrets of providers are not stored in the database."""
        from allauth.socialaccount.adapter import _build_apps_from_settings

        by_provider = _build_apps_from_settings(provider=provider, client_id=client_id)
        return [app for apps in by_provider.values() for app in apps]


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Secrets of one-time codes are enciphered in the database."""

    encrypt, decrypt = staticmethod(encryption.encipher), staticmethod(encryption.decipher)

    def build_totp_svg(self, url: str) -> str:
        """The QR code as part of a page: without the declaration of an XML file."""
        return str(super().build_totp_svg(url)).partition("?>")[2].strip()


class SignInForm(AuthenticationForm):
    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": _("The user name or password is wrong. (Capitals count.)"),
    }


class SignIn(LoginView):
    """The sign-in page: a password, then a second factor where there is one; or a provider.

    Without `next` it leads to where the person works.
    """

    template_name = "registration/login.html"
    authentication_form = SignInForm
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
        links = [
            {"name": one.name, "address": one.get_login_url(self.request)} for one in providers
        ]
        return {**super().get_context_data(**kwargs), "providers": links}


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
    """Sign in the person whom the provider sent back."""
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


class RefusalMiddleware(AxesMiddleware):  # type: ignore[misc]
    """Axes' middleware, which also answers requests that exceed a quota."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, QuotaExceeded):
            return refusal(
                request.path_info,
                status=429,
                code=error.code,
                heading=gettext("Daily limit reached"),
                sentence=str(error),
                retry_after=round(error.retry_after or 0),
            )
        return None


def locked(request: HttpRequest, *_: Any) -> HttpResponse:
    """The response during a lock; AXES_LOCKOUT_CALLABLE names it."""
    wait = get_cache_timeout(request)
    sentence = gettext(
        "Too many wrong passwords came from your network, or for this user name. Passwords are "
        "checked again in at most %(minutes)d minutes."
    ) % {"minutes": wait // 60}
    response: HttpResponse
    if request.path_info.startswith("/api/"):
        response = Problem("throttled", sentence, 429, wait_seconds=wait)
    else:
        context = {"sentence": sentence}
        response = SimpleTemplateResponse("registration/refused.html", context, status=429)
        response.render()
    response["Retry-After"] = str(wait)
    response["Cache-Control"] = "no-store"
    return response

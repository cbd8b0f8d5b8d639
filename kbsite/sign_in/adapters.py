"""What this site decides for allauth: who gets an account, which claims count, what is stored."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest
from django.shortcuts import render
from django.urls import reverse

from common.accounts import claims, sign_on
from common.accounts.models import User
from common.addresses import address_of, network_of

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
                return bool(claims.group_names(sign_on.claims_of(sociallogin.account)))
            case _:
                return False

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        self._refuse_without_groups(request, sociallogin)
        if sociallogin.account.pk:
            sign_on.confirmed(sociallogin)
        elif sociallogin.is_existing:
            pass  # found by its address: connected, and confirmed then
        elif sociallogin.state.get("process") != "connect":
            self._refuse_a_taken_address(request, sociallogin)

    def _refuse_without_groups(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Refuse in words: without the groups collections would be missing, and nobody knew why."""
        if missing := claims.left_out(sign_on.claims_of(sociallogin.account)):
            logger.warning(sign_on.LEFT_OUT, sociallogin.account.uid, ", ".join(missing))
            page = render(request, "socialaccount/groups_left_out.html", {"claims": missing})
            page.status_code = 403
            raise ImmediateHttpResponse(page)

    def _refuse_a_taken_address(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        address = User.objects.normalize_email(sociallogin.user.email)
        if address and User.objects.filter(email=address).exists():
            page = render(request, "socialaccount/address_taken.html", {"address": address})
            page.status_code = 403
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
        sign_on.confirmed(sociallogin)
        return user

    def list_apps(self, request: Any, provider: Any = None, client_id: Any = None) -> Any:
        """Those of the settings: the database holds no secret of a provider."""
        from allauth.socialaccount.adapter import _build_apps_from_settings

        found = _build_apps_from_settings(provider=provider, client_id=client_id)
        return [app for apps in found.values() for app in apps]


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Secrets of one-time codes are enciphered in the database."""

    def encrypt(self, text: str) -> str:
        return sign_on.encipher(text)

    def decrypt(self, encrypted_text: str) -> str:
        return sign_on.decipher(encrypted_text)

    def build_totp_svg(self, url: str) -> str:
        """The QR code as part of a page: without the declaration of an XML file."""
        return str(super().build_totp_svg(url)).partition("?>")[2].strip()

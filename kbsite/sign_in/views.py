"""The sign-in page."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import get_adapter as account_adapter
from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from allauth.socialaccount.adapter import get_adapter as sign_on_adapter
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpResponse


class SignIn(LoginView):
    """The sign-in page: a password, then a second factor where there is one; or a provider.

    Without `next` it leads to where the person works.
    """

    template_name = "registration/login.html"

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        # Not Django's login: allauth asks for the second factor first.
        user = form.get_user()
        found: HttpResponse = perform_password_login(
            self.request,
            {"username": user.get_username()},
            Login(user=user, redirect_url=self.get_redirect_url() or None),
        )
        return found

    def get_default_redirect_url(self) -> str:
        return str(account_adapter().get_login_redirect_url(self.request))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        providers = sign_on_adapter().list_providers(self.request)
        shown = [
            {"name": one.name, "address": one.get_login_url(self.request)} for one in providers
        ]
        return {**super().get_context_data(**kwargs), "providers": shown}

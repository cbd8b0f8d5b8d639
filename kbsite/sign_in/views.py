"""The sign-in page."""

from __future__ import annotations

from django.contrib.auth.views import LoginView
from django.urls import reverse


class SignIn(LoginView):
    """The sign-in page. Without `next` it leads to where the person works."""

    template_name = "registration/login.html"

    def get_default_redirect_url(self) -> str:
        user = self.request.user
        works = user.is_staff and bool(user.get_all_permissions())
        return reverse("admin:index") if works else super().get_default_redirect_url()

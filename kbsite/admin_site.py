"""The admin site: unfold's, with the pages that belong to no model."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, URLResolver, path, reverse
from unfold.sites import UnfoldAdminSite

from common.accounts.rights import lacks_factor


class SteelyardAdminSite(UnfoldAdminSite):  # type: ignore[misc]
    """The site behind `admin.site`; `kbsite.apps.AdminConfig` names it."""

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(super().has_permission(request)) and not lacks_factor(request)

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The sign-in page of the site, which says so if the account lacks access to the admin."""
        index = reverse("admin:index")
        if request.method == "GET" and self.has_permission(request):
            return redirect(index)
        if lacks_factor(request):
            return redirect("mfa_index")
        return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME) or index)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        # Not at the top of the module: the admin modules register their models with this site.
        from kbsite import who_sees
        from search.tuning.admin import optimisations
        from search.tuning.admin.workbench import pages

        # Unfold answers at this address with an empty page, its search over all models, which is
        # switched off. The overview of the application “search” has the same address.
        overview = self.admin_view(self.app_index)
        return [
            path("search/", overview, {"app_label": "search"}),
            *who_sees.urls(self),
            *optimisations.urls(self),
            *pages.urls(self),
            *super().get_urls(),
        ]

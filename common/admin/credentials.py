"""What people sign in with, in the admin: second factors, sign-ons, API tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from knox.models import AuthToken
from unfold.admin import ModelAdmin
from unfold.decorators import display

from common.admin.mixins import ReadOnly, TextKeys

admin.site.unregister(
    (AuthToken, EmailAddress, SocialAccount, SocialApp, SocialToken, Authenticator)
)


class OfUsers:
    """A ModelAdmin mixin for a list of rows that each have a user, and no page of their own."""

    list_display_links = None
    list_select_related = ("user",)
    search_fields: tuple[str, ...] = ("user__username",)


class RemovedBySuperusers(OfUsers, ReadOnly):
    """A ModelAdmin mixin: rows that a superuser sees and removes, and nobody adds or changes."""

    def has_module_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.is_active and bool(request.user.is_superuser)

    has_view_permission = has_delete_permission = has_module_permission


@admin.register(Authenticator)
class AuthenticatorAdmin(RemovedBySuperusers, ModelAdmin):  # type: ignore[misc]
    """Second factors. Remove those of somebody who has lost them; the secrets are not shown."""

    empty_text = "Nobody has a second factor. People add one on their page, under Second factor."
    counted_as = ("second factor", "second factors")
    list_display = ("user", "type", "created_at", "last_used_at")
    fields = ("user", "type", "created_at", "last_used_at")


@admin.register(SocialAccount)
class SocialAccountAdmin(RemovedBySuperusers, ModelAdmin):  # type: ignore[misc]
    """The connections of people to sign-on providers. The provider's claims are not shown."""

    empty_text = "Nobody signs in with a provider."
    counted_as = ("sign-on", "sign-ons")
    list_display = ("user", "provider", "last_login", "date_joined")
    fields = ("user", "provider", "uid", "last_login", "date_joined")


@admin.register(AuthToken)
class AuthTokenAdmin(OfUsers, TextKeys, ReadOnly, ModelAdmin):  # type: ignore[misc]
    """API tokens, to be revoked. The key itself is shown once, when it is created."""

    empty_text = "Nobody has an API token. People make them on the page /me/tokens/."
    counted_as = ("API token", "API tokens")
    list_display = ("user", "state", "created", "expiry")
    ordering = ("-created",)

    @display(description="state", label={"valid": "success", "expired": "danger"})
    def state(self, token: AuthToken) -> tuple[str, str]:
        expired = token.expiry is not None and token.expiry < timezone.now()
        return ("expired", "Expired") if expired else ("valid", "Valid")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(ModelAdmin.has_delete_permission(self, request, obj))

    def get_actions(self, request: HttpRequest) -> Any:
        actions = super().get_actions(request)
        if "delete_selected" in actions:
            function, name, _ = actions["delete_selected"]
            actions["delete_selected"] = (function, name, "Revoke")
        return actions

    def get_deleted_objects(self, objs: Iterable[AuthToken], request: HttpRequest) -> Any:
        tokens = list(objs)
        perms_needed = set() if self.has_delete_permission(request) else {"API token"}
        labels = [f"{token.user}'s token of {token.created:%Y-%m-%d %H:%M}" for token in tokens]
        return labels, {"API tokens": len(tokens)}, perms_needed, []

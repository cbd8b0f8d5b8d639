"""People in the admin: users, groups and API tokens, in the look of the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.http import HttpRequest
from django.utils import timezone
from knox.models import AuthToken
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from common.accounts.models import User

for model in (Group, AuthToken):
    admin.site.unregister(model)

# With these fields a member of staff could grant themselves any permission.
SUPERUSERS_ONLY = ("is_superuser", "user_permissions")


class ChangeForm(UserChangeForm):  # type: ignore[misc]
    class Meta(UserChangeForm.Meta):  # type: ignore[misc]
        model = User


class CreationForm(UserCreationForm):  # type: ignore[misc]
    class Meta(UserCreationForm.Meta):  # type: ignore[misc]
        model = User


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]
    form = ChangeForm
    add_form = CreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_staff", "is_superuser", "last_login")
    list_filter_sheet = False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        given = tuple(super().get_readonly_fields(request, obj))
        return given if request.user.is_superuser else (*given, *SUPERUSERS_ONLY)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may_touch(request, obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may_touch(request, obj) and super().has_delete_permission(request, obj)

    def _may_touch(self, request: HttpRequest, obj: Any) -> bool:
        # Unfold asks with the id of the object for the actions of its page.
        if obj is None or request.user.is_superuser:
            return True
        if not isinstance(obj, User):
            obj = User.objects.filter(pk=obj).first()
        return obj is not None and not obj.is_superuser

    def get_deleted_objects(self, objs: Iterable[User], request: HttpRequest) -> Any:
        # Django's list names the rows deleted with a user, among them log entries with titles of
        # documents that this reader may not see.
        users = list(objs)
        _, counts, lacking, protected = super().get_deleted_objects(users, request)
        return [str(user) for user in users], counts, lacking, protected


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):  # type: ignore[misc]
    pass


@admin.register(AuthToken)
class AuthTokenAdmin(ModelAdmin):  # type: ignore[misc]
    """API tokens, to be revoked. The key itself is shown once, when it is created."""

    empty_text = (
        "Nobody has an API token. People get one with their password from POST /api/v1/auth/token/."
    )
    counted_as = ("API token", "API tokens")
    list_display = ("user", "state", "created", "expiry")
    list_display_links = None
    list_select_related = ("user",)
    search_fields = ("user__username",)
    ordering = ("-created",)

    @display(description="state", label={"valid": "success", "expired": "danger"})
    def state(self, token: AuthToken) -> tuple[str, str]:
        expired = token.expiry is not None and token.expiry < timezone.now()
        return ("expired", "Expired") if expired else ("valid", "Valid")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_actions(self, request: HttpRequest) -> Any:
        actions = super().get_actions(request)
        if "delete_selected" in actions:
            function, name, _ = actions["delete_selected"]
            actions["delete_selected"] = (function, name, "Revoke")
        return actions

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        # The key is a text, which Postgres refuses to compare with one that contains NUL.
        known = "\0" not in object_id
        return super().get_object(request, object_id, from_field) if known else None

    def get_deleted_objects(self, objs: Iterable[AuthToken], request: HttpRequest) -> Any:
        tokens = list(objs)
        lacking = set() if self.has_delete_permission(request) else {"API token"}
        shown = [f"{token.user}'s token of {token.created:%Y-%m-%d %H:%M}" for token in tokens]
        return shown, {"API tokens": len(tokens)}, lacking, []

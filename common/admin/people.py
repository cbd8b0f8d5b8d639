"""People in the admin: users and groups, in the look of the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet, prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from common.accounts.models import User
from common.accounts.permissions import groups_to_give, may_act_for, permissions_to_give
from common.admin.mixins import ViewersForm, actor

admin.site.unregister(Group)

# With these fields a member of staff could grant themselves any permission.
SUPERUSERS_ONLY = ("is_superuser", "user_permissions")
# With these, a member of staff could sign in as a person with more rights.
SIGN_IN_FIELDS = ("username", "email")
# With these, a member of staff could deactivate a person with more rights.
ACCESS_FIELDS = ("is_active", "is_staff")


class HiddenChoicesMixin:
    """A form mixin for choices of which the acting user sees only a part: the rest is preserved."""

    viewer: User
    instance: Any
    cleaned_data: dict[str, Any]

    def with_others(self, name: str, to_give: QuerySet[Any]) -> Any:
        """The chosen objects of `to_give`, and the row's objects that the user may not change."""
        chosen = self.cleaned_data[name]
        if self.viewer.is_superuser or self.instance.pk is None:
            return chosen
        hidden = getattr(self.instance, name).exclude(pk__in=to_give.values("pk"))
        choices = [*chosen.values_list("pk", flat=True), *hidden.values_list("pk", flat=True)]
        return chosen.model._default_manager.filter(pk__in=choices)


class ChangeForm(HiddenChoicesMixin, UserChangeForm):  # type: ignore[misc]
    class Meta(UserChangeForm.Meta):  # type: ignore[misc]
        model = User

    def clean_groups(self) -> Any:
        return self.with_others("groups", groups_to_give(self.viewer))


class GroupForm(HiddenChoicesMixin, forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Group
        fields = ("name", "permissions")

    def clean_permissions(self) -> Any:
        return self.with_others("permissions", permissions_to_give(self.viewer))


class CreationForm(UserCreationForm):  # type: ignore[misc]
    class Meta(UserCreationForm.Meta):  # type: ignore[misc]
        model = User


@admin.register(User)
class UserAdmin(ViewersForm, DjangoUserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]
    form = ChangeForm
    add_form = CreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_staff", "is_superuser", "last_login")
    list_filter_sheet = False

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        columns = tuple(self.list_display)
        return (*columns, "sees") if request.user.is_superuser else columns

    @admin.display(description="sees")
    def sees(self, user: User) -> str:
        address = reverse("admin:who_sees_person", args=(user.pk,))
        return format_html('<a class="text-link" href="{}">What, and why</a>', address)

    def get_object(self, request: HttpRequest, *key: Any) -> User | None:
        person: User | None = super().get_object(request, *key)
        if person is not None:
            # A permission's name includes its content type's: one query for each otherwise.
            prefetch_related_objects([person], "user_permissions__content_type")
        return person

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        fields = tuple(super().get_readonly_fields(request, obj))
        if request.user.is_superuser:
            return fields
        may_act = obj is None or may_act_for(actor(request), obj)
        return (*fields, *SUPERUSERS_ONLY, *(() if may_act else (*SIGN_IN_FIELDS, *ACCESS_FIELDS)))

    def formfield_for_manytomany(self, db_field: Any, request: Any = None, **kwargs: Any) -> Any:
        if request is not None and db_field.name == "groups":
            kwargs["queryset"] = groups_to_give(actor(request))
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def user_change_password(
        self,
        request: HttpRequest,
        id: str,  # noqa: A002 -- Django's name
        form_url: str = "",
    ) -> HttpResponse:
        person = self.get_object(request, unquote(id))
        if person is not None and not may_act_for(actor(request), person):
            raise PermissionDenied
        return super().user_change_password(request, id, form_url)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may_touch(request, obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if not self._may_touch(request, obj) or not super().has_delete_permission(request, obj):
            return False
        person = None if obj is None else self._person(obj)
        return person is None or may_act_for(actor(request), person)

    def _may_touch(self, request: HttpRequest, obj: Any) -> bool:
        if obj is None or request.user.is_superuser:
            return True
        person = self._person(obj)
        return person is not None and not person.is_superuser

    def _person(self, obj: Any) -> User | None:
        # For the actions of an object's page unfold passes its id.
        return obj if isinstance(obj, User) else User.objects.filter(pk=obj).first()

    def get_deleted_objects(self, objs: Iterable[User], request: HttpRequest) -> Any:
        # Django's list names the rows deleted with a user, among them log entries with titles of
        # documents that this reader may not see.
        users = list(objs)
        _, counts, perms_needed, protected = super().get_deleted_objects(users, request)
        return [str(user) for user in users], counts, perms_needed, protected


@admin.register(Group)
class GroupAdmin(ViewersForm, DjangoGroupAdmin, ModelAdmin):  # type: ignore[misc]
    """Groups. Who is no superuser changes only their own, and gives only what they hold."""

    form = GroupForm

    def formfield_for_manytomany(self, db_field: Any, request: Any = None, **kwargs: Any) -> Any:
        field = super().formfield_for_manytomany(db_field, request, **kwargs)
        if request is not None and field is not None and db_field.name == "permissions":
            mine = permissions_to_give(actor(request))
            field.queryset = mine.select_related("content_type")
        return field

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_own(request, obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_own(request, obj) and super().has_delete_permission(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Group]) -> None:
        # The action of the list passes no row.
        super().delete_queryset(request, queryset & groups_to_give(actor(request)))

    def _is_own(self, request: HttpRequest, obj: Any) -> bool:
        # A collection's audience, and the group that a claim of the sign-on maps to, are known by
        # the group's name: renaming one opens what the other may read.
        if obj is None or request.user.is_superuser:
            return True
        key = obj.pk if isinstance(obj, Group) else obj  # unfold passes the id
        return groups_to_give(actor(request)).filter(pk=key).exists()

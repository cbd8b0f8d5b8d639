"""Versions of a profile in the admin.

Versions have their order and labels; the services write the audit; drafts alone are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.db import transaction
from django.db.models import Case, Model, QuerySet, When
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from common import UserError
from common.admin.mixins import state_column


class VersionForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form of a profile with versions: a new name is free, and a change may have a reason."""

    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text=_("Optional. Stored with the change in the audit."),
    )

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        try:
            self._meta.model.check_new_name(name)
        except UserError as error:
            raise forms.ValidationError(str(error)) from error
        return name


STATE_LABELS = {"draft": "warning", "active": "success", "retired": ""}


class VersionPages:
    """For a model with `name`, `version`, `state` and `is_draft`, whose services write the audit.

    `audit` is the URL name of the audit's list, `never_deleted` names published versions.
    """

    audit: str
    never_deleted: Promise

    if TYPE_CHECKING:
        model: Any
        opts: Any
        get_object: Callable[..., Any]
        has_view_permission: Callable[..., bool]

    def get_ordering(self, request: HttpRequest) -> tuple[Any, ...]:
        """The active version first, then drafts."""
        places = ("active", "draft")
        cases = (When(state=state, then=place) for place, state in enumerate(places))
        return (Case(*cases, default=len(places)), "name", "-version")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("name",) if obj else ()

    @admin.display(description=_("profile"), ordering="name")
    def profile(self, profile: Model) -> str:
        return str(profile)

    state_label = state_column(STATE_LABELS)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Redirect to the audit of all versions of the profile."""
        profile = self.get_object(request, object_id)
        if profile is None or not self.has_view_permission(request, profile):
            raise Http404
        return redirect(f"{reverse(self.audit)}?{urlencode({'profile__name': profile.name})}")

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Do nothing: the services write the audit."""

    log_change = log_addition

    # --- deletion: drafts only ----------------------------------------------------------------

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)  # type: ignore[misc]
        return allowed and (not isinstance(obj, self.model) or obj.is_draft)

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> Any:
        profiles = list(objs)
        perms_needed: set[str] = set()
        if not self.has_delete_permission(request):
            perms_needed.add(str(self.opts.verbose_name))
        if any(not profile.is_draft for profile in profiles):
            perms_needed.add(str(self.never_deleted))
        labels = [str(profile) for profile in profiles]
        return labels, {gettext("drafts"): len(profiles)}, perms_needed, []

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.delete_queryset(request, self.model.objects.filter(pk=obj.pk))

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        # A draft may have been published during the confirmation.
        pks = [profile.pk for profile in queryset]
        locked = self.model.objects.select_for_update().filter(pk__in=pks)
        drafts = [profile.pk for profile in locked if profile.is_draft]
        self.model.objects.filter(pk__in=drafts).delete()

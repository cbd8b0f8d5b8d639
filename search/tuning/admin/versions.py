"""Versions of a profile in the admin.

The active one and drafts come first; the services write the audit; drafts alone are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Case, Model, QuerySet, When
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from common.admin.mixins import AuditedByServices, actor, become
from search.models import SearchProfile
from search.tuning import diff, drafts

STATE_LABELS = {"draft": "warning", "active": "success", "retired": ""}


class VersionPages(AuditedByServices):
    """A ModelAdmin mixin for search profiles, saved by `drafts` with a form's `values`."""

    if TYPE_CHECKING:
        opts: Any
        back_to: Callable[..., HttpResponse]
        get_object: Callable[..., Any]
        has_view_permission: Callable[..., bool]
        message_user: Callable[..., None]

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

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Redirect to the audit of all versions of the profile."""
        profile = self.get_object(request, object_id)
        if profile is None or not self.has_view_permission(request, profile):
            raise Http404
        audit = reverse("admin:tuning_profilechange_changelist")
        return redirect(f"{audit}?{urlencode({'profile__name': profile.name})}")

    # --- saving -------------------------------------------------------------------------------

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """The settings of the active version."""
        source = SearchProfile.active()
        values = {name: getattr(source, name) for name in diff.FIELDS} if source else {}
        given: dict[str, Any] = super().get_changeform_initial_data(request)  # type: ignore[misc]
        return {**values, "description": "", **given}

    def save_model(self, request: HttpRequest, obj: SearchProfile, form: Any, change: bool) -> None:
        """Save the draft, or a new draft of a published version: `obj` becomes that draft."""
        by = {"acting_user": actor(request), "reason": form.cleaned_data["reason"].strip()}
        if change:
            edit = drafts.edit(obj, *form.values, **by)
            saved, text, has_changed = edit.profile, _outcome(obj, edit), bool(edit.changes)
        else:
            saved = drafts.create(obj.name, *form.values, **by)
            text, has_changed = gettext("Draft %(draft)s was saved.") % {"draft": saved}, True
        become(obj, saved)
        self.message_user(request, text, messages.SUCCESS if has_changed else messages.INFO)

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self.response_change(request, obj)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return self.back_to(obj.pk)

    # --- deletion: drafts only ----------------------------------------------------------------

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)  # type: ignore[misc]
        return allowed and (not isinstance(obj, SearchProfile) or obj.is_draft)

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> Any:
        profiles = list(objs)
        perms_needed: set[str] = set()
        if not self.has_delete_permission(request):
            perms_needed.add(str(self.opts.verbose_name))
        if any(not profile.is_draft for profile in profiles):
            perms_needed.add(gettext("published search profiles (they are never deleted)"))
        labels = [str(profile) for profile in profiles]
        return labels, {gettext("drafts"): len(profiles)}, perms_needed, []

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.delete_queryset(request, SearchProfile.objects.filter(pk=obj.pk))

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[SearchProfile]) -> None:
        # A draft may have been published during the confirmation.
        pks = [profile.pk for profile in queryset]
        locked = SearchProfile.objects.select_for_update().filter(pk__in=pks)
        pks = [profile.pk for profile in locked if profile.is_draft]
        SearchProfile.objects.filter(pk__in=pks).delete()


def _outcome(before: SearchProfile, edit: drafts.ProfileEdit) -> str:
    """What an edit did, for the person."""
    if edit.is_new_draft:
        return gettext(
            "%(profile)s is published and cannot be changed: your edit was saved as the new draft "
            "%(draft)s. Publish it to use it in searches."
        ) % {"profile": before, "draft": edit.profile}
    if not edit.changes:
        return gettext("No changes to save.")
    return ngettext(
        "Draft %(draft)s was saved with %(count)d change.",
        "Draft %(draft)s was saved with %(count)d changes.",
        len(edit.changes),
    ) % {"draft": edit.profile, "count": len(edit.changes)}

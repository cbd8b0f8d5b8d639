"""Search profiles in the admin: linked weights, drafts and publishing."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import Script
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from common.admin.pages import STATE_LABELS, VersionPages, actor, become
from search.domain import About, columns_about
from search.models import SearchProfile
from search.models.versions import ProfileEdit
from search.signals import registry
from search.tuning.admin.forms import ProfileForm, template_profile
from search.tuning.admin.publishing import (
    PublishingPages,
    differences_from_active,
    gate_page,
    targets_context,
)
from search.tuning.admin.weights import beams, class_rows
from search.tuning.publishing import activation, drafts


@admin.register(SearchProfile)
class SearchProfileAdmin(VersionPages, PublishingPages, ModelAdmin):  # type: ignore[misc]
    audit = "admin:tuning_profilechange_changelist"
    never_deleted = _("published search profiles (they are never deleted)")
    form = ProfileForm
    list_display = ("profile", "state_label", "weights", "depth", "published_at")
    list_filter = ("state", "name")
    search_fields = ("name", "description")
    actions = ("publish_selected",)
    fieldsets = (
        (None, {"fields": ("name", "description")}),
        (_("Query analysis"), {"fields": columns_about(About.READING)}),
        (_("Score fusion"), {"fields": columns_about(About.COMBINING, About.LIFTING)}),
        (_("Retrieval"), {"fields": columns_about(About.LOOKING)}),
    )

    class Media:
        js = (Script("admin/steelyard/weights.js", defer=True),)

    # --- display ---------------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[SearchProfile]:
        queryset: QuerySet[SearchProfile] = super().get_queryset(request)
        return queryset.prefetch_related("class_weights")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        source = template_profile()
        held = {name: getattr(source, name) for name in activation.FIELDS} if source else {}
        return {**held, "description": "", **super().get_changeform_initial_data(request)}

    @admin.display(description=_("published"), ordering="published")
    def published_at(self, profile: SearchProfile) -> str:
        return (
            f"{timezone.localtime(profile.published):%Y-%m-%d %H:%M}" if profile.published else "-"
        )

    @admin.display(description=_("weights by query class"))
    def weights(self, profile: SearchProfile) -> SafeString:
        context = {"beams": beams(list(profile.class_weights.all()))}
        return SafeString(render_to_string("admin/steelyard/beams.html", context))

    # --- pages -----------------------------------------------------------------------------

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        profile = context.get("original")
        form = context["adminform"].form
        context |= {
            "profile": profile,
            "class_rows": list(class_rows(form)),
            "signals": [
                (each.signal.value, each.label, each.advice) for each in registry.by_weight()
            ],
            "state_variant": STATE_LABELS[profile.state] if profile else "",
            "from_active": differences_from_active(profile) if profile else [],
            "may_publish": self.has_publish_permission(request),
            "may_go_back": self.may_go_back(request, profile),
            **(targets_context(profile) if profile else {}),
        }
        return super().render_change_form(request, context, *args, **kwargs)  # type: ignore[no-any-return]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        may = request.user.has_perm(activation.ROLL_BACK)
        previous = activation.previous() if may else None
        context = {"previous": previous, "active": template_profile() if previous else None}
        return super().changelist_view(request, {**context, **(extra_context or {})})  # type: ignore[no-any-return]

    @admin.action(description=_("Publish…"), permissions=["publish"])
    def publish_selected(
        self, request: HttpRequest, queryset: QuerySet[SearchProfile]
    ) -> HttpResponse | None:
        profiles = list(queryset[:2])
        if len(profiles) != 1:
            self.message_user(
                request,
                gettext("Only one profile can be active. Select exactly one."),
                messages.WARNING,
            )
            return None
        return redirect("admin:search_searchprofile_publish", profiles[0].pk)

    # --- saving: through `publishing.drafts` ------------------------------------------------------

    def save_model(
        self, request: HttpRequest, obj: SearchProfile, form: ProfileForm, change: bool
    ) -> None:
        """Save the draft, or a new draft of a published profile: `obj` becomes that draft."""
        user, reason = actor(request), form.cleaned_data["reason"].strip()
        if change:
            done = drafts.edit(obj, form.settings, form.weights, acting_user=user, reason=reason)
            saved = done.profile
            self._report_edit(request, obj, done)
        else:
            saved = drafts.create(
                obj.name, form.settings, form.weights, acting_user=user, reason=reason
            )
        become(obj, saved)
        if "_publish" in request.POST:
            request._publication = self.publish(request, obj, reason)  # type: ignore[attr-defined]

    def _report_edit(
        self, request: HttpRequest, before: SearchProfile, done: ProfileEdit[SearchProfile]
    ) -> None:
        if done.is_new_draft:
            text = gettext(
                "%(profile)s is published and cannot be changed: your edit was saved as the new "
                "draft %(draft)s. Publish it to use it in searches."
            ) % {"profile": before, "draft": done.profile}
        elif done.changes:
            count = len(done.changes)
            text = ngettext(
                "Draft %(draft)s was saved with %(count)d change.",
                "Draft %(draft)s was saved with %(count)d changes.",
                count,
            ) % {"draft": done.profile, "count": count}
        elif "_publish" in request.POST:
            return
        else:
            text = gettext("No changes to save.")
        self.message_user(request, text, messages.SUCCESS if done.changes else messages.INFO)

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        if "_publish" not in request.POST:
            self.message_user(
                request, gettext("Draft %(draft)s was saved.") % {"draft": obj}, messages.SUCCESS
            )
        return self.response_change(request, obj)

    def response_change(self, request: HttpRequest, obj: SearchProfile) -> HttpResponse:
        return gate_page(getattr(request, "_publication", None)) or self.back_to(obj.pk)

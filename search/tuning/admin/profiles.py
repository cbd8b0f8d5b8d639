"""Search profiles in the admin: linked weights, drafts, publishing.

The active one and drafts come first; the services write the audit; drafts alone are deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Case, Q, QuerySet, When
from django.forms import Script
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display

from common.admin.mixins import AuditedByServices, actor, become, moment_column
from search.domain import About, columns_about
from search.models import SearchProfile
from search.presets.default import DEFAULT
from search.presets.seeds import PRESETS
from search.signals import registry
from search.tuning import activation, diff, drafts
from search.tuning.admin.forms import ProfileForm
from search.tuning.admin.publish_pages import PublishingPages, differences_from_active
from search.tuning.admin.weight_fields import beams, class_rows

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


STATE_LABELS = {"draft": "warning", "active": "success", "retired": ""}
COMPARED = [preset.name for preset in PRESETS if preset is not DEFAULT]
# Profiles of other systems, which nobody has published.
FOR_COMPARISON = Q(name__in=COMPARED, state=SearchProfile.State.RETIRED, based_on=None)


def is_for_comparison(profile: SearchProfile) -> bool:
    """Whether the profile is one of FOR_COMPARISON."""
    is_shipped = profile.name in COMPARED and profile.based_on_id is None
    return is_shipped and profile.state == SearchProfile.State.RETIRED


def in_words(profile: SearchProfile) -> StrOrPromise:
    """The profile's state, as people read it."""
    if is_for_comparison(profile):
        return gettext("For comparison")
    return SearchProfile.State(profile.state).label


class ComparedFilter(admin.SimpleListFilter):
    """Hides the profiles that ship for comparison, unless a filter asks for them."""

    title = _("rankings to compare with")
    parameter_name = "shipped"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, StrOrPromise]]:
        return [("1", _("Only these"))]

    def choices(self, changelist: Any) -> Iterator[Any]:
        without, *others = super().choices(changelist)
        yield {**without, "display": _("Hide")}
        yield from others

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        keys = {key.partition("__")[0] for key in request.GET}
        if self.value():
            return queryset.filter(FOR_COMPARISON)
        return queryset if keys & {"q", "name", "state"} else queryset.exclude(FOR_COMPARISON)


@admin.register(SearchProfile)
class SearchProfileAdmin(AuditedByServices, PublishingPages, ModelAdmin):  # type: ignore[misc]
    form = ProfileForm
    list_display = ("profile", "state_label", "weights", "depth", "published_at")
    list_before_template = "admin/search/searchprofile/rollback_form.html"
    list_filter = ("state", "name", ComparedFilter)
    search_fields = ("name", "description")
    fieldsets = (
        (None, {"fields": ("name", "description")}),
        (_("Query analysis"), {"fields": columns_about(About.READING)}),
        (_("Score fusion"), {"fields": columns_about(About.COMBINING, About.LIFTING)}),
        (_("Retrieval"), {"fields": columns_about(About.LOOKING)}),
    )

    class Media:
        js = (Script("admin/steelyard/weights.js", defer=True),)

    # --- display ---------------------------------------------------------------------------

    def get_ordering(self, request: HttpRequest) -> tuple[Any, ...]:
        """The active version first, then drafts."""
        places = ("active", "draft")
        cases = (When(state=state, then=place) for place, state in enumerate(places))
        return (Case(*cases, default=len(places)), "name", "-version")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("name",) if obj else ()

    @admin.display(description=_("profile"), ordering="name")
    def profile(self, profile: SearchProfile) -> str:
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

    def get_queryset(self, request: HttpRequest) -> QuerySet[SearchProfile]:
        queryset: QuerySet[SearchProfile] = super().get_queryset(request)
        return queryset.prefetch_related("class_weights")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The list, whose tab is not a filter: it counts what the tab is about."""
        changes = super().get_changelist_instance(request)
        if request.GET.keys() <= {ComparedFilter.parameter_name}:
            changes.full_result_count = changes.result_count
            changes.has_active_filters = False
        return changes

    @display(description=_("state"), ordering="state", label=STATE_LABELS)
    def state_label(self, profile: SearchProfile) -> tuple[str, StrOrPromise]:
        return profile.state, in_words(profile)

    published = moment_column("published", _("published"))

    @admin.display(description=_("published"), ordering="published")
    def published_at(self, profile: SearchProfile) -> str:
        return "-" if is_for_comparison(profile) else str(self.published(profile))

    @admin.display(description=_("weights"))
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
            "state_text": in_words(profile) if profile else "",
            "from_active": differences_from_active(profile) if profile else [],
            "may_publish": self.has_publish_permission(request),
            "may_go_back": self.may_go_back(request, profile),
        }
        return super().render_change_form(request, context, *args, **kwargs)  # type: ignore[no-any-return]

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        may = request.user.has_perm(activation.ROLL_BACK)
        previous = activation.previous() if may else None
        return {"previous": previous, "active": SearchProfile.active() if previous else None}

    # --- saving -------------------------------------------------------------------------------

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """The settings of the active version."""
        source = SearchProfile.active()
        values = {name: getattr(source, name) for name in diff.FIELDS} if source else {}
        given: dict[str, Any] = super().get_changeform_initial_data(request)
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
        allowed: bool = super().has_delete_permission(request, obj)
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

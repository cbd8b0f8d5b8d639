"""Search profiles in the admin: linked weights, drafts, publishing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.forms import Script
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display

from common.admin.mixins import moment_column
from search.domain import About, columns_about
from search.models import SearchProfile
from search.presets.default import DEFAULT
from search.presets.seeds import PRESETS
from search.signals import registry
from search.tuning import activation as activation
from search.tuning.admin.forms import ProfileForm
from search.tuning.admin.publish_pages import (
    PublishingPages,
    differences_from_active,
)
from search.tuning.admin.versions import STATE_LABELS, VersionPages
from search.tuning.admin.weight_fields import beams, class_rows

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


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
class SearchProfileAdmin(VersionPages, PublishingPages, ModelAdmin):  # type: ignore[misc]
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

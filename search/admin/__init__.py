"""The admin of search: rules, synonyms, pins, hides; and the recorded searches."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.views import ChangeList

from common.admin.pages import ReadOnly, VisibleOnly
from search.admin import curated  # noqa: F401 -- registers its pages
from search.analytics.models import Interaction, SearchEvent


class SearchEventList(ChangeList):  # type: ignore[misc]
    """The list of searches; the total is counted only without filters."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        if not self.query and not self.get_filters_params():
            # Without the total, Django's heading would offer "Show all".
            self.full_result_count = self.result_count


@admin.register(SearchEvent)
class SearchEventAdmin(VisibleOnly, ReadOnly, ModelAdmin):  # type: ignore[misc]
    """The searches without their searchers: the list never names a user."""

    empty_text = _("No searches yet, or recording is disabled (SEARCH_EVENTS).")
    list_display = (
        "at", "asked", "outcome", "total", "certainty", "took", "opened", "thumbs", "channel",
    )  # fmt: skip
    list_display_links = None
    list_filter = ("channel", "unsure", "query_class", "profile_name")
    search_fields = ("query",)
    date_hierarchy = "at"
    list_per_page = 50
    show_full_result_count = False
    list_before_template = "admin/steelyard/events_note.html"

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return SearchEventList

    def get_queryset(self, request: HttpRequest) -> QuerySet[SearchEvent]:
        queryset: QuerySet[SearchEvent] = super().get_queryset(request)
        kinds = Interaction.Kind
        return queryset.filter(page=1, follows=None).annotate(
            ups=Count("interactions", Q(interactions__kind__in=(kinds.UP, kinds.SOLVED))),
            downs=Count("interactions", Q(interactions__kind__in=(kinds.DOWN, kinds.UNSOLVED))),
        )

    @admin.display(description=_("question"), ordering="folded")
    def asked(self, event: SearchEvent) -> SafeString | str:
        if not event.query:
            return gettext("(removed)")
        address = f"{reverse('search:page')}?{urlencode({'q': event.query})}"
        return format_html('<a class="text-link" href="{}">{}</a>', address, event.query)

    @display(
        description=_("outcome"), label={"zero": "danger", "unsure": "warning", "found": "success"}
    )
    def outcome(self, event: SearchEvent) -> tuple[str, str]:
        if not event.total:
            return "zero", gettext("No results")
        if event.unsure:
            return "unsure", gettext("Low confidence")
        return "found", gettext("Results")

    @admin.display(description=_("confidence"), ordering="confidence")
    def certainty(self, event: SearchEvent) -> str:
        return "-" if event.confidence is None else f"{event.confidence:.2f}"

    @admin.display(description=_("time (ms)"), ordering="milliseconds")
    def took(self, event: SearchEvent) -> str:
        return f"{event.milliseconds:.0f}"

    @admin.display(description=_("opened"), ordering="best_click")
    def opened(self, event: SearchEvent) -> str:
        return gettext("rank %(rank)d") % {"rank": event.best_click} if event.best_click else "-"

    @admin.display(description=_("thumbs"))
    def thumbs(self, event: Any) -> str:
        return f"+{event.ups} −{event.downs}" if event.ups or event.downs else "-"
